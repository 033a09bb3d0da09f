package serve

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/store"
)

// maxSearch is the largest span of min_ledger and max_ledger, as in rippled.
const maxSearch = 1000

func (s *Server) transaction(ctx context.Context, c *call) ([]byte, error) {
	switch {
	case c.params.has("ctid") && c.params.has("transaction"):
		return nil, errInvalidParams
	case c.params.has("ctid"):
		return nil, errOnlyByHash
	case !c.params.has("transaction"):
		return nil, errInvalidParams
	}
	text, _ := c.params.text("transaction")
	id, err := xrpl.ParseHash(text)
	if err != nil {
		return nil, errNotImplemented // rippled's answer to text that is no hash
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
	if !c.params.flag("binary") {
		return p.decodedResult(id, tx, c.version)
	}
	return p.transactionResult(id, tx, c.version), nil
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
		return nil, errInvalidRange
	case to-from > maxSearch:
		return nil, errExcessiveRange
	}
	return &history.Range{From: uint32(from), To: uint32(to)}, nil
}

// notFound is the fault for a missing transaction; it says whether all of the range was searched.
func (s *Server) notFound(searched *history.Range) *fault {
	f := *errNoTransaction
	if searched != nil {
		all := len(s.hot.view.Load().stored.Missing(*searched)) == 0
		f.searchedAll = &all
	}
	return &f
}

func (s *Server) locate(ctx context.Context, id xrpl.Hash) (*page, xrpl.Transaction, error) {
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

func (p *page) transactionResult(id xrpl.Hash, tx xrpl.Transaction, version int) []byte {
	b := make([]byte, 0, 2*(len(tx.Blob)+len(tx.Meta))+512)
	index := strconv.FormatUint(uint64(p.header.Index), 10)
	if version == 1 {
		b = strconv.AppendUint(append(b, `{"date":`...), uint64(p.header.Close), 10)
		b = appendHex(append(b, `,"hash":`...), id[:])
		b = append(b, `,"inLedger":`+index+`,"ledger_index":`+index...)
		b = appendHex(append(b, `,"meta":`...), tx.Meta)
		b = appendHex(append(b, `,"status":"success","tx":`...), tx.Blob)
		return append(b, `,"validated":true}`...)
	}
	b = append(b, `{"close_time_iso":"`+xrpl.Time(p.header.Close).Format(time.RFC3339)...)
	b = appendHex(append(b, `","hash":`...), id[:])
	b = appendHex(append(b, `,"ledger_hash":`...), p.hash[:])
	b = append(b, `,"ledger_index":`+index...)
	b = appendHex(append(b, `,"meta_blob":`...), tx.Meta)
	b = appendHex(append(b, `,"status":"success","tx_blob":`...), tx.Blob)
	return append(b, `,"validated":true}`...)
}
