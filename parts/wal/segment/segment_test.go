package segment

import (
	"testing"

	"dyno/parts/wal"
	"dyno/parts/wal/waltest"
)

// Test runs the conformance suite with segments of the default size, and with segments so small
// that nearly every append starts another.
func Test(t *testing.T) {
	for name, size := range map[string]int64{"default": 0, "small": 300} {
		t.Run(name, func(t *testing.T) {
			waltest.Test(t, func(t testing.TB, dir string) wal.Backend {
				f, err := Open(dir, Options{SegmentBytes: size})
				if err != nil {
					t.Fatal(err)
				}
				return f
			})
		})
	}
}

func Benchmark(b *testing.B) {
	waltest.Bench(b, func(t testing.TB, dir string) wal.Backend {
		f, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
}
