package main

import (
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"dyno/subjects/bounds/suite"
)

var replicas = suite.Entry{
	Name: "raft-bbolt", Family: "libraries", Truth: "wait", Kind: "disk", OrKind: "channel", Function: "main.(*replica).put",
	InWords: "each request is an entry of etcd's raft, whose one goroutine appends the ready entries to bbolt, waits for the disk, and applies them",
	Method:  "GET", Path: "/put", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		size := d.Between("value_bytes", 16<<10, 48<<10)
		return func() (*suite.Service, error) {
			r, err := newReplica(size)
			if err != nil {
				return nil, err
			}
			return suite.ServingUntil("GET /put", r.put, r.close), nil
		}
	},
}

// replica is the only member of a group: an entry is committed once its own log has it.
type replica struct {
	node    raft.Node
	log     *raft.MemoryStorage
	db      *bbolt.DB
	folder  string
	size    int
	next    atomic.Uint64
	stopped chan struct{}
	done    chan struct{}

	mu      sync.Mutex
	waiting map[uint64]chan struct{} // by the number of the entry
}

// entries is the bucket of the log.
var entries = []byte("entries")

func newReplica(size int) (*replica, error) {
	folder, err := os.MkdirTemp("", "libraries-")
	if err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(folder, "db"), 0o600, nil)
	if err == nil {
		err = db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket(entries)
			return err
		})
	}
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	log := raft.NewMemoryStorage()
	r := &replica{log: log, db: db, folder: folder, size: size, stopped: make(chan struct{}), done: make(chan struct{}), waiting: map[uint64]chan struct{}{}}
	r.node = raft.StartNode(&raft.Config{ID: 1, ElectionTick: 10, HeartbeatTick: 1, Storage: log,
		MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256, Logger: silent()}, []raft.Peer{{ID: 1}})
	go r.run()
	return r, nil
}

func silent() raft.Logger { return &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)} }

// put answers when the group has applied the entry.
func (r *replica) put(w http.ResponseWriter, req *http.Request) {
	n, applied := r.next.Add(1), make(chan struct{})
	r.mu.Lock()
	r.waiting[n] = applied
	r.mu.Unlock()
	entry := make([]byte, 8+r.size)
	binary.BigEndian.PutUint64(entry, n)
	if err := r.node.Propose(req.Context(), entry); err != nil {
		r.finish(n)
		answer(w, err)
		return
	}
	select {
	case <-applied:
		answer(w, nil)
	case <-req.Context().Done():
		r.finish(n)
	case <-r.done:
		answer(w, errors.New("no entry is kept any more"))
	}
}

// finish wakes the request that waits for an entry, if there is one.
func (r *replica) finish(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if applied, ok := r.waiting[n]; ok {
		close(applied)
		delete(r.waiting, n)
	}
}

// run keeps and applies what raft says is ready, until the replica stops or the log cannot be written.
func (r *replica) run() {
	defer close(r.done)
	defer r.node.Stop() // a put that proposes gets an error
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.node.Tick()
		case ready := <-r.node.Ready():
			if err := r.keep(ready); err != nil {
				log.Printf("libraries: %v", err)
				return
			}
			for _, e := range ready.CommittedEntries {
				r.apply(e)
			}
			r.log.Append(ready.Entries)
			r.node.Advance()
		case <-r.stopped:
			return
		}
	}
}

// keep writes the entries to the log on the disk.
func (r *replica) keep(ready raft.Ready) error {
	if len(ready.Entries) == 0 && !ready.MustSync {
		return nil
	}
	return r.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(entries)
		for _, e := range ready.Entries {
			text, err := proto.Marshal(e)
			if err != nil {
				return err
			}
			if err := b.Put(binary.BigEndian.AppendUint64(nil, e.GetIndex()), text); err != nil {
				return err
			}
		}
		return nil
	})
}

// apply does what a committed entry says.
func (r *replica) apply(e *raftpb.Entry) {
	switch {
	case e.GetType() == raftpb.EntryConfChange:
		var change raftpb.ConfChange
		if err := proto.Unmarshal(e.GetData(), &change); err == nil {
			r.node.ApplyConfChange(&change)
		}
	case len(e.GetData()) >= 8:
		r.finish(binary.BigEndian.Uint64(e.GetData()))
	}
}

func (r *replica) close() {
	close(r.stopped)
	<-r.done
	r.db.Close()
	os.RemoveAll(r.folder)
}
