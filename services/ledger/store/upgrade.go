package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/parts/xrpl"
)

// oldFolder is format 1's folder, a pebble database: under l the ledger as in ledger.go, h, t and a
// as today, under e and E the evidence and its answers, under m/ format, accounts, stored and
// progress.
const oldFolder = "ledgers"

// Upgrade converts a store of format 1, which needs the same room again until the next Open removes
// the old one. It starts again after an interruption.
func Upgrade(dir string, from int) (err error) {
	if from != 1 {
		return fmt.Errorf("there is no format %d", from)
	}
	for _, begun := range []string{packsFolder, indexFolder, evidenceFolder} {
		if err := vfs.Default.RemoveAll(filepath.Join(dir, begun)); err != nil {
			return err
		}
	}
	o := pebbleOptions(vfs.Default, true)
	o.DisableWAL = false
	const hint = "sync into a new folder"
	db, err := openPebble(filepath.Join(dir, oldFolder), o)
	if err != nil {
		return fmt.Errorf("%w; %s", err, hint)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	old := &older{db: db}
	if format := old.text("format"); format != "1" {
		return errors.Join(old.err, fmt.Errorf("%s is damaged: no value in it can be read; %s", filepath.Join(dir, oldFolder), hint))
	}
	s, err := Open(dir, Options{Accounts: old.text("accounts"), Compression: "s2"})
	if err != nil {
		return err
	}
	old.Store = s
	defer func() { err = errors.Join(err, s.Close()) }()
	err = errors.Join(old.err, old.evidence(), old.ledgers())
	if err == nil && len(s.Stored()) == 0 && db.Metrics().WAL.Size+db.Metrics().WAL.ObsoletePhysicalSize > emptyLog {
		err = fmt.Errorf("%s is damaged: it has a log, and no ledger in it can be read; %s", filepath.Join(dir, oldFolder), hint)
	}
	return err
}

// emptyLog is the maximum size in bytes of the log of a store without ledgers.
const emptyLog = 4 << 10

type older struct {
	*Store
	db  *pebble.DB
	err error // of text
}

func (o *older) text(name string) string {
	value, closer, err := o.db.Get(metaKey(name))
	if errors.Is(err, pebble.ErrNotFound) {
		return ""
	}
	if err != nil {
		o.err = errors.Join(o.err, err)
		return ""
	}
	defer closer.Close()
	return string(value)
}

func (o *older) ledgers() error {
	var p Progress
	if text := o.text("progress"); text != "" {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return fmt.Errorf("progress is damaged: %w", err)
		}
	}
	var batch []*xrpl.Ledger
	err := o.each('l', func(_, value []byte) error {
		r, err := parseRecord(value)
		if err != nil {
			return err
		}
		l := new(xrpl.Ledger)
		if err := o.into(r, l); err != nil {
			return err
		}
		if batch = append(batch, l); len(batch) < 64 {
			return nil
		}
		err = o.Append(batch, p)
		batch = batch[:0]
		return err
	})
	if err != nil || o.err != nil {
		return errors.Join(err, o.err)
	}
	return o.Append(batch, p)
}

func (o *older) evidence() error {
	return o.each('e', func(key, value []byte) error {
		var e Evidence
		if err := json.Unmarshal(value, &e); err != nil {
			return err
		}
		compressed, closer, err := o.db.Get(binary.BigEndian.AppendUint64([]byte{'E'}, e.Sequence))
		if err != nil {
			return err
		}
		defer closer.Close()
		answer, err := o.decoder.DecodeAll(compressed, nil)
		if err != nil {
			return err
		}
		return o.shelve(e, answer)
	})
}

func (o *older) each(kind byte, visit func(key, value []byte) error) error {
	it, err := o.db.NewIter(bounds(kind))
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		err = visit(append([]byte(nil), it.Key()...), append([]byte(nil), it.Value()...))
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return fmt.Errorf("%c: %w", kind, err)
	}
	return nil
}
