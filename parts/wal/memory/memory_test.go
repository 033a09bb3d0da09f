package memory

import (
	"testing"

	"dyno/parts/wal"
	"dyno/parts/wal/waltest"
)

// Test runs the conformance suite; opening a directory again returns the records stored under it.
func Test(t *testing.T) {
	kept := map[string]*Records{}
	waltest.Test(t, func(_ testing.TB, dir string) wal.Backend {
		r := &Records{first: 1}
		if old := kept[dir]; old != nil {
			r = &Records{first: old.first, records: old.records, bytes: old.bytes}
		}
		kept[dir] = r
		return r
	})
}

func Benchmark(b *testing.B) {
	waltest.Bench(b, func(testing.TB, string) wal.Backend { return New() })
}
