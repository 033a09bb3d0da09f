package ledgertest

import (
	"strings"

	"dyno/parts/quicktest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/sim/limits"
)

// relays makes several ways to the honest server, which look like several servers.
func (c *client) relays(n int) (all []*Relay, urls []string) {
	for range n {
		r := NewRelay(c.t, c.world.honest.URL())
		all, urls = append(all, r), append(urls, r.URL)
	}
	return all, urls
}

func fetchesFromSeveral(c *client) {
	_, urls := c.relays(3)
	got := c.sync(servers(urls...), c.span(first, last))
	c.holds(whole)
	c.expect(got.Ledgers == ledgers && len(got.Blamed) == 0, "sync says %+v", got)
}

func goesRoundHanging(c *client) { c.goesRound(Hang) }
func goesRoundGone(c *client)    { c.goesRound(Cut) }

// goesRound: one of three servers serves nothing; the others are not in trouble, and it is no liar.
func (c *client) goesRound(v Verdict) {
	all, urls := c.relays(3)
	all[1].Decide(func(a Ask) Verdict {
		if a.Index == 0 {
			return Pass // it says that it has everything
		}
		return v
	})
	got := c.sync(servers(urls...), c.span(first, last))
	c.holds(whole)
	c.expect(len(got.Blamed) == 0 && len(got.Gaps) == 0, "sync says %+v", got)
	c.expect(len(all[1].Traffic().Asked) > 0, "the server in trouble was never asked, so that nothing was tested")
}

// fillsGaps: two servers that each lack something, and say so.
func fillsGaps(c *client) {
	const a, b = "1000-1029,1050-1079", "1020-1060"
	one, two := c.world.server(c.t, sim.Config{Complete: has(c.t, a)}), c.world.server(c.t, sim.Config{Complete: has(c.t, b)})
	got := c.sync(servers(one.URL(), two.URL()), c.span(first, last))
	c.holds(whole)
	c.expect(len(got.Blamed) == 0 && len(got.Gaps) == 0, "sync says %+v", got)
}

func tellsLackOfAll(c *client) {
	all, urls := c.relays(2)
	for _, r := range all {
		r.Decide(c.world.lacksOne)
	}
	_, said := c.lacks(span(first, lacking), servers(urls...), c.span(first, last))
	c.expect(strings.Contains(said, "1030"), "sync does not say which ledger cannot be had: %s", said)
	c.holds(span(lacking+1, last))
	all[1].Decide(nil) // one is enough
	c.sync()
	c.holds(whole)
}

// blamesGuilty: of three servers one goes wrong, more often than not. It alone is blamed.
func blamesGuilty(c *client, kind fault.Kind) {
	s := c.world.server(c.t, sim.Config{Faults: fault.Rates{kind: min(1, 5*rates[kind])}, StallFor: stallFor})
	_, urls := c.relays(2)
	got := c.sync(servers(urls[0], s.URL(), urls[1]), c.span(first, last))
	c.holds(whole)
	c.judges(got, s, kind)
}

// judges holds the blame against what a server has really done.
func (c *client) judges(got Result, s *sim.Sim, kind fault.Kind) {
	c.t.Helper()
	sent := int(s.Injected().Faults[kind].Sent)
	c.expect(len(got.Gaps) == 0, "sync says that %v is missing", got.Gaps)
	blamed := got.Guilty()
	n := blamed[s.URL()]
	delete(blamed, s.URL())
	c.expect(len(blamed) == 0, "innocent servers are blamed: %v", blamed)
	switch {
	case !wrong[kind]:
		c.expect(n == 0, "who is in trouble is no liar; blamed %d times", n)
	case sent > 0:
		c.expect(n > 0 && n <= sent, "%d answers were wrong, and the server is blamed %d times", sent, n)
	}
}

// keepsLimits: a server's limits are no reason to fail, and are hit seldom.
func keepsLimits(c *client) {
	quicktest.Skip(c.t, "waits for limits per second")
	s := c.world.server(c.t, sim.Config{Limits: limits.Clio})
	got := c.sync(servers(s.URL()), c.span(first, last))
	c.holds(whole)
	truth := s.Injected()
	c.expect(len(got.Blamed) == 0, "sync blames %+v", got.Blamed)
	c.expect(truth.Refused*4 <= truth.Answers, "%d requests were refused, %d answered", truth.Refused, truth.Answers)
}

func fetchesOverWebSocket(c *client) {
	got := c.sync(servers(c.world.honest.WS()), c.span(first, last))
	c.holds(whole)
	c.expect(got.Ledgers == ledgers && len(got.Blamed) == 0, "sync says %+v", got)
}
