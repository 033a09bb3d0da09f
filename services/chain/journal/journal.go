// Package journal is the log of what a node has promised: each transaction that it accepted, and
// each block that it sealed. A record is durable before an answer names what is in it. After a
// crash the journal says which blocks the store may have lost, and which transactions wait.
//
//	j, err := journal.Open(dir, journal.Options{})
//	waiting, err := j.Replay(ctx, chain)      // appends the blocks that chain lacks
//	err = j.Accept(raws...)                   // durable when it returns
//	err = j.Seal(block)                       // of accepted transactions; durable, too
//	err = j.Checkpoint(head, waiting)         // now and then: see Size
//
// It is not for reading the chain, nor does it judge what is appended. Over parts/wal, whose
// goroutine Close ends, it starts none.
package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/parts/vfs"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
)

// Folder is where the journal is in a data folder.
const Folder = "journal"

// reserve is what the journal may write on a full disk, in bytes: a checkpoint of some 20,000
// waiting transactions, after which it takes less room than before.
const reserve = 4 << 20

// checkpointBatch bounds an append of a checkpoint, in bytes.
const checkpointBatch = 1 << 20

// Errors that callers branch on.
var (
	// ErrFull means that nothing was stored because the disk is full; a later append may succeed.
	ErrFull = wal.ErrFull
	// ErrFailed means that the journal stores nothing more until it is opened again.
	ErrFailed = wal.ErrFailed
	// ErrClosed means that the journal was closed.
	ErrClosed = wal.ErrClosed
	// ErrDamaged means that records are lost.
	ErrDamaged = errors.New("the journal is damaged")
)

// Options of a journal. The zero value is the documented default.
type Options struct {
	FS  vfs.FS       // nil: the operating system's
	Log *slog.Logger // receives reports of damage; nil: slog.Default
}

// Journal is an open journal. Its methods may be called from any goroutine, but Replay comes first.
type Journal struct {
	dir   string
	log   *wal.Log
	size  atomic.Int64
	count atomic.Uint64
}

// Open opens the journal in a folder, which it creates.
func Open(dir string, o Options) (*Journal, error) {
	files, err := segment.Open(dir, segment.Options{FS: o.FS, Log: o.Log, Reserve: reserve})
	if errors.Is(err, wal.ErrDamaged) {
		return nil, damaged(dir, err)
	}
	if err != nil {
		return nil, err
	}
	return &Journal{dir: dir, log: wal.New(files, wal.Options{Commit: wal.Group})}, nil
}

// damaged says what a reader of the error can do.
func damaged(dir string, err error) error {
	return fmt.Errorf("%w: %w; restore the data folder from a backup, or move %s away: then transactions that were accepted and the last blocks may be lost",
		ErrDamaged, err, dir)
}

// Accept appends transactions in their canonical form, all or none.
func (j *Journal) Accept(raws ...[]byte) error { return j.append(encodeTransactions(raws)) }

// Seal appends a block, whose transactions were accepted.
func (j *Journal) Seal(block *types.Block) error {
	hashes := make([]common.Hash, len(block.Transactions()))
	for i, tx := range block.Transactions() {
		hashes[i] = tx.Hash()
	}
	record, err := encode(kindBlock, sealed{block.Header(), hashes})
	if err != nil {
		return err
	}
	return j.append([][]byte{record})
}

func (j *Journal) append(batch [][]byte) error {
	size := 0
	for _, record := range batch {
		size += len(record)
	}
	if _, err := j.log.Append(batch, nil); err != nil {
		return err
	}
	j.size.Add(int64(size))
	j.count.Add(uint64(len(batch)))
	return nil
}

// Checkpoint appends the transactions that wait again, and drops the records before. The caller has
// made the blocks up to head durable elsewhere, and seals none meanwhile. waiting is called once:
// it returns all transactions whose Accept has begun and that are in no block. Others may be
// accepted meanwhile. A crash at any moment loses nothing.
func (j *Journal) Checkpoint(head uint64, waiting func() [][]byte) error {
	if err := j.log.Roll(); err != nil { // so that all records before can be removed
		return fmt.Errorf("checkpoint of the journal: %w", err)
	}
	_, begin := j.log.Bounds()
	size := j.size.Load()
	err := j.repeat(waiting())
	if err == nil {
		var record []byte
		if record, err = encode(kindCheckpoint, checkpoint{begin, head}); err == nil {
			err = j.append([][]byte{record})
		}
	}
	if err == nil {
		err = j.log.Trim(begin)
	}
	if err != nil {
		return fmt.Errorf("checkpoint of the journal: %w", err)
	}
	j.size.Add(-size)
	return nil
}

// repeat accepts transactions in appends of a bounded size.
func (j *Journal) repeat(raws [][]byte) error {
	for len(raws) > 0 {
		n, size := 0, 0
		for n < len(raws) && (n == 0 || size+len(raws[n]) <= checkpointBatch) {
			size += len(raws[n])
			n++
		}
		if err := j.Accept(raws[:n]...); err != nil {
			return err
		}
		raws = raws[n:]
	}
	return nil
}

// Size is the bytes of records since the last checkpoint.
func (j *Journal) Size() int64 { return j.size.Load() }

// Low reports whether the disk was full and the journal lives on its reserve, until the next
// checkpoint.
func (j *Journal) Low() bool { return j.log.Low() }

// Syncs is the number of syncs of the disk since the journal was opened, and Records that of
// records.
func (j *Journal) Syncs() uint64   { return j.log.Stats().Syncs }
func (j *Journal) Records() uint64 { return j.count.Load() }

// Close makes all records durable and closes the journal.
func (j *Journal) Close() error { return j.log.Close() }
