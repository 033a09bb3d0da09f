package mempool_test

import (
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/mempool"
)

// TestConcurrent adds from several goroutines while blocks are sealed. All that was accepted must
// be sealed once, in the order of nonces; some entries are withdrawn first, some rounds fail.
func TestConcurrent(t *testing.T) {
	const workers, senders, each = 4, 8, 100
	f := newFixture(t, roomy)
	var group sync.WaitGroup
	defer group.Wait()
	for w := range workers {
		group.Go(func() {
			for nonce := w; nonce < each; nonce += workers {
				for s := range byte(senders) {
					add(f, entry('a'+s, uint64(nonce), 1000, int64(s%3+1)))
				}
			}
		})
	}
	nonces := map[common.Address]uint64{}
	for round, mined := 0, 0; mined < senders*each; round++ {
		taken := f.Next(big.NewInt(1), 30_000_000, 50)
		if len(taken) == 0 {
			<-f.Ready()
			continue
		}
		switch round % 4 {
		case 1:
			f.Release()
			continue
		case 2:
			f.Failed(taken[len(taken)-1])
			taken = taken[:len(taken)-1]
		}
		for _, e := range taken {
			if want := nonces[e.From]; e.Tx.Nonce() != want {
				t.Fatalf("%v: sealed %d before %d", e.From, e.Tx.Nonce(), want)
			}
			nonces[e.From]++
		}
		f.mine(taken...)
		mined += len(taken)
	}
	group.Wait()
	f.stats(0, 0, 0)
}

// add adds an entry; every third one is withdrawn first, every third one replaced.
func add(f *fixture, e *mempool.Entry) {
	do := func(e *mempool.Entry, then func(...*mempool.Entry)) {
		if err := f.Add(e, big.NewInt(1)); err != nil {
			f.t.Errorf("%v %d: %v", e.From, e.Tx.Nonce(), err)
		}
		then(e)
	}
	switch e.Tx.Nonce() % 3 {
	case 0:
		do(e, f.Withdraw)
	case 1:
		if err := f.Add(e, big.NewInt(1)); err != nil {
			f.t.Errorf("%v %d: %v", e.From, e.Tx.Nonce(), err)
		}
		do(entry(e.From[19], e.Tx.Nonce(), 2000, 20), f.Confirm)
		f.Confirm(e) // which is gone
		return
	}
	do(e, f.Confirm)
}

func TestAllocations(t *testing.T) {
	f := newFixture(t, roomy)
	f.add(entry('a', 0, 100, 10))
	var entries []*mempool.Entry
	for nonce := range uint64(900) {
		e := entry('a', nonce+1, 100, 10)
		e.Tx.Hash() // is kept
		entries = append(entries, e)
	}
	base := big.NewInt(1)
	next := 0
	n := testing.AllocsPerRun(len(entries)-1, func() {
		if err := f.Add(entries[next], base); err != nil {
			t.Fatal(err)
		}
		f.Confirm(entries[next : next+1]...)
		next++
	})
	if n > 1 { // the slot; growing maps are less than one for each
		t.Errorf("%v allocations for each entry", n)
	}
}

// BenchmarkShards adds an entry and withdraws it, from 64 senders for each processor, which have
// one, 8 or 64 locks between them: a sender's is chosen by the last byte of its address.
func BenchmarkShards(b *testing.B) {
	for _, locks := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("locks=", locks), func(b *testing.B) {
			f := newFixture(b, roomy)
			base := big.NewInt(1)
			var callers atomic.Int64
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				caller := int(callers.Add(1))
				from := common.Address{0: byte(caller), 1: byte(caller >> 8), 19: byte(caller % locks)}
				f.set(from, 0, 1e12)
				tx := types.NewTx(&types.DynamicFeeTx{GasFeeCap: big.NewInt(100), GasTipCap: big.NewInt(1), Gas: 21_000, Value: big.NewInt(1), Data: from[:2]})
				e := mempool.NewEntry(tx, from, make([]byte, 110))
				for pb.Next() {
					if err := f.Add(e, base); err != nil {
						b.Error(err)
						return
					}
					f.Withdraw(e)
				}
			})
		})
	}
}
