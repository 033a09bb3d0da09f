package chain

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// The ballast counts as live memory. There is none where the process may have little.
func TestBallast(t *testing.T) {
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	for _, c := range []struct {
		limit int64
		want  int
	}{{math.MaxInt64, ballastBytes}, {8 * ballastBytes, ballastBytes}, {8*ballastBytes - 1, 0}} {
		debug.SetMemoryLimit(c.limit)
		before := live()
		b := ballast()
		grown := live() - before
		runtime.KeepAlive(b)
		if len(b) != c.want || (grown > ballastBytes/2) != (c.want > 0) {
			t.Errorf("with a limit of %d bytes it has %d, and %d more live", c.limit, len(b), grown)
		}
	}
}

func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
