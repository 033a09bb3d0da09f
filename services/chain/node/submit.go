package node

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/journal"
	"dyno/services/chain/limiter"
	"dyno/services/chain/mempool"
	"dyno/services/chain/store"
)

// maxSize bounds a transaction, in bytes.
const maxSize = 128 << 10

// errUnprotected is for a transaction without a chain id, which other chains would take, too.
var errUnprotected = errors.New("only replay-protected (EIP-155) transactions allowed over RPC")

// Submitted is what became of a transaction.
type Submitted struct {
	Hash common.Hash
	Err  error // why it was refused, in go-ethereum's words
}

// Refusals that are not the transaction's fault.
var (
	// ErrOverloaded means that too many calls of Submit wait before this one.
	ErrOverloaded = fmt.Errorf("the node is overloaded: %d calls wait until their signatures are checked; send the transaction again later", maxJudging)
	// ErrPending means that too many reads of what is pending wait before this one, or that it waited too
	// long.
	ErrPending = fmt.Errorf("the node is overloaded: one read of pending is executed, and %d others wait for up to %v each; ask again later, or for the block latest", mostLooking, longestLook)
	// ErrFailed means that judging the transaction panicked.
	ErrFailed = errors.New("the method failed")
)

// Submit takes transactions in their canonical form and returns what became of each, in their
// order, once those that it accepts are durable. It keeps the bytes. Together they cost one append
// to the journal, and their signatures are checked on all cores.
func (n *Node) Submit(ctx context.Context, raws [][]byte) []Submitted {
	ctx, span := n.begin(ctx, "eth_submitTransaction")
	defer span.End()
	if n.shared != nil && !n.shared.Leads() {
		return n.forward(ctx, raws)
	}
	n.submitting.Add(1)
	defer n.submitting.Add(-1)
	out := make([]Submitted, len(raws))
	entries := make([]*mempool.Entry, len(raws))
	view := n.view.Load()
	if err := n.stopped(); err != nil {
		for i := range out {
			out[i].Err = unstored(err)
		}
		return out
	}
	n.spread(ctx, len(raws), func(i int) { entries[i], out[i].Err = view.admit(raws[i]) }, func(i int, err error) { out[i].Err = err })
	var added []*mempool.Entry
	var places []int
	at := placeOf(span)
	for i, e := range entries {
		if out[i].Err != nil {
			continue
		}
		e.Trace = at
		if out[i].Err = n.add(e, view); out[i].Err != nil {
			continue
		}
		out[i].Hash = e.Tx.Hash()
		added, places = append(added, e), append(places, i)
	}
	if len(added) == 0 {
		return out
	}
	records := make([][]byte, len(added))
	for i, e := range added {
		records[i] = e.Raw
	}
	_, write := n.begin(ctx, "journal.Accept")
	err := n.journal.Accept(records...)
	if end(write, err); err != nil {
		n.pool.Withdraw(added...)
		n.stumble(err)
		for _, i := range places {
			out[i] = Submitted{Err: unstored(err)}
		}
		return out
	}
	n.pool.Confirm(added...)
	n.feed.accept(added)
	return out
}

// unstored is what a client reads of an error of the disk, whose paths are not for it.
func unstored(err error) error {
	if errors.Is(err, ErrLeader) {
		return ErrLeader
	}
	if errors.Is(err, journal.ErrFull) {
		return errors.New("the node's disk is full: the transaction was not accepted; send it again when there is room")
	}
	return errors.New("the node cannot write to its disk: the transaction was not accepted")
}

// perTurn is the number of transactions that are judged before other goroutines get their turn:
// half a millisecond.
const perTurn = 8

// perCore is the number of transactions that are worth a goroutine of their own.
const perCore = 4

// spread calls do for each number below count, on as many cores as are free; where there is an
// overload, it calls refused instead.
func (n *Node) spread(ctx context.Context, count int, do func(int), refused func(int, error)) {
	workers := max(1, min(n.judging.Limit(), count/perCore))
	each := max(1, (count+workers-1)/workers)
	part := func(from, to int) {
		err := n.judging.Acquire(ctx)
		if err == nil {
			defer n.judging.Release()
		}
		for i := from; i < to; i++ {
			if err != nil {
				refused(i, overloaded(err, ErrOverloaded))
				continue
			}
			n.attempt(i, do, refused)
			if (i-from)%perTurn == perTurn-1 {
				runtime.Gosched() // with all cores here, blocks and answers would wait until an array is done
			}
		}
	}
	var others sync.WaitGroup
	for from := each; from < count; from += each {
		others.Go(func() { part(from, min(from+each, count)) })
	}
	part(0, min(each, count))
	others.Wait()
}

// attempt calls do for one transaction. If that panics, it alone is refused.
func (n *Node) attempt(i int, do func(int), refused func(int, error)) {
	defer func() {
		if v := recover(); v != nil {
			n.o.Log.Error("judging a transaction panicked", "panic", v, "stack", string(debug.Stack()))
			refused(i, ErrFailed)
		}
	}()
	do(i)
}

// overloaded is what the caller has for too many that wait, or another error of a limiter.
func overloaded(err, instead error) error {
	if errors.Is(err, limiter.ErrFull) || errors.Is(err, limiter.ErrTimeout) {
		return instead
	}
	return err
}

// admit judges a transaction by all that needs no state, its sender last.
func (v *view) admit(raw []byte) (*mempool.Entry, error) {
	switch {
	case len(raw) > 0 && raw[0] == types.BlobTxType:
		return nil, fmt.Errorf("%w: tx type %v not supported by this pool", core.ErrTxTypeNotSupported, types.BlobTxType)
	case len(raw) > maxSize:
		return nil, fmt.Errorf("%w: transaction size %v, limit %v", txpool.ErrOversizedData, len(raw), maxSize)
	}
	tx, err := execution.DecodeTransaction(raw)
	switch {
	case err != nil:
		return nil, err
	case !v.open && !tx.Protected():
		return nil, errUnprotected
	case tx.Gas() > v.head.GasLimit:
		return nil, txpool.ErrGasLimit
	}
	return v.entry(tx, raw)
}

// add adds an entry to the pool. Only of a nonce that is used is it worth asking whether the
// transaction itself has used it.
func (n *Node) add(e *mempool.Entry, v *view) error {
	err := n.pool.Add(e, v.base)
	if errors.Is(err, core.ErrNonceTooLow) {
		switch _, _, found := n.chain.Blocks.Transaction(e.Tx.Hash()); {
		case found == nil:
			return txpool.ErrAlreadyKnown
		case !errors.Is(found, store.ErrNotFound):
			return found
		}
	}
	return err
}

// Waiting returns a waiting transaction; nil if there is none.
func (n *Node) Waiting(hash common.Hash) *types.Transaction {
	if e := n.pool.Get(hash); e != nil {
		return e.Tx
	}
	return nil
}

// Nonce returns the nonce after the executable transactions of an account; false: it has none.
func (n *Node) Nonce(of common.Address) (uint64, bool) { return n.pool.Accepted(of) }

// Content returns the waiting transactions by sender, each sender's in the order of nonces: those that
// the next blocks take, and those behind a gap.
func (n *Node) Content() (executable, queued map[common.Address]types.Transactions) {
	return n.pool.Content()
}

// Pool are figures of what waits.
func (n *Node) Pool() mempool.Stats { return n.pool.Stats() }

// JournalSize is the bytes of the journal's records since its last checkpoint.
func (n *Node) JournalSize() int64 { return n.journal.Size() }

// Stats counts the waiting transactions: those that the next blocks take, and those behind a gap.
func (n *Node) Stats() (executable, queued int) {
	stats := n.pool.Stats()
	return stats.Executable, stats.Queued
}
