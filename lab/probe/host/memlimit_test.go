package host

import "testing"

func TestMemoryLimit(t *testing.T) {
	for environ, want := range map[string]int64{
		"":                                    0,
		"A=1\x00GOMEMLIMIT=512MiB\x00B=2\x00": 512 << 20,
		"GOMEMLIMIT=1048576":                  1 << 20,
		"GOMEMLIMIT=7B\x00GOMEMLIMIT=9B":      7,
		"GOMEMLIMIT=2TiB":                     2 << 40,
		"GOMEMLIMIT=off":                      0,
		"GOMEMLIMIT=-1":                       0,
		"GOMEMLIMIT=9223372036854775807":      0,
		"GOMEMLIMIT=9223372036854775807TiB":   0,
		"XGOMEMLIMIT=1KiB":                    0,
	} {
		if got := memoryLimitIn([]byte(environ)); got != want {
			t.Errorf("%q: %d, want %d", environ, got, want)
		}
	}
}

func FuzzMemoryLimit(f *testing.F) {
	f.Add([]byte("A=1\x00GOMEMLIMIT=512MiB\x00"))
	f.Fuzz(func(t *testing.T, environ []byte) {
		if got := memoryLimitIn(environ); got < 0 {
			t.Errorf("%q: %d", environ, got)
		}
	})
}
