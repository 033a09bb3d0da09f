package mempool_test

import (
	"cmp"
	"errors"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
	"pgregory.net/rapid"

	"dyno/parts/quicktest"
	"dyno/services/chain/mempool"
)

// TestModel does the same to a pool and to a naive one.
func TestModel(t *testing.T) {
	quicktest.Checks(t, 60)
	rapid.Check(t, against)
}

// capacity is that of the model, in transactions: little, so that it is often full.
const capacity = 8

// version is an entry of the model.
type version struct {
	*mempool.Entry
	ready, taken bool
	arrival      int
}

// account is a sender of the model. What is at a nonce is what was replaced, and what replaces.
type account struct {
	nonce, balance  uint64
	slots           map[uint64][]*version
	failures, until int
}

// model computes what it is asked for from all that it holds.
type model struct {
	senders  map[byte]*account
	round    []*version // taken, and neither mined nor failed
	arrivals int
	blocks   int
}

func (a *account) top(nonce uint64) *version {
	if versions := a.slots[nonce]; len(versions) > 0 {
		return versions[len(versions)-1]
	}
	return nil
}

// gap is the first nonce without an entry.
func (a *account) gap() uint64 {
	nonce := a.nonce
	for a.top(nonce) != nil {
		nonce++
	}
	return nonce
}

// head is the entry to be sealed next, or nil.
func (a *account) head(blocks int) *version {
	nonce := a.nonce
	for a.top(nonce) != nil && a.top(nonce).taken {
		nonce++
	}
	if v := a.top(nonce); v != nil && v.ready && a.until <= blocks {
		return v
	}
	return nil
}

func (a *account) spent() (sum uint64) {
	for nonce := range a.slots {
		sum += a.top(nonce).Cost.Uint64()
	}
	return sum
}

func (a *account) remove(nonce uint64) {
	if delete(a.slots, nonce); len(a.slots) == 0 {
		a.failures, a.until = 0, 0
	}
}

func (m *model) all() (out []*version) {
	for _, from := range slices.Sorted(maps.Keys(m.senders)) {
		for _, nonce := range slices.Sorted(maps.Keys(m.senders[from].slots)) {
			out = append(out, m.senders[from].slots[nonce]...)
		}
	}
	return out
}

func (m *model) of(e *mempool.Entry) *account { return m.senders[e.From[19]] }

// queued are the entries behind a gap that are not replaced, the worst-paying first.
func (m *model) queued() (out []*version) {
	for _, v := range m.all() {
		a := m.of(v.Entry)
		if nonce := v.Tx.Nonce(); nonce > a.gap() && a.top(nonce) == v {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *version) int {
		return cmp.Or(a.FeeCap().Cmp(b.FeeCap()), a.TipCap().Cmp(b.TipCap()), b.arrival-a.arrival)
	})
	return out
}

// judge returns the error for an entry.
func (m *model) judge(e *mempool.Entry, base uint64) error {
	a, nonce, cost := m.of(e), e.Tx.Nonce(), e.Cost.Uint64()
	old := a.top(nonce)
	spent := a.spent()
	if old != nil {
		spent -= old.Cost.Uint64()
	}
	rises := func(old, fee uint64) bool { return fee > old && fee >= old*110/100 }
	switch {
	case e.FeeCap().Uint64() < base:
		return core.ErrFeeCapTooLow
	case nonce < a.nonce:
		return core.ErrNonceTooLow
	case slices.ContainsFunc(a.slots[nonce], func(v *version) bool { return v.Tx.Hash() == e.Tx.Hash() }):
		return txpool.ErrAlreadyKnown
	case old != nil && (old.taken || !rises(old.FeeCap().Uint64(), e.FeeCap().Uint64()) || !rises(old.TipCap().Uint64(), e.TipCap().Uint64())):
		return txpool.ErrReplaceUnderpriced
	case cost+spent > a.balance:
		return core.ErrInsufficientFunds
	case old != nil:
		return nil
	}
	for len(m.all()) >= capacity {
		queued := m.queued()
		if len(queued) == 0 {
			return mempool.ErrFull
		}
		worst := queued[0]
		if cmp.Or(worst.FeeCap().Cmp(e.FeeCap()), worst.TipCap().Cmp(e.TipCap())) >= 0 {
			return txpool.ErrUnderpriced
		}
		m.of(worst.Entry).remove(worst.Tx.Nonce())
	}
	return nil
}

func (m *model) add(e *mempool.Entry) {
	a, nonce := m.of(e), e.Tx.Nonce()
	first := a.nonce
	for a.top(first) != nil && a.top(first).taken {
		first++
	}
	if nonce == first {
		a.failures, a.until = 0, 0
	}
	m.arrivals++
	a.slots[nonce] = append(a.slots[nonce], &version{Entry: e, arrival: m.arrivals})
}

// next takes entries for a block.
func (m *model) next(base, gas uint64, most int) (out []*mempool.Entry) {
	rate := func(v *version) uint64 { return min(v.TipCap().Uint64(), v.FeeCap().Uint64()-base) }
	skipped := map[*account]bool{}
	for len(out) < most && gas >= 21_000 {
		var best *version
		for _, a := range m.senders {
			v := a.head(m.blocks)
			if v == nil || skipped[a] || v.FeeCap().Uint64() < base {
				continue
			}
			if best == nil || cmp.Or(cmp.Compare(rate(v), rate(best)), best.arrival-v.arrival) > 0 {
				best = v
			}
		}
		if best == nil {
			break
		}
		if best.Tx.Gas() > gas {
			skipped[m.of(best.Entry)] = true
			continue
		}
		gas -= best.Tx.Gas()
		best.taken = true
		m.round = append(m.round, best)
		out = append(out, best.Entry)
	}
	return out
}

// sealed mines some entries, and ends the round.
func (m *model) sealed(mined []*version) {
	for _, v := range mined {
		a := m.of(v.Entry)
		a.nonce++
		a.balance -= v.Cost.Uint64()
		a.failures, a.until = 0, 0
		a.remove(v.Tx.Nonce())
	}
	m.blocks++
	m.release()
}

func (m *model) release() {
	for _, v := range m.round {
		v.taken = false
	}
	m.round = nil
}

func (m *model) failed(v *version) {
	a := m.of(v.Entry)
	v.taken = false
	m.round = slices.DeleteFunc(m.round, func(other *version) bool { return other == v })
	if a.until <= m.blocks {
		a.failures++
		a.until = m.blocks + 1<<(a.failures-1)
	}
	if a.failures == 10 {
		a.failures, a.until = 0, 0
		a.remove(v.Tx.Nonce())
	}
}

// against does the same to a pool, and to the model.
func against(t *rapid.T) {
	c := &chain{accounts: map[common.Address]mempool.Account{}}
	m := &model{senders: map[byte]*account{}}
	p := mempool.New(mempool.Options{Transactions: capacity, Bytes: roomy.Bytes}, c.account)
	set := func(from byte) { c.set(address(from), m.senders[from].nonce, m.senders[from].balance) }
	for _, from := range []byte("abc") {
		m.senders[from] = &account{balance: 10_000_000, slots: map[uint64][]*version{}}
		set(from)
	}
	some := func(t *rapid.T, which func(*version) bool) *version {
		found := slices.DeleteFunc(m.all(), func(v *version) bool { return !which(v) })
		if len(found) == 0 {
			t.Skip()
		}
		return rapid.SampledFrom(found).Draw(t, "entry")
	}
	waits := func(v *version) bool { return !v.ready }
	seal := func(mined []*version) {
		m.sealed(mined)
		var entries []*mempool.Entry
		for _, v := range mined {
			entries = append(entries, v.Entry)
			set(v.From[19])
		}
		p.Sealed(entries, nil)
	}
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			from := rapid.SampledFrom([]byte("abc")).Draw(t, "from")
			nonce := m.senders[from].nonce + rapid.Uint64Range(0, 4).Draw(t, "ahead") - min(m.senders[from].nonce, 1)
			feeCap := rapid.SampledFrom([]int64{5, 50, 54, 55, 60, 100}).Draw(t, "fee cap")
			e := entryOf(from, &types.DynamicFeeTx{
				Nonce: nonce, GasFeeCap: big.NewInt(feeCap), GasTipCap: big.NewInt(rapid.Int64Range(1, feeCap).Draw(t, "tip")),
				Gas: rapid.SampledFrom([]uint64{21_000, 50_000}).Draw(t, "gas"), Data: []byte{from},
			})
			base := rapid.Uint64Range(3, 6).Draw(t, "base fee")
			want := m.judge(e, base)
			if err := p.Add(e, new(big.Int).SetUint64(base)); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Fatalf("%c %d for %d: %v, want %v", from, nonce, feeCap, err, want)
			}
			if want != nil {
				return
			}
			if m.add(e); rapid.Bool().Draw(t, "durable") {
				m.confirm(m.of(e).top(nonce))
				p.Confirm(e)
			}
		},
		"confirm": func(t *rapid.T) {
			v := some(t, waits)
			m.confirm(v)
			p.Confirm(v.Entry)
		},
		"withdraw": func(t *rapid.T) {
			v := some(t, waits)
			a, nonce := m.of(v.Entry), v.Tx.Nonce()
			a.slots[nonce] = slices.DeleteFunc(a.slots[nonce], func(other *version) bool { return other == v })
			if len(a.slots[nonce]) == 0 {
				a.remove(nonce)
			}
			p.Withdraw(v.Entry)
		},
		"next": func(t *rapid.T) {
			base := rapid.Uint64Range(3, 60).Draw(t, "base fee")
			gas := rapid.SampledFrom([]uint64{1_000_000, 60_000, 45_000}).Draw(t, "gas")
			most := rapid.IntRange(1, 4).Draw(t, "most")
			got, want := p.Next(new(big.Int).SetUint64(base), gas, most), m.next(base, gas, most)
			if !slices.Equal(got, want) {
				t.Fatalf("took %s, want %s", show(got), show(want))
			}
		},
		"seal":    func(t *rapid.T) { seal(m.round[:rapid.IntRange(0, len(m.round)).Draw(t, "mined")]) },
		"release": func(*rapid.T) { m.release(); p.Release() },
		"fail": func(t *rapid.T) {
			v := some(t, func(v *version) bool { return v.taken })
			for _, later := range slices.Clone(m.round) { // without it, the sender's others cannot be executed either
				if later.From == v.From && later.Tx.Nonce() >= v.Tx.Nonce() {
					m.failed(later)
					p.Failed(later.Entry)
				}
			}
		},
		"earn": func(t *rapid.T) {
			from := rapid.SampledFrom([]byte("abc")).Draw(t, "from")
			m.senders[from].balance += 1_000_000
			set(from)
		},
		"": func(t *rapid.T) { m.same(t, p) },
	})
}

func (m *model) confirm(v *version) {
	slots, nonce := m.of(v.Entry).slots, v.Tx.Nonce()
	v.ready = true
	slots[nonce] = slots[nonce][slices.Index(slots[nonce], v):]
}

// same compares what can be seen.
func (m *model) same(t *rapid.T, p *mempool.Pool) {
	var want []*mempool.Entry
	bytes := int64(0)
	for _, v := range m.all() {
		want, bytes = append(want, v.Entry), bytes+int64(len(v.Raw))
		if p.Get(v.Tx.Hash()) != v.Entry {
			t.Fatal("an entry is not found")
		}
	}
	got := p.Entries()
	slices.SortStableFunc(got, func(a, b *mempool.Entry) int { return a.From.Cmp(b.From) })
	if !slices.Equal(got, want) {
		t.Fatalf("there are %s, want %s", show(got), show(want))
	}
	offered := 0
	for from, a := range m.senders {
		if a.head(m.blocks) != nil {
			offered++
		}
		if nonce, ok := p.Nonce(address(from)); ok != (len(a.slots) > 0) || ok && nonce != a.gap() {
			t.Fatalf("the pending nonce of %c is %d (%t), want %d", from, nonce, ok, a.gap())
		}
	}
	queued := len(m.queued())
	if stats := (mempool.Stats{Executable: len(want) - queued, Queued: queued, Bytes: bytes, Offered: offered}); p.Stats() != stats {
		t.Fatalf("%+v, want %+v", p.Stats(), stats)
	}
}
