package backfill

import (
	"context"
	"fmt"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/trust"
)

// top is the hash that the top of a gap must have: the trusted one, or what follows from it by way of the headers
// in between. It is zero where nothing is linked.
func (c Config) top(ctx context.Context, gap history.Range) (xrpl.Hash, error) {
	switch {
	case c.Level < trust.L2 || c.Trusted.Index == 0:
		return xrpl.Hash{}, nil
	case c.Trusted.Index == gap.To:
		return c.Trusted.Hash, nil
	case c.Trusted.Index < gap.To:
		return xrpl.Hash{}, fmt.Errorf("ledger %d, which is trusted, is below %d: proof goes down from a trusted ledger, never up; name one at or above the range",
			c.Trusted.Index, gap.To)
	}
	var parents parents
	c.Sink, c.Below, c.Level, c.headers, c.Watch = &parents, Trusted{}, trust.L2, true, NewWatch() // headers are not counted
	if err := c.run(ctx, history.Range{From: gap.To + 1, To: c.Trusted.Index}, c.Trusted.Hash); err != nil {
		return xrpl.Hash{}, fmt.Errorf("going down from ledger %d, which is trusted, to %d: %w", c.Trusted.Index, gap.To, err)
	}
	return parents.last, nil
}

// parents is a sink of headers that keeps what the last one names.
type parents struct{ last xrpl.Hash }

func (p *parents) Put(_ context.Context, l *xrpl.Ledger, release func()) error {
	h, err := xrpl.ParseHeader(l.Header)
	p.last = h.Parent
	release()
	return err
}
