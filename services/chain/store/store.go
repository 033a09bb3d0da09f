// Package store keeps a chain's blocks and receipts on disk, with the indexes by which they are
// found, and what each block replaced in the state, if that is wanted, in Pebble. All that belongs to
// a block is written together or not at all.
//
// It is not for the state, which can be computed again from the blocks, nor for judging blocks. It
// starts no goroutines beyond those of Pebble, which Close ends.
package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// ErrNotFound says that there is no such block, receipt or transaction.
var ErrNotFound = errors.New("not found")

// ErrHeaderAlone says that a block has its header here, and not its transactions and receipts. A Store has none
// such: it is of blocks of another node.
var ErrHeaderAlone = errors.New("the header alone is known")

// Store is an open store. One goroutine appends; any may read.
type Store struct {
	db  *pebble.DB
	dir string

	readOnly bool

	mu      sync.RWMutex
	head    Head
	history *History // nil: none is kept
	bad     error    // why the store stopped writing
}

// Head is the last block.
type Head struct {
	Number uint64
	Hash   common.Hash
}

// Keys. A number is of 8 bytes, big-endian, so that blocks are in their order.
const (
	blockKey       = "b" // + number: the block, in RLP
	receiptsKey    = "r" // + number: the receipts in RLP, as go-ethereum stores them
	hashKey        = "h" // + hash of a block: number
	transactionKey = "t" // + hash of a transaction: number, index of 4 bytes
	genesisKey     = "genesis"
	headKey        = "head" // number, hash
)

func numbered(prefix string, n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(prefix), n)
}

func hashed(prefix string, h common.Hash) []byte { return append([]byte(prefix), h[:]...) }

// Open opens the store in a folder, which it creates unless it only reads.
func Open(dir string, readOnly bool) (*Store, error) {
	db, err := OpenPebble(dir, readOnly, cacheBytes)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dir, err)
	}
	s := &Store{db: db, dir: dir, readOnly: readOnly}
	text, err := s.get([]byte(headKey))
	switch {
	case errors.Is(err, ErrNotFound):
		return s, nil
	case err == nil && len(text) != 8+common.HashLength:
		err = fmt.Errorf("%s: the head has %d bytes", dir, len(text))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.head = Head{binary.BigEndian.Uint64(text), common.BytesToHash(text[8:])}
	if err := s.loadHistory(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Close closes the store and settles its folder.
func (s *Store) Close() error {
	err := s.failed()
	if err = errors.Join(err, s.db.Close()); err != nil || s.readOnly {
		return err
	}
	return Settle(s.dir)
}

// get returns a copy of what is stored under a key.
func (s *Store) get(key []byte) ([]byte, error) {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileOf(err, s.dir), firstLine{err})
	}
	value = append([]byte(nil), value...)
	return value, closer.Close()
}

// Genesis returns the text that Begin was called with; ErrNotFound for a new store.
func (s *Store) Genesis() ([]byte, error) { return s.get([]byte(genesisKey)) }

// Begin stores a genesis and block 0.
func (s *Store) Begin(genesis []byte, block *types.Block) error {
	batch := s.db.NewBatch()
	defer batch.Close()
	batch.Set([]byte(genesisKey), genesis, nil)
	return s.append(batch, block, nil, nil, pebble.Sync)
}

// What a batch has room for from the start, in bytes: most blocks of transfers.
const (
	batchBytes     = 2 << 10
	perTransaction = 256
)

// Append stores a block, its receipts and indexes as the new head, and what it replaced in the state
// if that is kept; nil otherwise. It survives a crash of the process or the machine once Sync has
// returned; before that the last blocks may be lost, each with all of this.
func (s *Store) Append(block *types.Block, receipts types.Receipts, replaced *Replaced) error {
	if head := s.Head(); block.NumberU64() != head.Number+1 || block.ParentHash() != head.Hash {
		return fmt.Errorf("block %d (%x) does not follow the head %d (%x)", block.NumberU64(), block.Hash(), head.Number, head.Hash)
	}
	batch := s.db.NewBatchWithSize(batchBytes + perTransaction*len(block.Transactions()))
	defer batch.Close()
	history, err := s.addReplaced(batch, block.NumberU64(), replaced)
	if err != nil {
		return err
	}
	return s.append(batch, block, receipts, history, pebble.NoSync)
}

func (s *Store) append(batch *pebble.Batch, block *types.Block, receipts types.Receipts, history *History, o *pebble.WriteOptions) error {
	raw, err1 := rlp.EncodeToBytes(block)
	stored, err2 := encodeReceipts(receipts)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	number, hash := block.NumberU64(), block.Hash()
	at := numbered("", number)
	batch.Set(numbered(blockKey, number), raw, nil)
	batch.Set(numbered(receiptsKey, number), stored, nil)
	batch.Set(hashed(hashKey, hash), at, nil)
	for i, tx := range block.Transactions() {
		batch.Set(hashed(transactionKey, tx.Hash()), binary.BigEndian.AppendUint32(at[:8:8], uint32(i)), nil)
	}
	batch.Set([]byte(headKey), append(at[:8:8], hash[:]...), nil)
	return s.guard(func() error {
		s.mu.Lock()
		s.history = history // before records are removed: who has read then asks whether they were there
		s.mu.Unlock()
		return batch.Commit(o)
	}, func() { s.head = Head{number, hash} })
}

// Written returns how many bytes the store has written to disk since it was opened; see Written.
func (s *Store) Written() int64 { return Written(s.db) }

// Sync makes all that was appended durable.
func (s *Store) Sync() error {
	return s.guard(func() error { return s.db.LogData(nil, pebble.Sync) }, nil)
}

// Copy writes what was appended to a new folder, as a store of its own, most of it as links to the
// same files.
func (s *Store) Copy(dir string) error {
	return s.guard(func() error { return s.db.Checkpoint(dir, pebble.WithFlushedWAL()) }, nil)
}

// Head is the last block that was appended.
func (s *Store) Head() Head {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.head
}
