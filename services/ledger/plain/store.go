package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// store is a Pebble database:
//
//	l INDEX    a ledger: its header, and of each transaction two lengths (4 bytes), blob, metadata
//	t ID       the index of a transaction's ledger, and its place there
//	ask        what was asked for, as JSON
//	next       the next missing ledger, going down, and the hash that it must have, if it is known
type store struct {
	db   *pebble.DB
	lock *pebble.Lock
}

var (
	keyAsk  = []byte("ask")
	keyNext = []byte("next")
)

func openStore(dir string) (*store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return nil, fmt.Errorf("the ledgers in %s are in use by another process: %w", dir, err)
	}
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}, Lock: lock})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the ledgers in %s: %w", dir, err), lock.Close())
	}
	return &store{db, lock}, nil
}

func (s *store) close() error { return errors.Join(s.db.Close(), s.lock.Close()) }

// quiet leaves out what Pebble says of its work; its errors are returned.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("the ledgers' database may be wrong, and cannot go on: "+format, args...))
}

func ledgerKey(index uint32) []byte { return binary.BigEndian.AppendUint32([]byte("l"), index) }

// ask is the range that is asked for, and its server.
type ask struct {
	Server   string `json:"server"`
	From, To uint32
	Anchor   string `json:"anchor,omitempty"`
}

// get returns a copy of a value; nil when there is none.
func (s *store) get(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return append([]byte{}, v...), nil
}

func (s *store) lastAsk() (a ask, found bool, err error) {
	v, err := s.get(keyAsk)
	if v == nil || err != nil {
		return a, false, err
	}
	return a, true, json.Unmarshal(v, &a)
}

// begin notes what is asked for, and that nothing of it is there yet.
func (s *store) begin(a ask) error {
	v, err := json.Marshal(a)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	b.Set(keyAsk, v, nil)
	b.Delete(keyNext, nil)
	return b.Commit(pebble.Sync)
}

// next returns where to go on.
func (s *store) next() (l link, found bool, err error) {
	v, err := s.get(keyNext)
	if err != nil || len(v) != 4+len(l.hash) {
		return l, false, err
	}
	return link{index: binary.BigEndian.Uint32(v), hash: hash(v[4:])}, true, nil
}

// put stores a proved ledger together with where to go on below it, durably.
func (s *store) put(l ledger, at link) error {
	b := s.db.NewBatch()
	defer b.Close()
	b.Set(ledgerKey(at.index), pack(l), nil)
	for i, t := range l.transactions {
		id := sum("TXN\x00", t.blob)
		b.Set(append([]byte("t"), id[:]...), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, at.index), uint32(i)), nil)
	}
	b.Set(keyNext, append(binary.BigEndian.AppendUint32(nil, at.index-1), at.parent[:]...), nil)
	return b.Commit(pebble.Sync)
}

// ledger returns one that is stored.
func (s *store) ledger(index uint32) (l ledger, found bool, err error) {
	v, err := s.get(ledgerKey(index))
	if v == nil || err != nil {
		return l, false, err
	}
	l, err = unpack(v)
	return l, true, err
}

// each goes through all ledgers in ascending order.
func (s *store) each(visit func(index uint32, l ledger) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte("l"), UpperBound: []byte("m")})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		l, err := unpack(append([]byte{}, it.Value()...))
		if err == nil {
			err = visit(binary.BigEndian.Uint32(it.Key()[1:]), l)
		}
		if err != nil {
			return err
		}
	}
	return it.Error()
}

func pack(l ledger) []byte {
	out := append([]byte{}, l.header...)
	for _, t := range l.transactions {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(t.blob))), t.blob...)
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(t.meta))), t.meta...)
	}
	return out
}

func unpack(b []byte) (l ledger, err error) {
	if len(b) < headerSize {
		return l, errors.New("a stored ledger is shorter than a header")
	}
	l.header, b = b[:headerSize], b[headerSize:]
	take := func() (part []byte) {
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b)) {
			err = errors.New("a stored ledger is cut off")
			return nil
		}
		n := 4 + int(binary.BigEndian.Uint32(b))
		part, b = b[4:n], b[n:]
		return part
	}
	for len(b) > 0 {
		t := transaction{take(), nil}
		if err == nil {
			t.meta = take()
		}
		if err != nil {
			return l, err
		}
		l.transactions = append(l.transactions, t)
	}
	return l, nil
}
