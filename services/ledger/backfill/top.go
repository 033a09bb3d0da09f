package backfill

import (
	"context"
	"fmt"

	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// top is the hash that the top of a gap must have: the trusted one, or the one found by following
// parent hashes down through the headers in between. It is zero where ledgers are not linked.
func (c Config) top(ctx context.Context, gap history.Range) (xrpl.Hash, error) {
	switch {
	case c.Level < trust.L2 || c.Trusted.Index == 0:
		return xrpl.Hash{}, nil
	case c.Trusted.Index == gap.To:
		return c.Trusted.Hash, nil
	case c.Trusted.Index < gap.To:
		return xrpl.Hash{}, fmt.Errorf("the trusted ledger %d is below %d: proofs lead down from a trusted ledger, never up; name one at or above the range",
			c.Trusted.Index, gap.To)
	}
	var parents parents
	// Headers are not counted.
	c.Sink, c.Below, c.Level, c.headers, c.Watch = &parents, Trusted{}, trust.L2, true, NewWatch()
	if err := c.run(ctx, history.Range{From: gap.To + 1, To: c.Trusted.Index}, c.Trusted.Hash); err != nil {
		return xrpl.Hash{}, fmt.Errorf("following headers down from the trusted ledger %d to %d: %w", c.Trusted.Index, gap.To, err)
	}
	return parents.last, nil
}

// parents is a Sink for headers that keeps the parent hash of the last one.
type parents struct{ last xrpl.Hash }

func (p *parents) Put(_ context.Context, l *xrpl.Ledger, release func()) error {
	h, err := xrpl.ParseHeader(l.Header)
	p.last = h.Parent
	release()
	return err
}
