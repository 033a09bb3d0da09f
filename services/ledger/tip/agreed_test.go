package tip

import (
	"testing"
	"testing/synctest"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl"
)

// The first server to connect does not decide alone what the tip is.
func TestFirstDoesNotDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, liar, a, b := &shelf{top: 100}, newFake("liar"), newFake("a"), newFake("b")
		_, stop := run(t, s, Config{}, liar, a, b)
		liar.say <- response.Event{Stream: response.Ledgers, Index: 101, Hash: xrpl.Hash{1}}
		synctest.Wait()
		if s.Top() != 100 {
			t.Error("one of three servers decided")
		}
		a.reports(101)
		b.reports(101)
		synctest.Wait()
		if s.Top() != 101 {
			t.Errorf("at %d after two of three said 101", s.Top())
		}
		stop()
	})
}
