package blockchain

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"

	"dyno/services/chain/genesis"
	"dyno/services/chain/store"
)

// Bounds of the states' memory.
const (
	cacheMB     = 64 // of Pebble, half of it for what is not written yet
	openFiles   = 512
	cleanBytes  = 32 << 20 // of nodes, and as much of accounts and slots
	bufferBytes = 64 << 20 // of changes that wait to be written; after a crash they are computed again
)

// states are those after the last blocks.
type states struct {
	disk  ethdb.Database
	tries *triedb.Database
	db    state.Database

	dir string
}

func openStates(dir string, readOnly bool) (s *states, err error) {
	defer func() {
		if said := recover(); said != nil { // Pebble's and go-ethereum's way to report damage
			err = fmt.Errorf("opening %s: %v", dir, said)
		}
	}()
	kv, err := pebble.New(dir, cacheMB, openFiles, "", readOnly)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dir, err)
	}
	disk := rawdb.NewDatabase(kv)
	config := *pathdb.Defaults
	config.TrieCleanSize, config.StateCleanSize, config.WriteBufferSize, config.ReadOnly = cleanBytes, cleanBytes, bufferBytes, readOnly
	tries := triedb.NewDatabase(disk, &triedb.Config{PathDB: &config})
	return &states{disk, tries, state.NewDatabase(tries, state.NewCodeDB(disk)), dir}, nil
}

// at returns the state of a root.
func (s *states) at(root common.Hash) (*state.StateDB, error) {
	db, err := state.New(root, s.db)
	if err != nil {
		err = fmt.Errorf("the state of root %x is not kept: %w", root, err)
	}
	return db, err
}

// has reports whether the state of a root is there.
func (s *states) has(root common.Hash) bool {
	_, err := s.at(root)
	return err == nil
}

// close keeps the states up to head and closes them; nil: only closes.
func (s *states) close(head *types.Header) error {
	var err error
	if head != nil {
		err = s.tries.Journal(head.Root)
	}
	if err = errors.Join(err, s.tries.Close(), s.disk.Close()); err != nil || head == nil {
		return err
	}
	return store.Settle(s.dir)
}

// openStates opens the states, or makes them anew from the genesis if none of them is that of a
// block.
func (c *Chain) openStates(dir string) (err error) {
	if c.states, err = openStates(dir, false); err != nil {
		return err
	}
	head, err := c.newest()
	if c.head.Store(head); head != nil || err != nil {
		return err
	}
	if err := errors.Join(c.states.close(nil), os.RemoveAll(dir)); err != nil {
		c.states = nil
		return err
	}
	if c.states, err = openStates(dir, false); err != nil {
		return err
	}
	return c.startStates()
}

// startStates makes the state of block 0.
func (c *Chain) startStates() error {
	header, err := c.Blocks.Header(0)
	if err != nil {
		return err
	}
	c.head.Store(header)
	return allocate(c.states, c.Genesis)
}

// allocate writes the accounts of a genesis.
func allocate(s *states, g *genesis.Genesis) error {
	_, err := g.Commit(rawdb.NewMemoryDatabase(), s.tries, nil) // the block is in the store already
	return err
}

// newest returns the header of the newest block whose state is there; nil: there is none.
func (c *Chain) newest() (*types.Header, error) {
	for n := c.Blocks.Head().Number; ; n-- {
		header, err := c.Blocks.Header(n)
		if err != nil {
			return nil, err
		}
		if c.states.has(header.Root) {
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
		if _, err := c.execute(ctx, block); err != nil {
			return fmt.Errorf("executing block %d again: %w", n, err)
		}
		c.head.Store(block.Header())
		if recovered != nil {
			recovered(n, last)
		}
	}
	return nil
}

// verify reads the state of a root: every node must have the hash by which its parent knows it,
// every contract its code, and the flat records must hash to the same root.
func (s *states) verify(ctx context.Context, root common.Hash) error {
	accounts, err := trie.NewStateTrie(trie.StateTrieID(root), s.tries)
	if err != nil {
		return err
	}
	err = walk(ctx, accounts, func(key common.Hash, value []byte) error {
		var account types.StateAccount
		if err := rlp.DecodeBytes(value, &account); err != nil {
			return fmt.Errorf("account %x: %w", key, err)
		}
		if code := common.BytesToHash(account.CodeHash); code != types.EmptyCodeHash && crypto.Keccak256Hash(rawdb.ReadCode(s.disk, code)) != code {
			return fmt.Errorf("account %x: its code %x is missing or another", key, code)
		}
		slots, err := trie.NewStateTrie(trie.StorageTrieID(root, key, account.Root), s.tries)
		if err == nil {
			err = walk(ctx, slots, func(common.Hash, []byte) error { return nil })
		}
		if err != nil {
			return fmt.Errorf("account %x: %w", key, err)
		}
		return nil
	})
	if err != nil || !s.tries.SnapshotCompleted() {
		return err
	}
	return s.tries.VerifyState(root)
}

// walk calls visit for each leaf of a trie, after reading all nodes above it.
func walk(ctx context.Context, t *trie.StateTrie, visit func(key common.Hash, value []byte) error) error {
	nodes, err := t.NodeIterator(nil)
	if err != nil {
		return err
	}
	for nodes.Next(true) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !nodes.Leaf() {
			continue
		}
		if err := visit(common.BytesToHash(nodes.LeafKey()), nodes.LeafBlob()); err != nil {
			return err
		}
	}
	return nodes.Error()
}
