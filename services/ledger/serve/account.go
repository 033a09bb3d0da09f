package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"dyno/services/ledger/store"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
	"dyno/services/ledger/xrpl/history"
)

// Transactions in a page of account_tx: rippled's limits, to which a request's limit is clamped.
const (
	minPage     = 10
	defaultPage = 200
	maxPage     = 400
)

// maxAnswer is the size at which a page ends early, in bytes; the marker continues there.
const maxAnswer = 8 << 20

type accountQuery struct {
	address string
	account xrpl.AccountID
	ledgers history.Range
	limit   int
	forward bool
	marker  *index.Place
	version int
	binary  bool
}

func (s *Server) accountTransactions(ctx context.Context, c *call) ([]byte, error) {
	q, err := c.params.account(c.version)
	if err != nil {
		return nil, err
	}
	if q.ledgers, err = s.ledgersOf(ctx, c); err != nil {
		return nil, err
	}
	b, _, err := s.accountPage(ctx, q)
	return b, err
}

// account reads the request, except for the range of ledgers.
func (p params) account(version int) (q accountQuery, err error) {
	q.version = version
	for _, name := range []string{"binary", "forward"} {
		if version > 1 && p.has(name) && !p.isBool(name) {
			return q, errField(name)
		}
	}
	if q.limit, err = p.limit(); err != nil {
		return q, err
	}
	if !p.has("account") {
		return q, errMissing("account")
	}
	var ok bool
	if q.address, ok = p.text("account"); !ok {
		return q, errField("account")
	}
	if q.account, err = xrpl.ParseAddress(q.address); err != nil {
		return q, answer.ErrAccount
	}
	q.forward = p.flag("forward")
	if raw := p["marker"]; !isNull(raw) {
		var m struct{ Ledger, Seq *uint32 }
		if json.Unmarshal(raw, &m) != nil || m.Ledger == nil || m.Seq == nil {
			return q, answer.ErrInvalidParams.Saying("invalid marker. Provide ledger index via ledger field, and transaction sequence number via seq field")
		}
		q.marker = &index.Place{Index: *m.Ledger, Position: int(*m.Seq)}
	}
	q.binary = p.flag("binary")
	return q, nil
}

func (p params) limit() (int, error) {
	if isNull(p["limit"]) {
		return defaultPage, nil
	}
	n, ok := p.number("limit")
	if !ok || n < 0 {
		return 0, errNot("limit", "unsigned integer")
	}
	return int(min(max(n, minPage), maxPage)), nil
}

// ledgersOf is the requested ledgers: one, or a range. A range is cut to indexed ledgers without a
// hole (those around its end, or the newest), so that a page never silently omits ledgers that are
// not stored, or not indexed yet.
func (s *Server) ledgersOf(ctx context.Context, c *call) (history.Range, error) {
	p := c.params
	ranged := p.has("ledger_index_min") || p.has("ledger_index_max")
	single := p.has("ledger_hash") || p.has("ledger_index")
	if c.version > 1 && ranged && single {
		return history.Range{}, answer.ErrInvalidParams.Saying("invalidParams")
	}
	if single && !ranged {
		at, err := p.ledger()
		if err != nil {
			return history.Range{}, err
		}
		page, err := s.find(ctx, at, c.version)
		if errors.Is(err, store.ErrMissing) {
			err = answer.ErrNotValidated
		}
		if err == nil && !s.config.Store.Indexed().Has(page.Parsed.Index) {
			err = s.whileIndexing(answer.ErrNotValidated)
		}
		if err != nil {
			return history.Range{}, err
		}
		return history.Range{From: page.Parsed.Index, To: page.Parsed.Index}, nil
	}
	lowest, highest := p.bound("ledger_index_min", 0), p.bound("ledger_index_max", math.MaxUint32)
	return s.cut(lowest, highest, c.version)
}

// bound is one end of a range; a negative number, as rippled's -1, or no number means no limit.
func (p params) bound(name string, all uint32) uint32 {
	n, ok := p.number(name)
	if !ok || n < 0 || n > math.MaxUint32 {
		return all
	}
	return uint32(n)
}

// whileIndexing adds to a fault which ledgers are indexed, if those are fewer than the stored ones.
func (s *Server) whileIndexing(f *answer.Error) *answer.Error {
	indexed := s.config.Store.Indexed()
	if indexed.Len() == s.config.Store.Stored().Len() {
		return f
	}
	return f.Saying(fmt.Sprintf("%s The index by account is being made; ledgers in it so far: %.200s.", f.Message, indexed))
}

// cut restricts a range to ledgers that are indexed without a hole.
func (s *Server) cut(from, to uint32, version int) (history.Range, error) {
	indexed := s.config.Store.Indexed()
	empty, malformed, invalid := answer.ErrNotSynced, answer.ErrIndexMalformed, answer.ErrInvalidRange
	if version == 1 {
		empty, malformed, invalid = answer.ErrIndexesInvalid, nil, answer.ErrIndexesInvalid
	}
	if len(indexed) == 0 {
		return history.Range{}, s.whileIndexing(empty)
	}
	whole := indexed[len(indexed)-1]
	for _, r := range indexed {
		if r.Has(to) {
			whole = r
		}
	}
	if malformed != nil && (to > whole.To && to != math.MaxUint32 || from < whole.From && from != 0) {
		return history.Range{}, s.whileIndexing(malformed)
	}
	whole.From, whole.To = max(whole.From, from), min(whole.To, to)
	if whole.To < whole.From {
		return history.Range{}, s.whileIndexing(invalid)
	}
	return whole, nil
}

func (s *Server) accountPage(ctx context.Context, q accountQuery) (result []byte, next *index.Place, err error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	places, next, err := s.config.Store.AccountTransactions(q.account, q.ledgers.From, q.ledgers.To, q.marker, q.limit, q.forward)
	if err != nil {
		return nil, nil, err
	}
	address, err := json.Marshal(q.address)
	if err != nil {
		return nil, nil, err
	}
	list := []byte{'['}
	var p *answer.Page
	for i, at := range places {
		if len(list) > maxAnswer {
			next = &places[i]
			break
		}
		if p, err = s.nextPage(p, at); err != nil {
			return nil, nil, err
		}
		if i > 0 {
			list = append(list, ',')
		}
		if list, err = p.AppendOfAccount(list, p.Transactions[at.Position], q.version, q.binary, s.config.Network()); err != nil {
			return nil, nil, err
		}
	}
	b := append(make([]byte, 0, len(list)+512), `{"account":`...)
	b = append(b, address...)
	b = strconv.AppendUint(append(b, `,"ledger_index_max":`...), uint64(q.ledgers.To), 10)
	b = strconv.AppendUint(append(b, `,"ledger_index_min":`...), uint64(q.ledgers.From), 10)
	b = strconv.AppendInt(append(b, `,"limit":`...), int64(q.limit), 10)
	if next != nil {
		b = fmt.Appendf(b, `,"marker":{"ledger":%d,"seq":%d}`, next.Index, next.Position)
	}
	b = append(append(b, `,"status":"success","transactions":`...), list...)
	return append(b, `],"validated":true}`...), next, nil
}

// nextPage is the ledger of a place: p if that is the one.
func (s *Server) nextPage(p *answer.Page, at index.Place) (*answer.Page, error) {
	if p == nil || p.Parsed.Index != at.Index {
		if p = s.hot.view.Load().pages[key{index: at.Index}]; p == nil {
			var err error
			if p, err = s.read(at.Index); err != nil {
				return nil, fmt.Errorf("the index by account names a ledger that cannot be read (%v); run check", err)
			}
		}
	}
	if at.Position >= len(p.Transactions) {
		return nil, fmt.Errorf("the index by account names transaction %d of ledger %d, which has %d; run check", at.Position, at.Index, len(p.Transactions))
	}
	return p, nil
}
