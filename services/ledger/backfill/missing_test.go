package backfill

import (
	"errors"
	"strings"
	"testing"

	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

var errAway = errors.New("they are away")

// When no server answers any more the error says so once, however many ledgers are missing.
func TestAllAwayIsOneGap(t *testing.T) {
	for _, level := range []trust.Level{trust.L0, trust.L1, trust.L2} {
		gap := history.Range{From: 1, To: 300_000}
		r := &run{Config: Config{Level: level}, gap: gap, nextIndex: gap.To, fatalErr: errAway} // needs no planner
		err := r.link(t.Context(), xrpl.Hash{})
		m := missing(err)
		if len(m) != 1 || m[gap.To] == nil || m[gap.To].Gap != gap || !errors.Is(err, errAway) {
			t.Errorf("%v: %.300v", level, err)
		}
		if err == nil || len(err.Error()) > 200 || !strings.Contains(err.Error(), "down to 1") {
			t.Errorf("%v: %.300v", level, err)
		}
	}
}

func TestGapsAreBounded(t *testing.T) {
	var g gaps
	if g.err() != nil {
		t.Error(g.err())
	}
	g.add(history.Range{From: 1_000_000, To: 1_000_000}, errAway)
	g.add(history.Range{From: 999_990, To: 999_999}, errAway)
	m, ok := g.err().(*Missing)
	if !ok || m.Index != 1_000_000 || m.Gap != (history.Range{From: 999_990, To: 1_000_000}) {
		t.Errorf("%v", g.err())
	}
	for index := uint32(999_980); index > 980_000; index -= 2 { // every second one
		g.add(history.Range{From: index, To: index}, errAway)
	}
	g.add(history.Range{From: 1, To: 980_001}, errAway)
	err := g.err()
	if n := len(missing(err)); n != maxGaps {
		t.Errorf("%d gaps are reported", n)
	}
	if want := "and 989892 more ledgers"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("want %s: ...%s", want, err.Error()[len(err.Error())-60:])
	}
}
