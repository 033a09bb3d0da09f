package sim

import (
	"context"
	"errors"
	"strconv"
	"time"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

// handle answers a request that is within limits. It never returns nil.
func (s *Sim) handle(ctx context.Context, r *request, warn func(int) bool) *answer {
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
	return e.fail(failUnknown, r.raw())
}

func (s *Sim) ledger(ctx context.Context, r *request, e envelope) *answer {
	w, err := r.params.ledger()
	if err != nil {
		return e.fail(failure{failParams.token, failParams.code, err.Error()}, r.raw())
	}
	if r.Transactions && r.Expand && !r.Binary {
		return e.fail(failNotSupported, r.raw()) // no ledger can be proved from decoded transactions
	}
	if !s.synced.Load() {
		return e.fail(unsynced(r.version()), r.raw())
	}
	index, err := s.resolve(ctx, w)
	if err != nil {
		return e.fail(failureOf(err), r.raw())
	}
	attempt := s.attempts.next(index)
	kind := s.dice.draw(index, attempt)
	switch kind {
	case Error:
		return e.fail(s.anyError(index, attempt), r.raw()).with(kind, index)
	case Unsynced:
		return e.fail(unsynced(r.version()), r.raw()).with(kind, index)
	case Overloaded:
		return (&answer{status: 503, text: "Server is overloaded", act: hangUp}).with(kind, index)
	case Stall:
		return (&answer{act: stayQuiet}).with(kind, index)
	}
	a, err := s.render(ctx, r, e, index, attempt, kind)
	if err != nil {
		return e.fail(failureOf(err), r.raw())
	}
	switch kind {
	case Latency:
		a.wait = s.dice.lateness(index, attempt)
	case Cut:
		a.act = cutOff
	}
	return a
}

func (a *answer) with(kind Kind, index uint32) *answer {
	a.fault, a.number = kind, index
	return a
}

func failureOf(err error) failure {
	if errors.Is(err, errNotThere) {
		return failNoLedger
	}
	return failure{failInternal.token, failInternal.code, err.Error()}
}

// anyError is one of the errors that a client should count as the server's.
func (s *Sim) anyError(index, attempt uint32) failure {
	all := []failure{failSlowDown, failTooBusy, failNoCurrent, failInternal, failNoLedger}
	return all[s.dice.roll("error", uint64(index), uint64(attempt))%uint64(len(all))]
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
		return 0, errNotThere
	case w.byHash:
		if err := s.chain.Made(ctx); err != nil {
			return 0, err
		}
		index, ok := s.chain.hashed(w.hash)
		if !ok || !s.has(index) {
			return 0, errNotThere
		}
		return index, nil
	case !s.has(w.index):
		return 0, errNotThere
	}
	return w.index, nil
}

// Complete is what the server says it has.
func (s *Sim) Complete() history.Set {
	all := s.chain.all()
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
func (s *Sim) render(ctx context.Context, r *request, e envelope, index, attempt uint32, kind Kind) (*answer, error) {
	l, n, err := s.chain.at(ctx, index)
	if err != nil {
		return nil, err
	}
	var wrong *tampered
	if kind.wrong() {
		if wrong, err = s.tamper(ctx, &l, n, attempt, kind); err != nil {
			return nil, err
		}
	}
	if wrong != nil {
		l = wrong.entry
	} else if l.set.forged && kind == "" && r.Transactions {
		kind = Forged
	}
	var m members
	var keep *[]byte
	m.head = l.before(make([]byte, 0, 640), e.clio, r.Binary, r.version())
	m.tail = make([]byte, 0, 320)
	if r.Transactions {
		m.head = append(m.head, `,"transactions":[`...)
		if m.middle, keep, err = s.body(&l, r, wrong); err != nil {
			return nil, err
		}
		m.tail = append(m.tail, ']')
	}
	m.tail = l.after(m.tail, e.clio)
	a := e.success(m)
	a.keep = keep
	if wrong == nil && kind.wrong() {
		kind = "" // the ledger has nothing to change
	}
	return a.with(kind, index), nil
}

func (s *Sim) body(l *entry, r *request, wrong *tampered) (b []byte, keep *[]byte, err error) {
	if !r.Expand {
		var txs []xrpl.Transaction
		if wrong != nil {
			txs = wrong.txs
		} else if txs, err = s.chain.transactions(l.set); err != nil {
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
		return renderTransactions(wrong.txs, r.version()), nil, nil
	}
	keep = s.scratch.Get().(*[]byte)
	if b, err = s.chain.body(l.set, r.version(), keep); err != nil {
		s.scratch.Put(keep)
		return nil, nil, err
	}
	return b, keep, nil
}

// before appends the header, before the transactions. rippled sorts members, Clio does not.
func (e *entry) before(b []byte, clio, binary bool, version int) []byte {
	if clio {
		b = e.identity(b)
		b = append(b, `,"validated":true,`...)
	}
	b = append(b, `"ledger":{`...)
	if binary {
		b = append(b, `"closed":true,"ledger_data":"`...)
		return append(xrpl.AppendHex(b, e.header[:]), '"')
	}
	h, _ := xrpl.ParseHeader(e.header[:])
	closed := xrpl.Time(h.Close)
	hash := func(name string, h xrpl.Hash) {
		b = append(append(append(b, `","`...), name...), `":"`...)
		b = xrpl.AppendHex(b, h[:])
	}
	number := func(name string, n uint64) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = strconv.AppendUint(b, n, 10)
	}
	b = append(b, `"closed":true,"close_time_human":"`...)
	b = closed.AppendFormat(b, "2006-Jan-02 15:04:05.000000000 UTC")
	b = append(b, `","close_time_iso":"`...)
	b = closed.AppendFormat(b, time.RFC3339)
	hash("account_hash", h.State)
	hash("ledger_hash", e.hash)
	hash("parent_hash", h.Parent)
	hash("transaction_hash", h.Transactions)
	b = append(strconv.AppendUint(append(b, `","total_coins":"`...), h.Drops, 10), '"')
	number("close_flags", uint64(h.Flags))
	number("close_time", uint64(h.Close))
	number("close_time_resolution", uint64(h.Resolution))
	number("parent_close_time", uint64(h.ParentClose))
	if version == 1 {
		return append(appendIndex(append(b, `,"ledger_index":"`...), h.Index), '"')
	}
	return appendIndex(append(b, `,"ledger_index":`...), h.Index)
}

func (e *entry) after(b []byte, clio bool) []byte {
	b = append(b, '}')
	if clio {
		return b
	}
	return append(e.identity(append(b, ',')), `,"validated":true`...)
}

func (e *entry) identity(b []byte) []byte {
	b = xrpl.AppendHex(append(b, `"ledger_hash":"`...), e.hash[:])
	return appendIndex(append(b, `","ledger_index":`...), e.index())
}

// transaction is the method tx in binary. Source of its members: XRPLF/rippled, rpc/handlers/Tx.cpp
// and app/misc/detail/Transaction.cpp.
func (s *Sim) transaction(r *request, e envelope) *answer {
	id, err := xrpl.ParseHash(r.Transaction)
	if err != nil {
		return e.fail(failParams, r.raw())
	}
	if !r.Binary {
		return e.fail(failNotSupported, r.raw())
	}
	l, tx, err := s.chain.find(id, s.has)
	switch {
	case err != nil:
		return e.fail(failureOf(err), r.raw())
	case tx == nil:
		return e.fail(failNoTx, r.raw())
	}
	h, _ := xrpl.ParseHeader(l.header[:])
	var b []byte
	meta, blob := "meta", "tx"
	if r.version() == 1 {
		b = appendIndex(append(b, `"date":`...), h.Close)
		b = xrpl.AppendHex(append(b, `,"hash":"`...), id[:])
		b = appendIndex(append(b, `","inLedger":`...), h.Index)
		b = append(b, ',')
	} else {
		meta, blob = "meta_blob", "tx_blob"
		b = xrpl.Time(h.Close).AppendFormat(append(b, `"close_time_iso":"`...), time.RFC3339)
		b = xrpl.AppendHex(append(b, `","hash":"`...), id[:])
		b = xrpl.AppendHex(append(b, `","ledger_hash":"`...), l.hash[:])
		b = append(b, `",`...)
	}
	b = appendIndex(append(b, `"ledger_index":`...), h.Index)
	b = xrpl.AppendHex(append(append(append(b, `,"`...), meta...), `":"`...), tx.Meta)
	b = xrpl.AppendHex(append(append(append(b, `","`...), blob...), `":"`...), tx.Blob)
	return e.success(members{head: append(b, `","validated":true`...)})
}
