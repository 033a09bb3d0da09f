package ledgertest

import (
	"time"

	"dyno/services/ledger/sim"
)

// stallFor is how long a server says nothing to who waits.
const stallFor = 2 * time.Second

// rates are how often a server goes wrong, by kind. What takes time is rare. Dead is for WebSocket.
var rates = sim.Rates{
	sim.Error: 0.1, sim.Unsynced: 0.1, sim.Overloaded: 0.1, sim.Cut: 0.1, sim.Latency: 0.1, sim.Stall: 0.02,
	sim.Empty: 0.1, sim.Partial: 0.1, sim.Flip: 0.1, sim.Parent: 0.1, sim.Fork: 0.1, sim.Signature: 0.1, sim.Other: 0.1,
}

// neverStoresWrong: with one server that goes wrong now and then the whole range can be had, and
// nothing else.
func neverStoresWrong(c *client, kind sim.Kind) {
	s := c.world.server(c.t, sim.Config{Faults: sim.Rates{kind: rates[kind]}, StallFor: stallFor})
	got := c.sync(servers(s.URL()), c.span(first, last))
	c.holds(whole)
	sent := int(s.Injected().Faults[kind].Sent)
	c.expect(sent > 0, "the server has done nothing wrong, so that nothing was tested")
	c.expect(len(got.Gaps) == 0, "sync says that %v is missing", got.Gaps)
}
