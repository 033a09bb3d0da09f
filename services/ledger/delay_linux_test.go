package ledger

import (
	"os"
	"testing"
)

func TestDelayed(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("the kernel does not report it: ", err)
	}
	if d := delayed(); d <= 0 {
		t.Errorf("%v", d) // no thread gets a processor in no time, each time
	}
}

func FuzzWaited(f *testing.F) {
	for text, want := range map[string]int64{"1364312 2044 17\n": 2044, "1 0 1": 0, "": 0, "7": 0, "1 x 1": 0, "1 -5 1": 0, "1 99999999999999999999 1": 0} {
		if got := waited(text); int64(got) != want {
			f.Errorf("%q: %d", text, got)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if waited(text) < 0 {
			t.Errorf("%q: %v", text, waited(text))
		}
	})
}
