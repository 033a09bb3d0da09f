// Package blockchain is a chain on disk: its blocks, and the states that executing them leaves. It
// appends blocks that it has executed and judged, and after a crash executes again those whose
// state was lost. It reads and writes files of blocks as geth import and geth export do.
//
// The last 128 states can be read, and older ones where what the blocks since then replaced is kept.
//
// It is not for where blocks come from, nor for waiting transactions. It starts no goroutines
// beyond those of Pebble and go-ethereum, which Close ends.
package blockchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/parts/datadir"
	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
	"dyno/services/chain/state"
	"dyno/services/chain/store"
)

// Service is the name under which the data folder is marked.
const Service = "chaind"

// Folder is the data folder's form. The caller of Open holds its lock.
var Folder = datadir.Folder{Format: 1}

// BlocksFolder is the subfolder of the data folder for the blocks.
const BlocksFolder = "blocks"

// Chain is an open chain. One goroutine appends; any may read.
type Chain struct {
	Genesis *genesis.Genesis
	Blocks  *store.Store

	executor *execution.Executor
	states   state.States
	head     atomic.Pointer[types.Header]
	beyond   map[uint64]*types.Block // those that Check has executed and the store lacks
}

// Options are how a chain is opened.
type Options struct {
	// States names the way in which the states are kept, one of StateKinds; "": as they were last,
	// or the first.
	States string

	// History is the number of the last blocks whose states are kept, in calls and traces but not for
	// proofs; AllStates: all from now on. Up to 128, what was kept before still is, and 128 otherwise.
	History int64

	// Begin is the genesis of a folder that holds no chain, if Open has none; nil is allowed.
	Begin *genesis.Genesis

	// Recovered is called for each block that is executed again; nil is allowed.
	Recovered func(number, of uint64)
}

// AllStates is an Options.History without end.
const AllStates = -1

// Open opens the chain in a data folder, and begins it if there is none. Without a genesis it must
// have begun; with one it must be the same.
func Open(ctx context.Context, dir string, g *genesis.Genesis, o Options) (c *Chain, err error) {
	blocks, err := store.Open(filepath.Join(dir, BlocksFolder), false)
	if err != nil {
		return nil, damaged(dir, err)
	}
	c = &Chain{Genesis: g, Blocks: blocks}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
			c = nil
		}
	}()
	if c.Genesis, err = begun(dir, blocks, g, o.Begin); err != nil {
		return c, err
	}
	if err := c.keepHistory(o.History); err != nil {
		return c, err
	}
	c.executor = execution.New(c.Genesis)
	if err := c.openStates(dir, o.States); err != nil {
		return c, err
	}
	if err = c.recover(ctx, o.Recovered); err != nil && ctx.Err() == nil {
		err = damaged(dir, err)
	}
	return c, err
}

// damaged says what a reader of an error can do.
func damaged(dir string, err error) error {
	return fmt.Errorf("%w; chaind check names what is damaged: restore %s from a backup, or import an exported copy of the chain into an empty folder", err, dir)
}

// begun returns the genesis of the store. If it is new, it begins with g, or with another one.
func begun(dir string, blocks *store.Store, g, other *genesis.Genesis) (*genesis.Genesis, error) {
	text, err := blocks.Genesis()
	if errors.Is(err, store.ErrNotFound) {
		if g = cmp.Or(g, other); g == nil {
			return nil, fmt.Errorf("%s holds no chain yet; name its genesis with --genesis", dir)
		}
		return g, blocks.Begin(g.JSON(), g.Block())
	}
	if err != nil {
		return nil, err
	}
	kept, err := genesis.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if g == nil {
		return kept, nil
	}
	same, err := kept.Same(g)
	if err == nil && !same {
		differs := "another config, or other rules of chaind"
		if is, other := kept.Block().Hash(), g.Block().Hash(); is != other {
			differs = fmt.Sprintf("block 0 is %x, and that of the new one %x", is, other)
		}
		err = fmt.Errorf("%s holds a chain of another genesis (%s); choose another folder with --data", dir, differs)
	}
	return kept, err
}

// Head is the header of the last block, which nothing may change.
func (c *Chain) Head() *types.Header { return c.head.Load() }

// States are those of the chain. Only Append commits to them.
func (c *Chain) States() state.States { return c.states }

// Invalid is an error that is a block's own fault, and not that of this node or its disk.
type Invalid struct{ Err error }

func (e *Invalid) Error() string { return e.Err.Error() }
func (e *Invalid) Unwrap() error { return e.Err }

// Append executes a block over the state of the head, judges it and stores it. The error says what
// is wrong with the block, or with the disk; the chain is then as it was before.
func (c *Chain) Append(ctx context.Context, block *types.Block) error {
	replaced := c.replaced()
	receipts, err := c.execute(ctx, block, replaced)
	if err != nil {
		return err
	}
	if err := c.Blocks.Append(block, receipts, replaced); err != nil {
		return err
	}
	c.head.Store(block.Header())
	return nil
}

// execute executes a block over the state of the head, and keeps the state after it. What it replaced
// is added to replaced, unless that is nil.
func (c *Chain) execute(ctx context.Context, block *types.Block, replaced *store.Replaced) (types.Receipts, error) {
	db, err := c.states.Next(c.Head())
	if err != nil {
		return nil, err
	}
	below := &ancestors{blocks: c.Blocks, beyond: c.beyond}
	receipts, err := c.executor.Execute(ctx, block, c.Head(), db, below)
	if local := errors.Join(below.err, state.Err(db)); local != nil {
		return nil, errors.Join(local, err)
	}
	if err != nil {
		return nil, &Invalid{err}
	}
	return receipts, c.states.Commit(db, block.Header(), c.executor.Rules(block.Header()), replaced)
}

// Sync makes all blocks that were appended durable.
func (c *Chain) Sync() error { return c.Blocks.Sync() }

// Close keeps the last states on disk, and closes the chain.
func (c *Chain) Close() error {
	var err error
	if c.states != nil {
		err = c.states.Close(c.Head())
	}
	return errors.Join(err, c.Blocks.Close())
}

// ancestors shows stored blocks to the executor, and remembers why one could not be read.
type ancestors struct {
	blocks *store.Store
	beyond map[uint64]*types.Block
	err    error
}

// Header implements execution.Ancestors.
func (a *ancestors) Header(number uint64) *types.Header {
	if block := a.beyond[number]; block != nil {
		return block.Header()
	}
	header, err := a.blocks.Header(number)
	a.note(err)
	return header
}

// Block implements execution.Ancestors.
func (a *ancestors) Block(number uint64) *types.Block {
	if block := a.beyond[number]; block != nil {
		return block
	}
	block, err := a.blocks.Block(number)
	a.note(err)
	return block
}

func (a *ancestors) note(err error) {
	if a.err == nil && !errors.Is(err, store.ErrNotFound) {
		a.err = err
	}
}

// Lock locks a data folder that holds a chain, for a command that needs the service to be stopped.
func Lock(dir string) (io.Closer, error) { return Folder.OpenExisting(dir, Service) }

// HashOf returns the hash of a block of the chain.
func (c *Chain) HashOf(number uint64) (common.Hash, error) {
	header, err := c.Blocks.Header(number)
	if err != nil {
		return common.Hash{}, err
	}
	return header.Hash(), nil
}
