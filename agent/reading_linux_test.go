package agent

import (
	"os"
	"testing"
)

// The sampler closes the files through which it reads the delay of the threads.
func TestSamplerClosesItsFiles(t *testing.T) {
	open := func() int {
		entries, _ := os.ReadDir("/proc/self/fd") // what cannot be read fails below
		return len(entries)
	}
	before := open()
	a := New(Config{})
	next(t, join(t, a))
	if during := open(); during <= before {
		t.Errorf("%d files open, %d before: no thread is watched", during, before)
	}
	a.Close()
	if after := open(); after != before {
		t.Errorf("%d files open after the sampler has ended, %d before", after, before)
	}
}
