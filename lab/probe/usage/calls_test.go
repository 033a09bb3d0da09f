package usage

import (
	"math"
	"net/netip"
	"testing"
)

func TestCallsUntil(t *testing.T) {
	to := netip.MustParseAddrPort("127.0.0.1:5432")
	for _, c := range []struct {
		name          string
		sum           Calls
		waiting, open float64
		to            string
	}{
		{"nothing was read", Calls{}, 0, 0, ""},
		{"all wait", Calls{10, 320, 0, 0, to}, 32, 32, to.String()},
		{"all idle", Calls{10, 0, 320, 0, to}, 0, 32, ""},
		{"long waits after short pauses", Calls{10, 30, 10, 280, to}, 24, 32, to.String()},
		{"short waits before long pauses", Calls{10, 1, 39, 280, to}, 0.8, 32, to.String()},
		{"the order is never seen", Calls{10, 0, 0, 320, to}, 0, 32, ""},
	} {
		before := Calls{5, 50, 50, 50, netip.AddrPort{}}
		after := Calls{before.Readings + c.sum.Readings, before.Asked + c.sum.Asked, before.Answered + c.sum.Answered, before.Even + c.sum.Even, c.sum.To}
		if waiting, open, to := before.Until(after); math.Abs(waiting-c.waiting) > 1e-9 || math.Abs(open-c.open) > 1e-9 || to != c.to {
			t.Errorf("%s: %v of %v wait for %q, want %v of %v, %q", c.name, waiting, open, to, c.waiting, c.open, c.to)
		}
	}
}
