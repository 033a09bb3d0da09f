package turns

import (
	"testing"
	"time"

	"dyno/lab/record"
)

// A work slice takes its time also where a limiter refuses most requests fast.
func TestWorkRequests(t *testing.T) {
	for _, c := range []struct {
		name               string
		served, failed     int64
		length             time.Duration
		connections, units int
		want               int64
	}{
		{"a fast target", 3000, 0, 100 * time.Millisecond, 64, 1, 9000},
		{"some fail", 2000, 1000, 100 * time.Millisecond, 64, 1, 9000},
		{"most are refused", 60, 2940, 100 * time.Millisecond, 64, 1, 60000},
		{"calls in arrays", 3000, 0, 100 * time.Millisecond, 64, 10, 900},
		{"two for each connection", 100, 0, time.Second, 64, 1, 128},
		{"as many as fit", 10, 0, time.Second, 64, 1, 20},
		{"slower than a slice", 1, 0, 10 * time.Second, 64, 1, 1},
		{"no time at all", 1, 0, 0, 64, 1, 1},
	} {
		seen := record.Slice{Served: c.served, Failed: c.failed, Length: c.length}
		if got := workRequests(seen, c.connections, c.units); got != c.want {
			t.Errorf("%s: %d requests, want %d", c.name, got, c.want)
		}
	}
}
