package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"golang.org/x/sync/errgroup"
)

// source is a peer that has blocks.
type source interface {
	// ID names the peer.
	ID() string
	// Head is the number of its last block, as far as is known.
	Head() uint64
	// Fetch returns blocks from a number on in their order, each as RLP: at most n, and fewer if they
	// are large.
	Fetch(ctx context.Context, from uint64, n int) ([][]byte, error)
	// Blame disconnects the peer for a bad block.
	Blame(why error)
}

// growing is a chain that lacks blocks.
type growing interface {
	// Head is the number of the last block.
	Head() uint64
	// Verify says what is wrong with a block, as far as that shows without a state. It is called
	// concurrently with Commit, for later blocks.
	Verify(block *types.Block) error
	// Commit executes the next block and stores it. An error that is the block's fault is a *badBlock.
	Commit(ctx context.Context, block *types.Block) error
}

// badBlock is an error which is the fault of the block, and so of the peer that sent it.
type badBlock struct{ err error }

func (e *badBlock) Error() string { return e.err.Error() }
func (e *badBlock) Unwrap() error { return e.err }

// errNoPeer means that no peer is left that has the next block.
var errNoPeer = errors.New("no peer sends the next block")

const (
	rangeBlocks   = 64               // blocks of one request, at most
	maxRanges     = 8                // ranges that are fetched or wait for verification
	overtaking    = 2 * time.Second  // after which another peer is asked, too
	rangePatience = 20 * time.Second // with all peers that are asked for the same blocks
)

// sent is a block that a peer has sent.
type sent struct {
	number uint64
	raw    []byte
	block  *types.Block // set by verify
	peer   source
}

// syncBlocks brings a chain up to the highest head of the peers. Three stages run in parallel,
// behind each other: blocks are fetched from several peers concurrently, verified as far as that
// needs no state (the form, the roots of the body, the signatures), and committed in order. While
// one block is committed, later ones are verified and fetched; bounded channels lie between.
//
// A peer that is slow is overtaken: its blocks are requested from another, too. A peer that sends a
// bad block is blamed, its blocks are dropped, and another is asked. Peers that are permitted and
// make up valid blocks are not found out: Byzantine faults are beyond it.
//
// It owns all goroutines, and has waited for them when it returns. Errors: errNoPeer; that of ctx;
// and those of Commit which are not a block's fault.
func syncBlocks(ctx context.Context, chain growing, peers []source) error {
	return syncBy(ctx, chain, peers, rangeBlocks, maxRanges)
}

// syncBy is syncBlocks with ranges of a number of blocks, and a window of a number of ranges.
func syncBy(ctx context.Context, chain growing, peers []source, blocks, ranges int) error {
	s := &blockSync{chain: chain, blocks: blocks, ranges: ranges, peers: newRoster(peers)}
	for {
		s.unfetched = nil
		err := s.pass(ctx)
		bad := (*blamed)(nil)
		if !errors.As(err, &bad) {
			return errors.Join(err, s.unfetched)
		}
		s.peers.remove(bad.peer)
		bad.peer.Blame(bad)
	}
}

type blockSync struct {
	chain      growing
	blocks     int // of a range
	ranges     int // of the window
	peers      *roster
	blockBytes atomic.Int64 // of the blocks that were fetched last
	unfetched  error        // why a pass ended before the peers' head
}

// blamed ends a pass: what the stages hold may have come from the same peer.
type blamed struct {
	peer   source
	number uint64
	err    error
}

func (b *blamed) Error() string { return fmt.Sprintf("block %d: %v", b.number, b.err) }
func (b *blamed) Unwrap() error { return b.err }

// pass runs the stages until all blocks are committed or a stage fails, which ends the others.
func (s *blockSync) pass(ctx context.Context) error {
	stages, ctx := errgroup.WithContext(ctx)
	fetched := make(chan []sent, 1)
	verified := make(chan sent, s.blocks)
	stages.Go(func() error {
		defer close(fetched)
		return s.fetch(ctx, fetched)
	})
	stages.Go(func() error {
		defer close(verified)
		return s.verify(ctx, fetched, verified)
	})
	stages.Go(func() error { return s.commit(ctx, verified) })
	return stages.Wait()
}

// verify decodes blocks and judges each without a state.
func (s *blockSync) verify(ctx context.Context, in <-chan []sent, out chan<- sent) error {
	for batch := range in {
		for _, b := range batch {
			b.block = new(types.Block)
			err := rlp.DecodeBytes(b.raw, b.block)
			if err == nil && b.block.NumberU64() != b.number {
				err = fmt.Errorf("the peer sent block %d for it", b.block.NumberU64())
			}
			if err == nil {
				err = s.chain.Verify(b.block)
			}
			if err != nil {
				return &blamed{b.peer, b.number, err}
			}
			b.raw = nil
			select {
			case out <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return ctx.Err()
}

// commit commits blocks in their order.
func (s *blockSync) commit(ctx context.Context, in <-chan sent) error {
	for b := range in {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.chain.Commit(ctx, b.block)
		if bad := (*badBlock)(nil); errors.As(err, &bad) {
			return &blamed{b.peer, b.number, err}
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", b.number, err)
		}
	}
	return ctx.Err()
}
