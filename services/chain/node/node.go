// Package node is the way of a transaction: it is judged, made durable in the journal, held in the
// pool, executed in a block, which is made durable, too, and then shown. What was accepted when the
// process was killed is sealed by the next one.
//
// It is not for how transactions arrive or what the chain answers (package api), nor for the rules
// of blocks (execution) and of the pool (mempool).
//
// A Node has two goroutines: one seals blocks, and one makes checkpoints and watches the disk.
// Close ends them and waits. Submit works in its caller's, and for arrays in others that it waits
// for.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"go.opentelemetry.io/otel/trace"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/execution"
	"dyno/services/chain/journal"
	"dyno/services/chain/limiter"
	"dyno/services/chain/mempool"
)

// Options of a node.
type Options struct {
	Sealing    *Policy
	Pool       mempool.Options
	Checkpoint int64 // bytes of records after which the journal is shortened

	// Space returns the free bytes of the disk and its size. With less than a tenth, and less than
	// 64 MiB, nothing is accepted or sealed. Nil: the disk is not watched.
	Space func() (free, size int64, err error)

	Unprotected bool // transactions without a chain id are taken, too

	Tracer trace.Tracer // nil: there are no spans

	Log  *slog.Logger
	Fail func(error) // receives the error after which the node must be started again
}

const (
	maxJudging = 8192        // calls of Submit that wait for a core to check signatures
	watchEvery = time.Second // how often the disk is looked at, and the journal's size
	leastFree  = 64 << 20    // bytes: what Pebble and the states may write before they look again
)

// Node is a node that takes transactions and seals blocks. Its methods may be called from any
// goroutine.
type Node struct {
	chain   *blockchain.Chain
	journal Journal
	shared  Shared // the same; nil: no other node has it
	pool    *mempool.Pool
	o       Options
	judging *limiter.Limiter

	view    atomic.Pointer[view]
	trouble atomic.Pointer[error] // why nothing is accepted; nil: all is well
	failed  atomic.Bool           // for good

	sealing sync.Mutex // held while a block is made, or a checkpoint

	submitting atomic.Int64 // calls of Submit in progress

	feed  feed
	ahead ahead

	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// view is what judging transactions needs of the head.
type view struct {
	head     *types.Header
	base     *big.Int // of the next block; nil before London
	open     bool     // Options.Unprotected
	judge    execution.Judge
	accounts gethstate.StateReader
}

// Open starts a node over a chain and a journal, which it owns from now on, also after an error.
// First it appends to the chain the blocks that only the journal has.
func Open(ctx context.Context, chain *blockchain.Chain, j Journal, o Options) (*Node, error) {
	n := &Node{chain: chain, journal: j, o: o}
	n.shared, _ = j.(Shared)
	n.judging = limiter.New(limiter.Options{Limit: runtime.GOMAXPROCS(0), MaxWaiting: maxJudging})
	n.ahead.one = limiter.New(limiter.Options{Limit: 1, MaxWaiting: mostLooking, MaxWait: longestLook})
	n.feed.init()
	err := n.recover(ctx)
	if err == nil {
		err = n.canSeal()
	}
	if err != nil {
		return nil, errors.Join(err, j.Close(), chain.Close())
	}
	ctx, n.stop = context.WithCancel(context.Background())
	n.tasks.Go(func() { n.sealLoop(ctx) })
	n.tasks.Go(func() { n.watch(ctx) })
	return n, nil
}

// canSeal returns why no block can follow the head: the genesis has proof of work.
func (n *Node) canSeal() error {
	draft, err := n.chain.Begin(now(n.chain.Head()))
	if err == nil {
		draft.Abandon()
	}
	return err
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
	n.pool = mempool.New(n.o.Pool, n.account)
	entries, errs, view := make([]*mempool.Entry, len(txs)), make([]error, len(txs)), n.view.Load()
	n.spread(ctx, len(txs), func(i int) { entries[i], errs[i] = view.entry(txs[i], nil) }, func(i int, err error) { errs[i] = err })
	waiting := 0
	for i, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if errs[i] == nil {
			errs[i] = n.pool.Restore(e)
		}
		switch {
		case errs[i] == nil:
			waiting++
		case !errors.Is(errs[i], core.ErrNonceTooLow): // then another one was sealed in its place
			n.o.Log.Warn("a transaction of the journal waits no longer", "hash", txs[i].Hash(), "reason", errs[i])
		}
	}
	n.o.Log.Info("the journal was read", "head", view.head.Number, "waiting", waiting)
	return nil
}

// entry judges a transaction by all that needs no state, and makes it an entry. Raw is its
// canonical form; nil: that is made, too.
func (v *view) entry(tx *types.Transaction, raw []byte) (*mempool.Entry, error) {
	verdict, err := v.judge.Judge(tx)
	if err == nil && raw == nil {
		raw, err = tx.MarshalBinary()
	}
	if err != nil {
		return nil, err
	}
	return mempool.NewEntry(tx, verdict.Sender, raw), nil
}

// look reads what judging needs of the head.
func (n *Node) look() error {
	head := n.chain.Head()
	accounts, err := n.chain.States().Reader(head)
	if err != nil {
		return err
	}
	number := new(big.Int).Add(head.Number, common.Big1)
	n.view.Store(&view{head, n.chain.NextBaseFee(head), n.o.Unprotected, execution.NewJudge(n.chain.Genesis.Config, number, true, now(head)), accounts})
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

// Ready returns why the node should not be asked now; nil: it accepts and answers.
func (n *Node) Ready() error {
	err := n.stopped()
	if err == nil && n.shared != nil {
		err = n.shared.Ready()
	}
	return err
}

// stopped returns why the node itself accepts nothing; nil: it accepts.
func (n *Node) stopped() error {
	if why := n.trouble.Load(); why != nil {
		return *why
	}
	return nil
}

// pause notes why nothing is accepted for a while; nil: it is again.
func (n *Node) pause(err error) {
	was := n.stopped()
	switch {
	case n.failed.Load() || err == nil && was == nil:
	case err == nil:
		n.trouble.Store(nil)
		n.o.Log.Info("transactions are accepted again")
	default:
		n.trouble.Store(&err)
		if was == nil {
			n.o.Log.Error("nothing is accepted, and nothing that was is lost", "reason", err)
		}
	}
}

// fail ends the node after an error that only a new start can resolve.
func (n *Node) fail(err error) {
	n.trouble.Store(&err)
	n.failed.Store(true)
	n.o.Fail(err)
}

// stumble judges an error of the journal: whether it passes.
func (n *Node) stumble(err error) {
	switch {
	case err == nil, errors.Is(err, journal.ErrClosed), errors.Is(err, ErrLeader):
	case errors.Is(err, journal.ErrFailed):
		n.fail(err)
	default:
		n.pause(err)
	}
}

// watch makes checkpoints and looks at the disk.
func (n *Node) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for !n.failed.Load() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if full := Full(n.o.Space); full != nil {
			n.pause(full)
		} else if n.stopped() != nil || n.journal.Low() || n.journal.Size() > n.o.Checkpoint {
			if err := n.checkpoint(); err != nil {
				n.stumble(err)
			} else {
				n.pause(nil)
			}
		}
	}
}

// Full returns an error when a disk has too little room; space is Options.Space. The journal
// survives a full disk, but the databases of the blocks and the states end the process, or never
// open; so nothing is written before that.
func Full(space func() (free, size int64, err error)) error {
	if space == nil {
		return nil
	}
	free, size, err := space()
	if least := min(leastFree, size/10); err == nil && free < least {
		err = fmt.Errorf("%w: the disk of the data folder has %d MiB left, and the node needs %d to continue", journal.ErrFull, free>>20, least>>20)
	}
	return err
}

// checkpoint makes the chain durable, and the journal short.
func (n *Node) checkpoint() error {
	n.sealing.Lock()
	defer n.sealing.Unlock()
	if err := n.chain.Sync(); err != nil {
		n.fail(err)
		return nil
	}
	return n.journal.Checkpoint(n.chain.Head().Number.Uint64(), n.Raws)
}

// Pause calls do while no block is sealed and the journal is not shortened. Transactions are
// accepted meanwhile.
func (n *Node) Pause(do func()) {
	n.sealing.Lock()
	defer n.sealing.Unlock()
	do()
}

// Raws are the transactions that wait, in their canonical form.
func (n *Node) Raws() (raws [][]byte) {
	for _, e := range n.pool.Entries() {
		raws = append(raws, e.Raw)
	}
	return raws
}

// Close stops sealing and closes the journal and the chain. What waits is sealed by the next
// process.
func (n *Node) Close() error {
	n.stop()
	n.tasks.Wait()
	n.ahead.close()
	var err error
	if n.stopped() == nil && n.journal.Size() > 0 {
		err = n.checkpoint()
	}
	return errors.Join(err, n.journal.Close(), n.chain.Close())
}
