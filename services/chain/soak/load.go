package soak

import (
	"context"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/chaintest"
)

// load is senders that send to any of several nodes, and what the nodes have acknowledged.
type load struct {
	senders []*sender
	large   []*sender // for queues to fill up

	mu     sync.Mutex
	nodes  []*member
	hashes []common.Hash
	seen   map[common.Hash]string // receipts that were read
	last   time.Time              // of an acknowledgement
	gap    time.Duration          // the longest between two
}

// small is the number of senders of plain transfers.
const small = 8

func newLoad(random *rand.Rand, nodes ...*member) *load {
	l := &load{nodes: append([]*member(nil), nodes...), seen: map[common.Hash]string{}, last: time.Now()}
	for i, key := range chaintest.DevelopmentKeys() {
		s := &sender{load: l, number: i, account: &chaintest.Account{Key: key}, random: rand.New(rand.NewPCG(random.Uint64(), 0))}
		if i < small {
			l.senders = append(l.senders, s)
		} else {
			s.data = make([]byte, 32<<10)
			l.large = append(l.large, s)
		}
	}
	return l
}

// admit has the senders send to one more node.
func (l *load) admit(m *member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes = append(l.nodes, m)
}

func (l *load) acknowledged(hash common.Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hashes = append(l.hashes, hash)
	l.gap, l.last = max(l.gap, time.Since(l.last)), time.Now()
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.hashes)
}

// look reads some receipts from a node. They stay what they are.
func (l *load) look(t testing.TB, random *rand.Rand, nodes []*member) {
	t.Helper()
	var some []common.Hash
	l.mu.Lock()
	for range mostCalls {
		some = append(some, l.hashes[random.IntN(len(l.hashes))])
	}
	l.mu.Unlock()
	m := nodes[random.IntN(len(nodes))]
	receipts, err := m.receipts(some)
	if err != nil {
		t.Logf("%v does not answer: %v", m, err)
		return
	}
	for i, is := range receipts {
		if is != "null" {
			l.same(t, some[i], is)
		}
	}
}

// same checks a receipt beside what was seen before.
func (l *load) same(t testing.TB, hash common.Hash, is string) {
	t.Helper()
	if was, seen := l.seen[hash]; seen && is != was {
		t.Fatalf("the receipt was %s, is %s", was, is)
	}
	l.seen[hash] = is
}

// sender sends transfers from one account. It sends none again that was acknowledged.
type sender struct {
	load    *load
	number  int
	account *chaintest.Account
	random  *rand.Rand
	data    []byte // of each transaction
	value   int64
}

// next signs the next transaction. No two are the same.
func (s *sender) next() *types.Transaction {
	s.value++
	return s.account.Sign(&types.DynamicFeeTx{
		ChainID: big.NewInt(chaintest.ChainID), Nonce: s.account.Nonce, Gas: 21_000 + 16*uint64(len(s.data)),
		GasFeeCap: big.NewInt(1e13), GasTipCap: big.NewInt(1e9), To: &common.Address{1}, Value: big.NewInt(s.value), Data: s.data,
	})
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context) {
	for ctx.Err() == nil {
		var hash common.Hash
		if s.own().call(&hash, "eth_sendRawTransaction", chaintest.Raw(s.next())) == nil {
			s.account.Nonce++
			s.load.acknowledged(hash)
			continue
		}
		select { // the transaction may have been accepted
		case <-time.After(time.Duration(s.random.IntN(20)) * time.Millisecond):
		case <-ctx.Done():
		}
		var nonce hexutil.Uint64
		if s.own().call(&nonce, "eth_getTransactionCount", s.account.Address(), "pending") == nil {
			s.account.Nonce = max(s.account.Nonce, uint64(nonce))
		}
	}
}

// own returns the sender's node, which may be down: others' senders go on meanwhile.
func (s *sender) own() *member {
	s.load.mu.Lock()
	defer s.load.mu.Unlock()
	return s.load.nodes[s.number%len(s.load.nodes)]
}
