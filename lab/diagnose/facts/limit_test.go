package facts

import (
	"testing"

	"dyno/lab/record"
)

func TestAtMemoryLimit(t *testing.T) {
	const mib, limit = 1 << 20, 1000 << 20
	for _, c := range []struct {
		name                   string
		limit, rss, goal, live int64
		want                   MemoryLimit
	}{
		{"none", 0, limit, limit, limit, MemoryLimit{}},
		{"far", limit, limit / 2, limit / 2, limit / 4, MemoryLimit{}},
		{"it sets the goal", limit, limit / 2, 900 * mib, 800 * mib, MemoryLimit{Bytes: limit}},
		{"GOGC sets the goal, near it", limit, 900 * mib, 860 * mib, 430 * mib, MemoryLimit{}},
		{"a mapped file is near it", limit, 990 * mib, 200 * mib, 100 * mib, MemoryLimit{}},
		{"near by its memory, without the agent", limit, 900 * mib, 0, 0, MemoryLimit{Bytes: limit, Perhaps: true}},
		{"far by its memory, without the agent", limit, limit / 2, 0, 0, MemoryLimit{}},
	} {
		r := &record.Run{Target: record.Target{MemoryLimit: c.limit}, Series: []record.Window{{}, {Server: &record.Server{HeapGoal: c.goal, HeapLive: c.live}}}}
		r.Totals.Server = &record.ServerTotals{PeakRSS: c.rss}
		if got := AtMemoryLimit(r); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
