package blockchain

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/flat"
	"dyno/services/chain/genesis"
	"dyno/services/chain/state"
)

// kind is a way to keep states.
type kind struct {
	name   string
	folder string // subfolder of the data folder; it may be removed: it is made again
	open   func(dir string, rules genesis.Rules, readOnly bool) (state.States, error)
}

// kinds are the ways to keep states, the default first.
var kinds = []kind{
	{"statedb", "states", func(dir string, rules genesis.Rules, readOnly bool) (state.States, error) {
		return state.OpenStateDB(dir, state.Options{ReadOnly: readOnly, RootEvery: rules.RootEvery})
	}},
	{"flat", "flat", func(dir string, rules genesis.Rules, readOnly bool) (state.States, error) {
		return flat.Open(dir, flat.Options{ReadOnly: readOnly, RootEvery: rules.RootEvery})
	}},
}

// StateKinds are the names for Options.States, the default first.
func StateKinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// formerFolder held flat states in an arrangement that is no longer read: they are made again from
// the blocks, in the folder of the kind flat.
const formerFolder = "flat-scattered"

// openStates opens the states, or makes them anew from the genesis if none of them is that of a
// block.
func (c *Chain) openStates(dir, name string) (err error) {
	former := filepath.Join(dir, formerFolder)
	if _, err := os.Stat(former); err == nil {
		name = cmp.Or(name, "flat")
	}
	i := slices.Index(StateKinds(), name)
	if name == "" {
		i = latest(dir)
	}
	if i < 0 {
		return fmt.Errorf("there are no states of the kind %q; there are %s", name, strings.Join(StateKinds(), ", "))
	}
	if err := os.RemoveAll(former); err != nil {
		return err
	}
	dir = filepath.Join(dir, kinds[i].folder)
	states, err := kinds[i].open(dir, c.Genesis.Rules, false)
	if err != nil {
		return fmt.Errorf("%w; if it is damaged, remove %s: the states are made again from the blocks", err, dir)
	}
	c.states = states
	head, err := c.newest()
	if err != nil {
		return damaged(filepath.Dir(dir), err)
	}
	if c.head.Store(head); head != nil {
		return nil
	}
	// What Close says is about records that are removed now. Pebble, closed right after it was opened,
	// at times counts a compaction of its own as an iterator that was left open.
	_ = c.states.Close(nil)
	c.states = nil
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if states, err = kinds[i].open(dir, c.Genesis.Rules, false); err != nil {
		return err
	}
	c.states = states
	if head, err = c.Blocks.Header(0); err != nil {
		return err
	}
	c.head.Store(head)
	return state.Allocate(c.states, c.Genesis.Alloc, head)
}

// latest is the index of the kind that was in use last.
func latest(dir string) (i int) {
	var last time.Time
	for k, kind := range kinds {
		if info, err := os.Stat(filepath.Join(dir, kind.folder)); err == nil && info.ModTime().After(last) {
			i, last = k, info.ModTime()
		}
	}
	return i
}

// newest returns the header of the newest block whose state is there; nil: there is none.
func (c *Chain) newest() (*types.Header, error) {
	for n := c.Blocks.Head().Number; ; n-- {
		header, err := c.Blocks.Header(n)
		if err != nil {
			return nil, err
		}
		if c.states.Has(header) {
			return header, nil
		}
		if n == 0 {
			return nil, nil
		}
	}
}

// recover executes the blocks again whose state is not there.
func (c *Chain) recover(ctx context.Context, recovered func(number, of uint64)) error {
	last := c.Blocks.Head().Number
	for n := c.Head().Number.Uint64() + 1; n <= last; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := c.Blocks.Block(n)
		if err != nil {
			return err
		}
		if _, err := c.execute(ctx, block, nil); err != nil {
			return fmt.Errorf("executing block %d again: %w", n, err)
		}
		c.head.Store(block.Header())
		if recovered != nil {
			recovered(n, last)
		}
	}
	return nil
}
