package serve

import (
	"context"
	"errors"
	"fmt"

	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
	"dyno/services/ledger/xrpl/history"
)

// maxSearch is the largest span of min_ledger and max_ledger, as in rippled.
const maxSearch = 1000

func (s *Server) transaction(ctx context.Context, c *call) ([]byte, error) {
	switch {
	case c.params.has("ctid") && c.params.has("transaction"):
		return nil, answer.ErrInvalidParams
	case c.params.has("ctid"):
		return s.transactionByPlace(ctx, c)
	case !c.params.has("transaction"):
		return nil, answer.ErrInvalidParams
	}
	text, _ := c.params.text("transaction")
	id, err := xrpl.ParseHash(text)
	if err != nil {
		return nil, answer.ErrNotImplemented // rippled's answer to text that is no hash
	}
	searched, err := c.params.search()
	if err != nil {
		return nil, err
	}
	p, tx, err := s.locate(ctx, id)
	if errors.Is(err, store.ErrMissing) {
		return nil, s.notFound(searched)
	}
	if err != nil {
		return nil, err
	}
	return p.Found(tx, c.version, c.params.flag("binary"), s.config.Network())
}

// transactionByPlace is the method tx for a ctid.
func (s *Server) transactionByPlace(ctx context.Context, c *call) ([]byte, error) {
	network := s.config.Network()
	if network == nil {
		return nil, errOnlyByHash
	}
	text, _ := c.params.text("ctid")
	at, ok := answer.ParseCTID(text)
	switch {
	case !ok:
		return nil, answer.ErrInvalidParams
	case at.Network != *network:
		return nil, answer.ErrWrongNetwork.Saying(fmt.Sprintf("Wrong network. You should submit this request to a node running on NetworkID: %d", at.Network))
	}
	p, err := s.page(ctx, at.Index)
	if errors.Is(err, store.ErrMissing) || err == nil && int(at.Position) >= len(p.Transactions) {
		return nil, answer.ErrNoTransaction
	}
	if err != nil {
		return nil, err
	}
	return p.Found(p.Transactions[at.Position], c.version, c.params.flag("binary"), network)
}

// search is the range in which the client asks for certainty; nil: none.
func (p params) search() (*history.Range, error) {
	if !p.has("min_ledger") || !p.has("max_ledger") {
		return nil, nil
	}
	from, ok := p.number("min_ledger")
	to, also := p.number("max_ledger")
	switch {
	case !ok, !also, from < 0, to < from, to > int64(^uint32(0)):
		return nil, answer.ErrInvalidRange
	case to-from > maxSearch:
		return nil, answer.ErrExcessiveRange
	}
	return &history.Range{From: uint32(from), To: uint32(to)}, nil
}

// notFound is the fault for a missing transaction; it says whether all of the range was searched.
func (s *Server) notFound(searched *history.Range) *answer.Error {
	f := *answer.ErrNoTransaction
	if searched != nil {
		all := len(s.hot.view.Load().stored.Missing(*searched)) == 0
		f.SearchedAll = &all
	}
	return &f
}

func (s *Server) locate(ctx context.Context, id xrpl.Hash) (*answer.Page, xrpl.Transaction, error) {
	place, err := s.config.Store.Transaction(id)
	if err != nil {
		return nil, xrpl.Transaction{}, err
	}
	p, err := s.page(ctx, place.Index)
	if errors.Is(err, store.ErrMissing) || err == nil && place.Position >= len(p.Transactions) {
		err = fmt.Errorf("the index names transaction %v as number %d of ledger %d, which does not exist; run check", id, place.Position, place.Index)
	}
	if err != nil {
		return nil, xrpl.Transaction{}, err
	}
	return p, p.Transactions[place.Position], nil
}
