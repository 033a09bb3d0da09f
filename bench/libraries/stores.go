package main

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"go.etcd.io/bbolt"

	"dyno/subjects/bounds/suite"
)

// put is a store's write of one key that returns when the disk has it.
type put func(key, value []byte) error

// storing returns the service that writes one value for each request, under the next key, into
// the store that open opens in a folder of its own.
func storing(size int, open func(folder string) (put, func() error, error), page func(*writer) http.HandlerFunc) (*suite.Service, error) {
	folder, err := os.MkdirTemp("", "libraries-")
	if err != nil {
		return nil, err
	}
	put, closeStore, err := open(folder)
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	w := &writer{put: put, value: make([]byte, size)}
	return suite.ServingUntil("GET /put", page(w), func() {
		closeStore() // a benchmark's data: an error on the way out loses nothing
		os.RemoveAll(folder)
	}), nil
}

// writer writes the same value under one key after the other.
type writer struct {
	put   put
	value []byte
	next  atomic.Uint64
}

func (w *writer) write() error {
	return w.put(binary.BigEndian.AppendUint64(nil, w.next.Add(1)), w.value)
}

// answer answers a request with the outcome of its write.
func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "written")
}

var shelf = suite.Entry{
	Name: "bbolt", Family: "libraries", Truth: "wait", Also: []string{"lock"}, Kind: "disk", OrKind: "mutex", Function: "main.(*writer).shelve",
	InWords: "each request is a transaction of bbolt: one at a time, and each waits until the disk has its pages",
	Method:  "GET", Path: "/put", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		size := d.Between("value_bytes", 100, 4000)
		return func() (*suite.Service, error) {
			return storing(size, openBolt, func(w *writer) http.HandlerFunc { return w.shelve })
		}
	},
}

func (w *writer) shelve(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.write()) }

var binder = suite.Entry{
	Name: "bbolt-batch", Family: "libraries", Truth: "wait", Also: []string{"lock"}, Kind: "channel", OrKind: "mutex", Function: "main.(*writer).bind",
	InWords: "each request is a part of a batch of bbolt: a goroutine for each batch waits until the disk has its pages",
	Method:  "GET", Path: "/put", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		size := d.Between("value_bytes", 100, 4000)
		return func() (*suite.Service, error) {
			return storing(size, openBatches, func(w *writer) http.HandlerFunc { return w.bind })
		}
	},
}

func (w *writer) bind(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.write()) }

func openBolt(folder string) (put, func() error, error) { return opened(folder, (*bbolt.DB).Update) }

func openBatches(folder string) (put, func() error, error) { return opened(folder, (*bbolt.DB).Batch) }

// opened opens a store of bbolt; transact runs each of its transactions.
func opened(folder string, transact func(*bbolt.DB, func(*bbolt.Tx) error) error) (put, func() error, error) {
	db, err := bbolt.Open(filepath.Join(folder, "db"), 0o600, nil)
	if err != nil {
		return nil, nil, err
	}
	values := []byte("values")
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket(values); return err })
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return func(key, value []byte) error {
		return transact(db, func(tx *bbolt.Tx) error { return tx.Bucket(values).Put(key, value) })
	}, db.Close, nil
}

var cellar = suite.Entry{
	Name: "badger", Family: "libraries", Truth: "wait", Kind: "disk", OrKind: "channel", Function: "main.(*writer).store",
	InWords: "each request is a transaction of Badger, whose goroutine writes those of a moment together and waits until the disk has them",
	Method:  "GET", Path: "/put", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		size := d.Between("value_bytes", 100, 1000)
		return func() (*suite.Service, error) {
			return storing(size, openBadger, func(w *writer) http.HandlerFunc { return w.store })
		}
	},
}

func (w *writer) store(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.write()) }

func openBadger(folder string) (put, func() error, error) {
	db, err := badger.Open(badger.DefaultOptions(folder).WithSyncWrites(true).WithLogger(nil))
	if err != nil {
		return nil, nil, err
	}
	return func(key, value []byte) error {
		return db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) })
	}, db.Close, nil
}
