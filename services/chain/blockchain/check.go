package blockchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/state"
	"dyno/services/chain/store"
)

// Report is what Check found.
type Report struct {
	OK             bool        `json:"ok"`
	Kind           string      `json:"kind,omitempty"` // "test chain", or left out
	Head           uint64      `json:"head"`           // number of the last block
	Blocks         uint64      `json:"blocks"`         // executed again, without block 0
	Transactions   uint64      `json:"transactions"`   // in them
	StateRoot      common.Hash `json:"state_root"`     // in the header of the last block
	RecomputedRoot common.Hash `json:"recomputed_root"`
	Damage         []Damage    `json:"damage,omitempty"`
	More           int         `json:"more,omitempty"` // damage beyond the most that is listed
}

// Damage is one thing that is wrong.
type Damage struct {
	File  string  `json:"file"` // path, or the folder where the file is not known
	Block *uint64 `json:"block,omitempty"`
	Error string  `json:"error"`
}

// mostDamage bounds what a report lists.
const mostDamage = 100

// scratchFolder is where check executes the blocks again, inside the data folder.
const scratchFolder = "check"

// Tail is where blocks are that the store may lack. Check executes them, too.
type Tail struct {
	File string // path
	// Replay appends the blocks that a chain lacks, and holds the others against it. The error is
	// damage. Nil: there are none.
	Replay func(context.Context, *Executed) error
}

// Check reads all that is stored and proves it again: the checksums of all tables, each block by
// its execution from block 0 over a state of its own, the stored receipts and indexes against what
// comes out, and the stored state node by node. The caller holds the folder's lock. The error is
// about doing that; what is wrong with the data is in the report.
func Check(ctx context.Context, dir string, tail Tail, checked func(number, of uint64)) (r Report, err error) {
	k := &checker{report: &r, dir: dir, tail: tail}
	folders := []string{BlocksFolder}
	for _, kind := range kinds {
		folders = append(folders, kind.folder)
	}
	for _, folder := range folders {
		bad, err := store.CheckTables(filepath.Join(dir, folder))
		if err != nil {
			return r, err
		}
		for _, b := range bad {
			k.damage(b.File, nil, b.Err)
		}
	}
	if err := k.chain(ctx, checked); err != nil {
		return r, err
	}
	r.OK = len(r.Damage) == 0
	return r, nil
}

// checker collects a report.
type checker struct {
	report *Report
	dir    string
	tail   Tail
	kept   []*kept
}

// kept are states that are stored.
type kept struct {
	dir    string
	states state.States
	header *types.Header // of the newest
	root   common.Hash   // that its block's execution gave; zero: the block is damaged
}

func (k *checker) damage(file string, block *uint64, err error) {
	if len(k.report.Damage) == mostDamage {
		k.report.More++
		return
	}
	said, _, _ := strings.Cut(err.Error(), "\n") // then come Pebble's stack traces
	k.report.Damage = append(k.report.Damage, Damage{file, block, said})
}

// chain executes the chain again.
func (k *checker) chain(ctx context.Context, checked func(number, of uint64)) (err error) {
	blocks, err := store.Open(filepath.Join(k.dir, BlocksFolder), true)
	if err != nil {
		k.damage(store.FileOf(err, filepath.Join(k.dir, BlocksFolder)), nil, err)
		return nil
	}
	defer func() { err = errors.Join(err, blocks.Close()) }()
	g, err := begun(k.dir, blocks, nil, nil)
	if err != nil {
		k.damage(store.FileOf(err, filepath.Join(k.dir, BlocksFolder)), nil, err)
		return k.read(ctx, &Chain{Blocks: blocks}, false, checked)
	}
	c := &Chain{Genesis: g, Blocks: blocks, executor: execution.New(g)}
	if err := k.open(c); err != nil {
		return err
	}
	defer func() {
		for _, kept := range k.kept {
			err = errors.Join(err, kept.states.Close(nil))
		}
	}()
	scratch := filepath.Join(k.dir, scratchFolder)
	if err := os.RemoveAll(scratch); err != nil { // of a check that was killed
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if c.states, err = kinds[0].open(scratch, g.Rules, false); err != nil {
		return err
	}
	if err = state.Allocate(c.states, g.Alloc, g.Block().Header()); err == nil {
		err = k.read(ctx, c, true, checked)
	}
	if err = errors.Join(err, c.states.Close(nil)); err != nil {
		return err
	}
	return k.verify(ctx)
}

// open opens the states that are stored. It is no damage if there are none: they are computed again
// when the chain is opened.
func (k *checker) open(c *Chain) error {
	for _, kind := range kinds {
		dir := filepath.Join(k.dir, kind.folder)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		states, err := kind.open(dir, c.Genesis.Rules, true)
		if err != nil {
			k.damage(store.FileOf(err, dir), nil, err)
			continue
		}
		c.states = states
		header, err := c.newest()
		if err != nil || header == nil { // blocks that cannot be read will be in the report
			if err := states.Close(nil); err != nil {
				return err
			}
			continue
		}
		k.kept = append(k.kept, &kept{dir: dir, states: states, header: header})
	}
	return nil
}

// read reads all blocks from block 0. While the chain is whole it executes them, that is up to the
// first that is damaged.
func (k *checker) read(ctx context.Context, c *Chain, whole bool, checked func(number, of uint64)) error {
	last := c.Blocks.Head()
	k.report.Head = last.Number
	for n := uint64(0); n <= last.Number; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := c.Blocks.Block(n)
		if err == nil && n == last.Number {
			k.report.StateRoot = block.Root()
			if block.Hash() != last.Hash {
				err = fmt.Errorf("it is %x, and the head should be %x", block.Hash(), last.Hash)
			}
		}
		if err == nil && whole {
			err = k.block(ctx, c, block)
		}
		if err != nil {
			whole = false
			k.damage(store.FileOf(err, filepath.Join(k.dir, BlocksFolder)), &n, err)
		}
		checked(n, last.Number)
	}
	return k.readTail(ctx, c, whole)
}

// readTail executes the blocks that the store lacks, if all others could be executed.
func (k *checker) readTail(ctx context.Context, c *Chain, whole bool) error {
	if k.tail.Replay != nil {
		if err := k.tail.Replay(ctx, &Executed{k, c, whole}); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			k.damage(k.tail.File, nil, err)
		}
	}
	if whole {
		head := c.Head()
		k.report.Head, k.report.StateRoot, k.report.RecomputedRoot = head.Number.Uint64(), head.Root, head.Root
	}
	return nil
}

// Executed is the blocks that Check has executed, and those that are appended to it.
type Executed struct {
	k     *checker
	c     *Chain
	whole bool
}

// Whole reports whether all stored blocks could be read and executed. Otherwise nothing can be
// appended, and the head says nothing.
func (e *Executed) Whole() bool { return e.whole }

// Head is the header of the last block.
func (e *Executed) Head() *types.Header { return e.c.Head() }

// HashOf returns the hash of a stored block.
func (e *Executed) HashOf(number uint64) (common.Hash, error) {
	if number > e.c.Blocks.Head().Number {
		return e.c.Head().Hash(), nil // it was appended, and is the last unless the tail has it twice
	}
	return e.c.HashOf(number)
}

// Append executes a block after the head.
func (e *Executed) Append(ctx context.Context, block *types.Block) error {
	if _, err := e.c.execute(ctx, block, nil); err != nil {
		return err
	}
	if e.c.beyond == nil {
		e.c.beyond = map[uint64]*types.Block{}
	}
	e.c.beyond[block.NumberU64()] = block
	e.k.count(e.c, block)
	return nil
}

// count notes a block that was executed.
func (k *checker) count(c *Chain, block *types.Block) {
	k.report.Blocks++
	k.report.Transactions += uint64(len(block.Transactions()))
	c.head.Store(block.Header())
}

// block executes one block, and holds its receipts and indexes against what is stored.
func (k *checker) block(ctx context.Context, c *Chain, block *types.Block) error {
	n := block.NumberU64()
	var receipts types.Receipts
	replaced := store.NewReplaced()
	if n == 0 {
		if want := c.Genesis.Block().Hash(); block.Hash() != want {
			return fmt.Errorf("it is %x, and the genesis says %x", block.Hash(), want)
		}
	} else {
		var err error
		if receipts, err = c.execute(ctx, block, replaced); err != nil {
			return err
		}
		k.count(c, block)
	}
	c.head.Store(block.Header())
	for _, kept := range k.kept {
		if kept.header.Number.Uint64() == n {
			var err error
			if kept.root, err = c.states.Root(c.Head()); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(c.Blocks.CheckIndexes(block, receipts), c.Blocks.CheckReplaced(n, replaced, c.Genesis.Rules.RootEvery == 1)); err != nil {
		k.damage(store.FileOf(err, filepath.Join(k.dir, BlocksFolder)), &n, err) // the chain itself is whole
	}
	return nil
}

// verify holds the stored states against those that the execution gave.
func (k *checker) verify(ctx context.Context) error {
	for _, kept := range k.kept {
		root, err := kept.root, error(nil)
		if root == (common.Hash{}) {
			root, err = kept.states.Root(kept.header)
		}
		if err == nil {
			err = kept.states.Verify(ctx, kept.header, root)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			n := kept.header.Number.Uint64()
			k.damage(store.FileOf(err, kept.dir), &n, fmt.Errorf("the state after it: %w", err))
		}
	}
	return nil
}
