package ledgertest

import (
	"strings"
	"sync/atomic"

	"dyno/services/ledger/sim/fault"
)

// refusesFalseAnchor: a server that is honest cannot prove what is false.
func refusesFalseAnchor(c *client) {
	url := c.world.honest.URL()
	got, _ := c.fails(servers(url), spanOnly(first, last), []string{"--anchor", c.world.truth[first].hash})
	c.expect(got.Ledgers == 0, "sync says %+v", got)
	c.expect(got.gaps(c.t).String() == whole.String(), "sync says that %v is missing, want %v", got.Gaps, whole)
	c.sync(servers(url), c.span(first, last))
	c.holds(whole)
}

const lacking = first + 30

// tellsLack: of what cannot be had, and of what cannot be proved without it, nothing is stored.
func tellsLack(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	r.Decide(c.world.lacksOne)
	got, said := c.lacks(span(first, lacking), servers(r.URL), c.span(first, last))
	c.expect(strings.Contains(said, "1030"), "sync does not say which ledger cannot be had: %s", said)
	c.expect(len(got.Blamed) == 0, "who lacks a ledger is no liar: %+v", got)
	c.holds(span(lacking+1, last))
}

// lacksOne is the answer of a server that finds a ledger neither by its index nor by its hash.
func (w *world) lacksOne(a Ask) Verdict {
	if a.Index == lacking || strings.EqualFold(a.Hash, w.truth[lacking].hash) {
		return Lacks
	}
	return Pass
}

func fetchesLack(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	r.Decide(c.world.lacksOne)
	c.lacks(span(first, lacking), servers(r.URL), c.span(first, last))
	r.Decide(nil)
	c.sync()
	c.holds(whole)
}

// waitsForServer: the server hangs up on everybody for a while.
func waitsForServer(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	var refused atomic.Int64
	r.Decide(func(a Ask) Verdict {
		if a.Index < last-20 && a.Index > 0 && refused.Add(1) <= 3 {
			return Cut
		}
		return Pass
	})
	got := c.sync(servers(r.URL), c.span(first, last))
	c.holds(whole)
	c.expect(refused.Load() > 3, "the server was not asked again")
	c.expect(len(got.Blamed) == 0 && len(got.Gaps) == 0, "sync says %+v", got)
}

// givesUpOnServer: what was stored stays, and another server can take over.
func givesUpOnServer(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	r.Decide(func(a Ask) Verdict {
		if a.Index > last-20 || a.Index == 0 && a.Hash == "" {
			return Pass
		}
		return Cut
	})
	got, _ := c.lacks(span(first, last-20), servers(r.URL), c.span(first, last))
	c.expect(len(got.Blamed) == 0, "a server that is away was blamed: %+v", got)
	c.holds(span(last-19, last))
	c.sync(servers(c.world.honest.URL()))
	c.holds(whole)
}

// wrong are the faults that show as an answer that is whole and false.
var wrong = map[fault.Kind]bool{fault.Empty: true, fault.Partial: true, fault.Flip: true, fault.Parent: true, fault.Fork: true, fault.Signature: true, fault.Other: true}
