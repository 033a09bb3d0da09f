package chain

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"dyno/parts/output"
	"dyno/parts/progress"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/journal"
	"dyno/services/chain/testchain"
)

// Export writes the blocks of a data folder from block 1 on, as geth export does, to a file that is
// complete or absent, or to stdout if the path is "-"; compressed if the path ends in .gz. Progress
// goes to stderr.
func Export(ctx context.Context, dir, path string, stdout, stderr io.Writer) (err error) {
	lock, err := blockchain.Lock(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	c, err := openWhole(ctx, dir, nil, blockchain.Options{}, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	blocks := c.Blocks
	var done atomic.Int64
	last := blocks.Head().Number
	if path != "-" { // stdout is the same terminal, or a program with its own progress display
		bar := progress.Show(stderr, "blocks", func() progress.State { return progress.State{Done: done.Load(), Total: int64(last)} })
		defer bar.Close()
	}
	block := func(n uint64) ([]byte, error) {
		raw, err := blocks.RawBlock(n)
		done.Store(int64(n))
		return raw, err
	}
	return output.To(path, stdout, func(w io.Writer) error {
		if filepath.Ext(path) != ".gz" {
			return blockchain.Export(ctx, w, 1, last, block)
		}
		zipped := gzip.NewWriter(w)
		return errors.Join(blockchain.Export(ctx, zipped, 1, last, block), zipped.Close())
	})
}

// Check checks a data folder, and shows its progress on stderr.
func Check(ctx context.Context, dir string, stderr io.Writer) (r blockchain.Report, err error) {
	lock, err := blockchain.Lock(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if testchain.Is(dir) {
		return checkTestChain(ctx, dir)
	}
	var done, total atomic.Int64
	bar := progress.Show(stderr, "blocks", func() progress.State { return progress.State{Done: done.Load(), Total: total.Load()} })
	defer bar.Close()
	tail := blockchain.Tail{File: filepath.Join(dir, journal.Folder), Replay: func(ctx context.Context, c *blockchain.Executed) error { return replay(ctx, dir, c) }}
	return blockchain.Check(ctx, dir, tail, func(number, of uint64) {
		done.Store(int64(number))
		total.Store(int64(of))
	})
}

// replay holds the journal of a data folder, if there is one, against the chain that Check
// executes.
func replay(ctx context.Context, dir string, c *blockchain.Executed) error {
	j, err := openJournal(dir)
	if j == nil || err != nil {
		return err
	}
	if c.Whole() {
		_, err = j.Replay(ctx, c)
	} else {
		err = j.Verify(ctx)
	}
	return errors.Join(err, j.Close())
}

// openJournal opens the journal of a data folder; nil: it has none.
func openJournal(dir string) (*journal.Journal, error) {
	path := filepath.Join(dir, journal.Folder)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return journal.Open(path, journal.Options{})
}
