package main

import (
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"dyno/subjects/bounds/suite"
)

var journals = suite.Entry{
	Name: "fsync", Family: "wait", Truth: "wait", Kind: "disk", Function: "main.(*journal).write",
	InWords: "each request writes a record to one of a few files and waits until the disk has it",
	Method:  "GET", Path: "/append", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		files, record := d.Between("files", 1, 4), d.Between("record_bytes", 256<<10, 768<<10)
		return func() (*suite.Service, error) {
			j, err := newJournal(files, record)
			if err != nil {
				return nil, err
			}
			return j.warn(suite.ServingUntil("GET /append", j.append, j.close))
		}
	},
}

// maxJournal limits a journal's file, in bytes; then the oldest records are overwritten.
const maxJournal = 64 << 20

// journal keeps records in files without names: they are gone with the process.
type journal struct {
	files  []*os.File
	record []byte
	next   atomic.Int64
}

func newJournal(files, record int) (*journal, error) {
	j := &journal{record: make([]byte, record)}
	for range files {
		f, err := unnamed()
		if err != nil {
			j.close()
			return nil, err
		}
		j.files = append(j.files, f)
	}
	return j, nil
}

// unnamed opens a file in the folder for temporary files (TMPDIR) that is gone when it is closed.
func unnamed() (*os.File, error) {
	f, err := os.CreateTemp("", "bounds-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (j *journal) append(w http.ResponseWriter, _ *http.Request) {
	n := j.next.Add(1)
	if err := j.write(n); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "record %d\n", n)
}

func (j *journal) write(n int64) error {
	f := j.files[n%int64(len(j.files))]
	if _, err := f.WriteAt(j.record, n*int64(len(j.record))%maxJournal); err != nil {
		return err
	}
	return f.Sync()
}

func (j *journal) close() {
	for _, f := range j.files {
		f.Close()
	}
}

// leastSync is the shortest time of a small synced write to a device: a shorter one means a file
// system in memory, or a disk with a cache as fast as memory.
const leastSync = 50 * time.Microsecond

// warn adds a warning to the service if writes here do not wait for a disk.
func (j *journal) warn(s *suite.Service) (*suite.Service, error) {
	fastest := time.Hour
	one := &journal{files: j.files, record: []byte{0}} // a whole record takes time even in memory
	for n := range int64(5) {
		began := time.Now()
		if err := one.write(n); err != nil {
			s.Close()
			return nil, err
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest < leastSync {
		s.Warning = fmt.Sprintf("a byte with fsync takes %v in %s: too little for the disk to be the bound; set TMPDIR to a folder on a disk", fastest, os.TempDir())
	}
	return s, nil
}

var secretary = suite.Entry{
	Name: "fsync-writer", Family: "wait", Truth: "wait", Kind: "disk", OrKind: "channel", Function: "main.(*minutes).note",
	InWords: "each request hands its record to one goroutine, which writes one after the other and waits until the disk has it",
	Method:  "GET", Path: "/note", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		record, queue := d.Between("record_bytes", 256, 4096), d.Between("queue", 1, 16)
		return func() (*suite.Service, error) {
			j, err := newJournal(1, record)
			if err != nil {
				return nil, err
			}
			m := newMinutes(j, queue)
			return j.warn(suite.ServingUntil("GET /note", m.note, m.close))
		}
	},
}

// minutes has one goroutine that writes all records. close ends it; as in printer, requests that
// were cut off then keep waiting.
type minutes struct {
	journal    *journal
	queue      chan chan error // never closed
	stop, done chan struct{}
}

func newMinutes(j *journal, queue int) *minutes {
	m := &minutes{j, make(chan chan error, queue), make(chan struct{}), make(chan struct{})}
	go m.keep()
	return m
}

func (m *minutes) keep() {
	defer close(m.done)
	for n := int64(0); ; n++ {
		select {
		case <-m.stop:
			return
		case written := <-m.queue:
			written <- m.journal.write(n)
		}
	}
}

func (m *minutes) note(w http.ResponseWriter, _ *http.Request) {
	written := make(chan error, 1)
	m.queue <- written
	if err := <-written; err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "noted")
}

func (m *minutes) close() {
	close(m.stop)
	<-m.done
	m.journal.close()
}
