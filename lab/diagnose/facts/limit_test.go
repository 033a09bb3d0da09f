package facts

import (
	"testing"

	"dyno/lab/record"
)

func TestAtMemoryLimit(t *testing.T) {
	const limit = 100 << 20
	for _, c := range []struct {
		name             string
		limit, rss, goal int64
		want             int64
	}{
		{"none", 0, limit, limit, 0},
		{"far", limit, limit / 2, limit / 2, 0},
		{"near by its memory", limit, limit * 9 / 10, 0, limit},
		{"near by its next collection", limit, limit / 2, limit * 9 / 10, limit},
	} {
		r := &record.Run{Target: record.Target{MemoryLimit: c.limit}, Series: []record.Window{{}, {Server: &record.Server{HeapGoal: c.goal}}}}
		r.Totals.Server = &record.ServerTotals{PeakRSS: c.rss}
		if got := AtMemoryLimit(r); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
