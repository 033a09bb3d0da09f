package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dyno/parts/flock"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// logFile is the file of all that the node has promised, in RLP: an accepted transaction is a
// string, as it came, and a sealed block is a list. It is locked while it is open.
type logFile struct {
	file    *os.File
	pending []byte // what sync writes
}

// openLog replays every record, in order, and goes on behind the last one.
func openLog(dir string, tx func(*types.Transaction) error, block func(*types.Block) error) (*logFile, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "chain.rlp")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	if err = flock.Lock(file); err != nil {
		err = fmt.Errorf("locking %s, which no other process may use: %w", path, err)
	} else if err = replay(file, tx, block); err == nil {
		var folder *os.File
		if folder, err = os.Open(dir); err == nil {
			err = errors.Join(folder.Sync(), folder.Close()) // on the disk, it holds the file's name
		}
	}
	if err != nil {
		file.Close()
	}
	return &logFile{file: file}, err
}

// replay reads the file and cuts off what a process that died had not written whole.
func replay(file *os.File, tx func(*types.Transaction) error, block func(*types.Block) error) error {
	all, err := os.ReadFile(file.Name())
	if err != nil {
		return err
	}
	for rest := all; len(rest) > 0; {
		at := len(all) - len(rest)
		kind, content, after, err := rlp.Split(rest)
		if err != nil {
			return file.Truncate(int64(at))
		}
		b, t := new(types.Block), new(types.Transaction)
		if kind == rlp.List {
			if err = rlp.DecodeBytes(rest[:len(rest)-len(after)], b); err == nil {
				err = block(b)
			}
		} else if err = t.UnmarshalBinary(content); err == nil {
			err = tx(t)
		}
		if err != nil {
			return fmt.Errorf("%s, the record at byte %d is damaged (%w): restore the folder from a backup", file.Name(), at, err)
		}
		rest = after
	}
	return nil
}

// add appends a transaction's bytes or a block, which are on the disk after sync.
func (l *logFile) add(v any) error {
	record, err := rlp.EncodeToBytes(v)
	l.pending = append(l.pending, record...)
	return err
}

// sync puts on the disk what was added.
func (l *logFile) sync() error {
	if len(l.pending) == 0 {
		return nil
	}
	_, err := l.file.Write(l.pending)
	if l.pending = l.pending[:0]; err != nil {
		return err
	}
	return l.file.Sync()
}
