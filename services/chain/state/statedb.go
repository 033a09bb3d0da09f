package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/pebble"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"

	"dyno/services/chain/store"
)

// Bounds of the memory.
const (
	cacheMB     = 64 // of Pebble, half of it for what is not written yet
	openFiles   = 512
	cleanBytes  = 32 << 20 // of nodes, and as much of accounts and slots
	bufferBytes = 64 << 20 // of changes that wait to be written; after a crash they are computed again
)

// stateDB keeps states as go-ethereum does: its StateDB over its path database, which keeps one
// state on disk, in place, and the last 128 in memory, where the hash database would keep every
// node of every state and could only grow.
type stateDB struct {
	disk  ethdb.Database
	tries *triedb.Database
	db    *gethstate.MPTDatabase
	codes *gethstate.CodeDB

	dir       string
	rootEvery uint64
}

// Options are how OpenStateDB opens states.
type Options struct {
	ReadOnly  bool
	RootEvery uint64 // number of blocks from one root in a header to the next; 0 is 1
}

// OpenStateDB opens states that are kept as go-ethereum keeps them, in a folder, which it creates
// unless it only reads. They are not for chains of which a root per block is too much work.
func OpenStateDB(dir string, o Options) (s States, err error) {
	defer func() {
		if said := recover(); said != nil { // Pebble's and go-ethereum's way to report damage
			err = fmt.Errorf("opening %s: %v", dir, said)
		}
	}()
	kv, err := pebble.New(dir, cacheMB, openFiles, "", o.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dir, err)
	}
	disk := rawdb.NewDatabase(kv)
	config := *pathdb.Defaults
	config.TrieCleanSize, config.StateCleanSize, config.WriteBufferSize, config.ReadOnly = cleanBytes, cleanBytes, bufferBytes, o.ReadOnly
	tries := triedb.NewDatabase(disk, &triedb.Config{PathDB: &config})
	codes := gethstate.NewCodeDB(disk)
	return &stateDB{disk, tries, gethstate.NewMPTDatabase(tries, codes), codes, dir, max(o.RootEvery, 1)}, nil
}

// At implements States.
func (s *stateDB) At(header *types.Header) (*gethstate.StateDB, error) { return s.at(header, s.db) }

func (s *stateDB) at(header *types.Header, over gethstate.Database) (*gethstate.StateDB, error) {
	root, err := types.EmptyRootHash, error(nil)
	if header != nil {
		root, err = s.Root(header)
	}
	if err != nil {
		return nil, err
	}
	db, err := gethstate.New(root, over)
	return db, missing(header, err)
}

// Next implements States.
func (s *stateDB) Next(header *types.Header) (*gethstate.StateDB, error) {
	return s.at(header, &recording{MPTDatabase: s.db})
}

// recording is the database of a state that will be committed. It remembers what the commit changed.
type recording struct {
	*gethstate.MPTDatabase
	update *gethstate.StateUpdate
}

// Commit implements gethstate.Database.
func (r *recording) Commit(update *gethstate.StateUpdate) error {
	r.update = update
	return r.MPTDatabase.Commit(update)
}

// into adds what was replaced.
func (r *recording) into(replaced *store.Replaced) {
	for of, account := range r.update.AccountsOrigin {
		replaced.Accounts[of] = account
	}
	for of, slots := range r.update.StoragesOrigin {
		for key, value := range slots {
			if r.update.StorageKeyType == gethstate.StorageKeyPlain {
				key = crypto.Keccak256Hash(key[:])
			}
			replaced.Slot(of, key, value)
		}
	}
}

// Reader implements States.
func (s *stateDB) Reader(header *types.Header) (gethstate.Reader, error) {
	root, err := s.Root(header)
	if err != nil {
		return nil, err
	}
	r, err := s.db.StateReader(root)
	return reader{s.codes.Reader(), r}, missing(header, err)
}

// reader reads accounts, slots and codes.
type reader struct {
	gethstate.ContractCodeReader
	gethstate.StateReader
}

func missing(header *types.Header, err error) error {
	if err != nil && header != nil {
		err = fmt.Errorf("the state after block %d is not kept: %w", header.Number, err)
	}
	return err
}

// Commit implements States. The path database needs a root for each block, also for those
// without one in their header: for these it is stored.
func (s *stateDB) Commit(db *gethstate.StateDB, header *types.Header, rules params.Rules, replaced *store.Replaced) error {
	root, err := db.Commit(rules, header.Number.Uint64())
	if r, ok := db.Database().(*recording); ok && r.update != nil && replaced != nil {
		r.into(replaced)
	}
	switch {
	case err != nil:
		return err
	case !s.rooted(header):
		hash := header.Hash()
		return s.disk.Put(rootKey(header), append(hash[:], root[:]...))
	case root != header.Root:
		return fmt.Errorf("the state has the root %x, and the header %x", root, header.Root)
	case header.Number.Sign() == 0 && root != types.EmptyRootHash:
		return s.tries.Commit(root, false) // a genesis may be large
	}
	return nil
}

// rooted reports whether a header carries the root of its own state.
func (s *stateDB) rooted(header *types.Header) bool { return header.Number.Uint64()%s.rootEvery == 0 }

// rootKey is where the root of a block without its own is, after the block's hash.
func rootKey(header *types.Header) []byte {
	return binary.BigEndian.AppendUint64([]byte("chaind-root-"), header.Number.Uint64())
}

// Has implements States.
func (s *stateDB) Has(header *types.Header) bool {
	_, err := s.At(header)
	return err == nil
}

// Root implements States.
func (s *stateDB) Root(header *types.Header) (common.Hash, error) {
	if s.rooted(header) {
		return header.Root, nil
	}
	text, err := s.disk.Get(rootKey(header))
	hash := header.Hash()
	if err == nil && (len(text) != 2*common.HashLength || !bytes.HasPrefix(text, hash[:])) {
		err = errors.New("its root is not stored")
	}
	if err != nil {
		return common.Hash{}, missing(header, err)
	}
	return common.Hash(text[common.HashLength:]), nil
}

// Close implements States.
func (s *stateDB) Close(keep *types.Header) error {
	var err error
	if keep != nil {
		var root common.Hash
		if root, err = s.Root(keep); err == nil {
			err = s.tries.Journal(root)
		}
	}
	if err = errors.Join(err, s.tries.Close(), s.disk.Close()); err != nil || keep == nil {
		return err
	}
	return store.Settle(s.dir)
}

// Verify implements States: every node must have the hash by which its parent knows it, every
// contract its code, and the flat records must hash to the same root.
func (s *stateDB) Verify(ctx context.Context, _ *types.Header, root common.Hash) error {
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
