package backfill

import (
	"errors"
	"strings"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl/history"
)

// If the range does not continue what is stored below, its lowest ledger is left out, so that the
// gap stays.
func TestRangeFitsOntoWhatIsBelow(t *testing.T) {
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{}))
	gap := history.Range{From: first + 5, To: last - 2}
	right, wrong := w.trusted(first+4), Trusted{first + 4, w.truth[first+3].Hash}
	for _, c := range []struct {
		name  string
		below Trusted
		level trust.Level
		fits  bool
	}{
		{"nothing below", Trusted{}, trust.L2, true},
		{"its parent below", right, trust.L2, true},
		{"another below", wrong, trust.L2, false},
		{"another below, L4", wrong, trust.L4, false},
		{"nothing is linked", wrong, trust.L1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k keeper
			config := w.config(p, &k)
			config.Below, config.Level, config.Signatures = c.below, c.level, signing.Checkers()["pure"]
			err := Run(t.Context(), config, gap)
			if c.fits {
				if err != nil {
					t.Fatal(err)
				}
				k.holds(t, w, gap)
				return
			}
			var m *Mismatch
			if !errors.As(err, &m) || *m != (Mismatch{first + 4, c.below.Hash, right.Hash}) || !strings.Contains(err.Error(), "download into another folder") {
				t.Errorf("%v", err)
			}
			k.holds(t, w, history.Range{From: gap.From + 1, To: gap.To})
		})
	}
	if guilty := blames(p); len(guilty) > 0 {
		t.Errorf("faults: %v", guilty)
	}
	var k keeper
	c := w.config(p, &k)
	c.Below = w.trusted(first + 3)
	if err := Run(t.Context(), c, gap); err == nil || !strings.Contains(err.Error(), "directly below the range") {
		t.Errorf("%v", err)
	}
	k.holds(t, w)
}
