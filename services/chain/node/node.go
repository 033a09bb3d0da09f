// Package node is the way of a transaction: it is judged, made durable in the journal, held in the
// pool, executed in a block, which is made durable, too, and then shown. What was accepted when the
// process was killed is sealed by the next one.
//
// It is not for how transactions arrive or what the chain answers (package api), nor for the rules
// of blocks (execution) and of the pool (mempool).
//
// A Node has two goroutines: one seals blocks, and one makes checkpoints and watches the disk. Close
// ends them and waits. Submit works in its caller's, and for arrays in others that it waits for.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"dyno/parts/limiter"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/journal"
	"dyno/services/chain/mempool"
	"dyno/services/chain/mempool/index"
	"dyno/services/chain/sealing"
	"dyno/services/chain/transaction"
)

// Options of a node. Zero values are the defaults.
type Options struct {
	Sealing *sealing.Policy // required
	Index   index.Index     // required
	Pool    mempool.Options

	Checkpoint int64 // bytes of records after which the journal is shortened; 0: 64 MiB
	MinFree    int64 // bytes of free disk below which nothing is accepted or sealed; 0: 64 MiB
	Free       func() (bytes int64, err error) // of the disk; nil: it is not watched

	Log  *slog.Logger // required
	Fail func(error)  // receives the error after which the node must be started again; required
}

// Bounds of what is under way.
const (
	maxJudging = 8192        // calls of Submit that wait for a core to check signatures
	watchEvery = time.Second // how often the disk is looked at, and the journal's size
)

// Node is a node that takes transactions and seals blocks. Its methods may be called from any
// goroutine.
type Node struct {
	chain   *blockchain.Chain
	journal *journal.Journal
	pool    *mempool.Pool
	o       Options
	judging limiter.Limiter

	view    atomic.Pointer[view]
	trouble atomic.Pointer[error] // why nothing is accepted; nil: all is well

	sealing sync.Mutex // held while a block is made, or a checkpoint

	feed feed

	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// view is what judging transactions needs of the head.
type view struct {
	head     *types.Header
	base     *big.Int // of the next block; nil before London
	judge    transaction.Judge
	accounts gethstate.StateReader
}

// Open starts a node over a chain and a journal, which it owns from now on, also after an error.
// First it appends to the chain the blocks that only the journal has.
func Open(ctx context.Context, chain *blockchain.Chain, j *journal.Journal, o Options) (*Node, error) {
	if o.Checkpoint <= 0 {
		o.Checkpoint = 64 << 20
	}
	if o.MinFree <= 0 {
		o.MinFree = 64 << 20
	}
	n := &Node{chain: chain, journal: j, o: o}
	n.judging = limiter.NewFixed(limiter.Fixed{Limit: runtime.GOMAXPROCS(0), MaxWaiting: maxJudging})
	n.feed.init()
	if err := n.recover(ctx); err != nil {
		return nil, errors.Join(err, j.Close(), chain.Close())
	}
	ctx, n.stop = context.WithCancel(context.Background())
	n.tasks.Go(func() { n.sealLoop(ctx) })
	n.tasks.Go(func() { n.watch(ctx) })
	return n, nil
}

// recover takes up what the last process accepted and did not seal.
func (n *Node) recover(ctx context.Context) error {
	txs, err := n.journal.Replay(ctx, n.chain)
	if err != nil {
		return err
	}
	if err := n.look(); err != nil {
		return err
	}
	n.pool = mempool.New(n.o.Index, n.o.Pool, n.account)
	slices.SortStableFunc(txs, func(a, b *types.Transaction) int { // so that few are behind a gap
		return new(big.Int).SetUint64(a.Nonce()).Cmp(new(big.Int).SetUint64(b.Nonce()))
	})
	view, waiting, dropped := n.view.Load(), 0, 0
	for _, tx := range txs {
		if err := ctx.Err(); err != nil {
			return err
		}
		verdict, err := view.judge.Judge(tx)
		if err == nil {
			var raw []byte
			if raw, err = tx.MarshalBinary(); err == nil {
				e := mempool.NewEntry(tx, verdict.Sender, raw)
				if err = n.pool.Add(e, nil); err == nil {
					n.pool.Confirm(e)
				}
			}
		}
		if waiting++; err != nil {
			dropped++
			n.o.Log.Debug("a transaction of the journal waits no longer", "hash", tx.Hash(), "reason", err)
		}
	}
	n.o.Log.Info("the journal was read", "head", view.head.Number, "waiting", waiting-dropped, "replaced", dropped)
	return nil
}

// look reads what judging needs of the head.
func (n *Node) look() error {
	head := n.chain.Head()
	accounts, err := n.chain.States().Reader(head)
	if err != nil {
		return err
	}
	number := new(big.Int).Add(head.Number, common.Big1)
	n.view.Store(&view{head, n.chain.NextBaseFee(head), transaction.NewJudge(n.chain.Genesis.Config, number, true, now(head)), accounts})
	return nil
}

// account reads an account after the head, for the pool.
func (n *Node) account(of common.Address) (mempool.Account, error) {
	a, err := n.view.Load().accounts.Account(of)
	if err != nil || a == nil {
		return mempool.Account{Balance: new(uint256.Int)}, err
	}
	return mempool.Account{Nonce: a.Nonce, Balance: a.Balance}, nil
}

// now is the time of a block made now: not before its parent's.
func now(parent *types.Header) uint64 { return max(parent.Time, uint64(time.Now().Unix())) }

// Chain is the chain of sealed blocks. Only the node appends to it.
func (n *Node) Chain() *blockchain.Chain { return n.chain }

// Ready returns why the node accepts nothing; nil: it accepts.
func (n *Node) Ready() error {
	if why := n.trouble.Load(); why != nil {
		return *why
	}
	return nil
}

// setTrouble notes why nothing can be accepted, or that it can again.
func (n *Node) setTrouble(err error) {
	was := n.Ready()
	switch {
	case err == nil && was == nil:
		return
	case err == nil:
		n.trouble.Store(nil)
		n.o.Log.Info("transactions are accepted again")
	default:
		n.trouble.Store(&err)
		if was == nil {
			n.o.Log.Error("nothing is accepted", "reason", err)
		}
	}
}

// fail ends the node after an error that only a new start can resolve.
func (n *Node) fail(err error) {
	n.setTrouble(err)
	n.o.Fail(err)
}

// watch makes checkpoints and looks at the disk.
func (n *Node) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		full := n.full()
		switch {
		case full != nil:
			n.setTrouble(full)
		case n.Ready() != nil || n.journal.Low() || n.journal.Size() > n.o.Checkpoint:
			if err := n.checkpoint(); err != nil {
				n.stumble(err)
			} else {
				n.setTrouble(nil)
			}
		}
	}
}

// full returns an error when the disk has too little room: what executes and stores blocks does not
// survive a full disk, so nothing is written before it is full.
func (n *Node) full() error {
	if n.o.Free == nil {
		return nil
	}
	free, err := n.o.Free()
	if err == nil && free < n.o.MinFree {
		err = fmt.Errorf("%w: %d MiB are free, and the node needs %d: make room on the disk of the data folder; nothing that was accepted is lost",
			journal.ErrFull, free>>20, n.o.MinFree>>20)
	}
	return err
}

// stumble notes an error of the journal or the chain: one that passes, or the last.
func (n *Node) stumble(err error) {
	if errors.Is(err, journal.ErrFull) {
		n.setTrouble(err)
		return
	}
	n.fail(err)
}

// checkpoint makes the chain durable, and the journal short.
func (n *Node) checkpoint() error {
	n.sealing.Lock()
	defer n.sealing.Unlock()
	if err := n.chain.Sync(); err != nil {
		return err
	}
	return n.journal.Checkpoint(n.chain.Head().Number.Uint64(), func() (raws [][]byte) {
		for _, e := range n.pool.Entries() {
			raws = append(raws, e.Raw)
		}
		return raws
	})
}

// Close stops sealing and closes the journal and the chain. What waits is sealed by the next
// process.
func (n *Node) Close() error {
	n.stop()
	n.tasks.Wait()
	var err error
	if n.Ready() == nil && n.journal.Size() > 0 {
		err = n.checkpoint()
	}
	return errors.Join(err, n.journal.Close(), n.chain.Close())
}

// String names the head.
func (v *view) String() string { return hexutil.EncodeBig(v.head.Number) }
