package sim

import (
	"context"
	"errors"
	"strconv"

	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
	"dyno/services/ledger/xrpl/history"
)

// handle answers a request that is within limits. It never returns nil.
func (s *Sim) handle(ctx context.Context, r *request, warn func(int) bool) *delivery {
	e := s.envelope(r, warn)
	switch r.method {
	case "ledger":
		return s.ledger(ctx, r, e)
	case "tx":
		return s.transaction(r, e)
	case "server_info", "server_state":
		return e.success(s.info(r.method == "server_state"))
	case "ping":
		return e.success(members{})
	case "subscribe", "unsubscribe":
		return s.subscribe(ctx, r, e)
	}
	return e.fail(answer.ErrUnknownMethod, r.raw())
}

func (s *Sim) ledger(ctx context.Context, r *request, e envelope) *delivery {
	w, err := r.params.ledger()
	if err != nil {
		return e.fail(answer.ErrInvalidParams.Saying(err.Error()), r.raw())
	}
	if r.Transactions && r.Expand && !r.Binary {
		return e.fail(answer.ErrNotSupported, r.raw()) // no ledger can be proved from decoded transactions
	}
	if !s.synced.Load() {
		return e.fail(unsynced(r.version()), r.raw())
	}
	index, err := s.resolve(ctx, w)
	if err != nil {
		return e.fail(failureOf(err), r.raw())
	}
	attempt := s.attempts.next(index)
	kind := s.dice.Draw(index, attempt)
	switch kind {
	case fault.Error:
		return e.fail(s.anyError(index, attempt), r.raw()).with(kind, index)
	case fault.Unsynced:
		return e.fail(unsynced(r.version()), r.raw()).with(kind, index)
	case fault.Overloaded:
		return (&delivery{status: 503, text: "Server is overloaded", act: hangUp}).with(kind, index)
	case fault.Stall:
		return (&delivery{act: stayQuiet}).with(kind, index)
	}
	a, err := s.render(ctx, r, e, index, attempt, kind)
	if err != nil {
		return e.fail(failureOf(err), r.raw())
	}
	switch kind {
	case fault.Latency:
		a.wait = s.dice.Lateness(index, attempt)
	case fault.Cut:
		a.act = cutOff
	}
	return a
}

func (a *delivery) with(kind fault.Kind, index uint32) *delivery {
	a.fault, a.number = kind, index
	return a
}

func failureOf(err error) *answer.Error {
	if errors.Is(err, chain.ErrNotThere) {
		return answer.ErrLedgerNotFound
	}
	return answer.ErrInternal.Saying(err.Error())
}

// anyError is one of the errors that a client should count as the server's.
func (s *Sim) anyError(index, attempt uint32) *answer.Error {
	all := []*answer.Error{answer.ErrSlowDown, answer.ErrTooBusy, answer.ErrNoCurrent, answer.ErrInternal, answer.ErrLedgerNotFound}
	return all[s.dice.Roll("error", uint64(index), uint64(attempt))%uint64(len(all))]
}

// resolve finds the index of the requested ledger among those that this server claims.
func (s *Sim) resolve(ctx context.Context, w which) (uint32, error) {
	switch {
	case w.validated:
		if err := s.chain.Made(ctx); err != nil {
			return 0, err
		}
		if top, ok := s.top(); ok {
			return top, nil
		}
		return 0, chain.ErrNotThere
	case w.byHash:
		if err := s.chain.Made(ctx); err != nil {
			return 0, err
		}
		index, ok := s.chain.Hashed(w.hash)
		if !ok || !s.has(index) {
			return 0, chain.ErrNotThere
		}
		return index, nil
	case !s.has(w.index):
		return 0, chain.ErrNotThere
	}
	return w.index, nil
}

// Complete is what the server says it has.
func (s *Sim) Complete() history.Set {
	all := s.chain.All()
	if s.config.Complete == nil {
		return all
	}
	var out history.Set
	for _, r := range all {
		for _, c := range s.config.Complete {
			out = out.With(history.Range{From: max(r.From, c.From), To: min(r.To, c.To)})
		}
		out = out.With(history.Range{From: max(r.From, s.grown), To: r.To}) // gaps do not grow with the chain
	}
	return out
}

func (s *Sim) has(index uint32) bool {
	return s.config.Complete == nil || index >= s.grown || s.config.Complete.Has(index)
}

func (s *Sim) top() (uint32, bool) {
	set := s.Complete()
	if len(set) == 0 {
		return 0, false
	}
	return set[len(set)-1].To, true
}

// render writes the answer with a ledger, changed as a fault requires.
func (s *Sim) render(ctx context.Context, r *request, e envelope, index, attempt uint32, kind fault.Kind) (*delivery, error) {
	l, err := s.chain.At(ctx, index)
	if err != nil {
		return nil, err
	}
	var wrong *chain.Tampered
	if kind.Wrong() {
		roll := s.dice.Roll("tamper", uint64(index), uint64(attempt))
		if wrong, err = s.chain.Tamper(ctx, &l, kind, roll); err != nil {
			return nil, err
		}
	}
	if wrong != nil {
		l = wrong.Entry
	} else if l.Forged() && kind == "" && r.Transactions {
		kind = fault.Forged
	}
	var m members
	var keep *[]byte
	m.head = before(make([]byte, 0, 640), &l, e.clio, r.Binary, r.version())
	m.tail = make([]byte, 0, 320)
	if r.Transactions {
		m.head = append(m.head, `,"transactions":[`...)
		if m.middle, keep, err = s.body(&l, r, wrong); err != nil {
			return nil, err
		}
		m.tail = append(m.tail, ']')
	}
	m.tail = after(m.tail, &l, e.clio)
	a := e.success(m)
	a.keep = keep
	if wrong == nil && kind.Wrong() {
		kind = "" // the ledger has nothing to change
	}
	return a.with(kind, index), nil
}

func (s *Sim) body(l *chain.Entry, r *request, wrong *chain.Tampered) (b []byte, keep *[]byte, err error) {
	if !r.Expand {
		var txs []xrpl.Transaction
		if wrong != nil {
			txs = wrong.Transactions
		} else if txs, err = s.chain.Transactions(l); err != nil {
			return nil, nil, err
		}
		for i, tx := range txs {
			if i > 0 {
				b = append(b, ',')
			}
			id := xrpl.TransactionID(tx.Blob)
			b = append(xrpl.AppendHex(append(b, '"'), id[:]), '"')
		}
		return b, nil, nil
	}
	if wrong != nil {
		return chain.Render(wrong.Transactions, r.version()), nil, nil
	}
	keep = s.scratch.Get().(*[]byte)
	if b, err = s.chain.Body(l, r.version(), keep); err != nil {
		s.scratch.Put(keep)
		return nil, nil, err
	}
	return b, keep, nil
}

// before appends the header, before the transactions. rippled sorts members, Clio does not.
func before(b []byte, e *chain.Entry, clio, binary bool, version int) []byte {
	if clio {
		b = identity(b, e)
		b = append(b, `,"validated":true,`...)
	}
	b = append(b, `"ledger":{`...)
	if binary {
		b = append(b, `"closed":true,"ledger_data":"`...)
		return append(xrpl.AppendHex(b, e.Header()), '"')
	}
	h := e.Parsed()
	return answer.AppendHeader(b, &h, e.Hash(), version)
}

func after(b []byte, e *chain.Entry, clio bool) []byte {
	b = append(b, '}')
	if clio {
		return b
	}
	return append(identity(append(b, ','), e), `,"validated":true`...)
}

func identity(b []byte, e *chain.Entry) []byte {
	hash := e.Hash()
	b = xrpl.AppendHex(append(b, `"ledger_hash":"`...), hash[:])
	return appendIndex(append(b, `","ledger_index":`...), e.Index())
}

// transaction is the method tx in binary.
func (s *Sim) transaction(r *request, e envelope) *delivery {
	id, err := xrpl.ParseHash(r.Transaction)
	if err != nil {
		return e.fail(answer.ErrInvalidParams, r.raw())
	}
	if !r.Binary {
		return e.fail(answer.ErrNotSupported, r.raw())
	}
	l, tx, err := s.chain.Find(id, s.has)
	switch {
	case err != nil:
		return e.fail(failureOf(err), r.raw())
	case tx == nil:
		return e.fail(answer.ErrNoTransaction, r.raw())
	}
	h := l.Parsed()
	ctid := answer.NameOf(h.Index, *tx, new(uint32(network)))
	return e.success(members{head: answer.AppendFound(nil, &h, l.Hash(), id, *tx, r.version(), ctid, "")})
}

func appendIndex(b []byte, index uint32) []byte { return strconv.AppendUint(b, uint64(index), 10) }
