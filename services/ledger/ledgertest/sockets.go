package ledgertest

import (
	"strings"
	"testing"

	"dyno/parts/servicetest/program"
	"dyno/parts/servicetest/proxy"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
)

// Sockets runs what a client must do when a server, over WebSocket, goes wrong in the ways that
// only a connection can that many requests share, and a healthy one is beside it.
func Sockets(t *testing.T, start program.Start) {
	tests := map[string]test{
		"sockets/trouble and lies":           func(c *client) { liesOverSocket.befalls(c, c.world.honest.URL()) },
		"sockets/falls silent in the middle": func(c *client) { fallsSilent(c, c.world.honest.URL()) },
	}
	for name, fault := range socketFaults {
		tests["sockets/"+name] = func(c *client) { fault.befalls(c, c.world.honest.URL()) }
	}
	run(t, scope{start, true, nil}, nil, tests)
}

// LoneSockets is Sockets without another server. Start must have the client wait for longer than it
// takes to notice that its peer is gone (by a regular ping), or it gives up.
func LoneSockets(t *testing.T, start program.Start) {
	tests := map[string]test{"lone sockets/falls silent in the middle": func(c *client) { fallsSilent(c) }}
	for name, fault := range socketFaults {
		tests["lone sockets/"+name] = func(c *client) { fault.befalls(c) }
	}
	run(t, scope{start, true, nil}, nil, tests)
}

// socketFault is what a server does over WebSocket. Its seed is that of the dice.
type socketFault struct {
	rates fault.Rates
	seed  uint64
}

// once is a seed with which, at 15 in 1000, one ledger of the chain is hit, in the middle: a client
// that is asked to slow down is right to be slow for long.
const once = 35

var socketFaults = map[string]socketFault{
	"dead from the start":   {fault.Rates{fault.Dead: 0.5}, 6}, // the first connection is, the second is not
	"closed with 1008":      {fault.Rates{fault.Overloaded: 0.015}, once},
	"cut in the middle":     {fault.Rates{fault.Cut: 0.05}, seed},
	"answers that stay out": {fault.Rates{fault.Stall: 0.03}, seed},
}

// liesOverSocket is trouble and lies together.
var liesOverSocket = socketFault{fault.Rates{fault.Cut: 0.03, fault.Latency: 0.02, fault.Flip: 0.1, fault.Empty: 0.1, fault.Partial: 0.1, fault.Parent: 0.1, fault.Other: 0.1}, seed}

// befalls: all is stored and true; a server is blamed for lies, and not for a connection that
// broke, or was closed because of a limit.
func (f socketFault) befalls(c *client, others ...string) {
	s := c.world.server(c.t, sim.Config{Faults: f.rates, FaultSeed: f.seed})
	got := c.sync(servers(append(others, s.WS())...), c.span(first, last))
	c.holds(whole)
	c.expect(got.Ledgers == ledgers && len(got.Gaps) == 0, "sync says %+v", got)
	sent, lies := 0, 0
	for kind, count := range s.Injected().Faults {
		sent += int(count.Sent)
		if wrong[kind] {
			lies += int(count.Sent)
		}
	}
	if len(others) == 0 || f.rates[fault.Dead] > 0 { // a healthy server may have been the faster one
		c.expect(sent > 0, "the server has done nothing wrong, so that nothing was tested")
	}
	blamed := got.Guilty()
	n := blamed[s.WS()]
	delete(blamed, s.WS())
	c.expect(len(blamed) == 0, "innocent servers are blamed: %v", blamed)
	c.expect(n <= lies && (n > 0) == (lies > 0), "%d answers were wrong, and the server is blamed %d times", lies, n)
}

// fallsSilent: a connection that has carried answers carries none any more, and stays open. The
// next one is well.
func fallsSilent(c *client, others ...string) {
	const some = 60_000 // bytes: about a tenth of the range
	p := proxy.New(c.t, strings.TrimPrefix(c.world.honest.WS(), "ws://"))
	p.SilenceAfter(some)
	got := c.sync(servers(append(others, "ws://"+p.Addr())...), c.span(first, last))
	c.holds(whole)
	c.expect(len(got.Blamed) == 0 && len(got.Gaps) == 0, "sync says %+v", got)
	if len(others) == 0 {
		c.expect(p.Silenced() > 0, "no connection fell silent, so that nothing was tested")
	}
}
