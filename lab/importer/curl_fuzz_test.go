package importer

import (
	"testing"
)

func FuzzCurl(f *testing.F) {
	f.Add([]byte("curl -sSXPUT 'h/[1-3]{a,b}' -H@f --json={} -: -G --data-urlencode n@f -T x h/../{1..3}"))
	read := func(text []byte) (*Load, error) { return readCurl(text, noFiles) }
	fuzzReader(f, read, "curl/input.txt", "curl-windows/input.txt")
}

// FuzzGlob: any pattern stands for 1 to maxGlob URLs, or glob returns an error.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"[001-3:2]{a,\\},}[a-c]", "[::1]{<n>x}", "[]\\[", "[9-1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if got, err := glob(pattern); err == nil && (len(got) == 0 || len(got) > maxGlob) {
			t.Errorf("%q stands for %d URLs", pattern, len(got))
		}
	})
}
