package serve

import (
	"context"
	"errors"

	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl/answer"
)

func (s *Server) ledger(ctx context.Context, c *call) ([]byte, error) {
	at, err := c.params.ledger()
	if err != nil {
		return nil, err
	}
	want := answer.Shape{Version: c.version, Binary: c.params.flag("binary"), Transactions: c.params.flag("transactions"), Expand: c.params.flag("expand")}
	switch {
	case c.params.flag("full"), c.params.flag("accounts"):
		return nil, answer.ErrNoPermission // the state is not history; rippled gives it to admins only
	case c.params.flag("queue"):
		return nil, answer.ErrInvalidParams // a validated ledger has no queue
	}
	p, err := s.find(ctx, at, c.version)
	if err != nil {
		return nil, err
	}
	return p.Result(want)
}

// find returns a ledger, or rippled's error for a missing one.
func (s *Server) find(ctx context.Context, at specifier, version int) (p *answer.Page, err error) {
	switch {
	case at.hash != nil:
		p, err = s.pageByHash(ctx, *at.hash)
	case !at.newest:
		p, err = s.page(ctx, at.index)
	default:
		p, err = s.newest(ctx, s.hot.view.Load())
		if errors.Is(err, store.ErrMissing) {
			err = nothing(version)
		}
	}
	return p, err
}

// nothing is the fault of an empty store.
func nothing(version int) *answer.Error {
	if version == 1 {
		return answer.ErrNoNetwork
	}
	return answer.ErrNotSynced
}
