package ledgertest

import (
	"time"

	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
)

// stallFor is how long a server says nothing to who waits.
const stallFor = 2 * time.Second

// rates are how often a server goes wrong, by kind. What takes time is rare. Dead is for WebSocket.
var rates = fault.Rates{
	fault.Error: 0.1, fault.Unsynced: 0.1, fault.Overloaded: 0.1, fault.Cut: 0.1, fault.Latency: 0.1, fault.Stall: 0.02,
	fault.Empty: 0.1, fault.Partial: 0.1, fault.Flip: 0.1, fault.Parent: 0.1, fault.Fork: 0.1, fault.Signature: 0.1, fault.Other: 0.1,
}

// neverStoresWrong: with one server that goes wrong now and then the whole range can be had, and
// nothing else.
func neverStoresWrong(c *client, kind fault.Kind) {
	s := c.world.server(c.t, sim.Config{Faults: fault.Rates{kind: rates[kind]}, StallFor: stallFor})
	got := c.sync(servers(s.URL()), c.span(first, last))
	c.holds(whole)
	sent := int(s.Injected().Faults[kind].Sent)
	c.expect(sent > 0, "the server has done nothing wrong, so that nothing was tested")
	c.expect(len(got.Gaps) == 0, "sync says that %v is missing", got.Gaps)
}
