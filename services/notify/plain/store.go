package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"dyno/parts/flock"
	"dyno/parts/refusal"
)

// lineFile is a file of JSON lines, read once and then appended to, until an error.
type lineFile struct {
	mu     sync.Mutex
	file   *os.File
	failed error
	lines  *bufio.Reader
	whole  int64 // bytes of the lines that were read
}

func openLines(path string) (*lineFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o640)
	return &lineFile{file: f, lines: bufio.NewReader(f)}, err
}

// next reads a line into v; false at the end, where it cuts off half a line of a process that died.
func (f *lineFile) next(v any) (bool, error) {
	text, err := f.lines.ReadBytes('\n')
	if err == io.EOF {
		return false, f.file.Truncate(f.whole)
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return false, fmt.Errorf("%s, the line at byte %d is damaged (%w): restore the folder from a backup", f.file.Name(), f.whole, err)
	}
	f.whole += int64(len(text))
	return true, nil
}

// append writes a line. The kernel has it on return, the disk after sync.
func (f *lineFile) append(v any) error {
	line, _ := json.Marshal(v) // notices and events can always be written
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		_, f.failed = f.file.Write(append(line, '\n'))
	}
	return f.failed
}

// sync puts on the disk what was appended.
func (f *lineFile) sync() error {
	err := f.file.Sync()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = cmp.Or(f.failed, err)
	return f.failed
}

// open locks the data folder, reads what the last process left there, and goes on behind that.
func (s *server) open(dir string) error {
	err := os.MkdirAll(dir, 0o750)
	if err == nil {
		s.lock, err = os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR|os.O_CREATE, 0o640)
	}
	if err == nil {
		err = flock.Lock(s.lock)
	}
	if err != nil {
		return fmt.Errorf("locking %s, which no other process may use: %w", dir, err)
	}
	if s.log, err = openLines(filepath.Join(dir, "notices.jsonl")); err == nil {
		s.journal, err = openLines(filepath.Join(dir, "journal.jsonl"))
	}
	if err == nil {
		err = s.read()
	}
	folder, missing := os.Open(dir)
	if err = errors.Join(err, missing); err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close()) // on the disk, it holds the files' names
}

// read applies notices and events in the order in which they happened.
func (s *server) read() error {
	for {
		var e event
		more, err := s.journal.next(&e)
		for err == nil && (!more || s.seq < e.At) {
			var accepted []*notice
			var ok bool
			if ok, err = s.log.next(&accepted); !ok {
				break
			}
			for _, n := range accepted {
				if n == nil || n.Seq <= s.seq {
					return fmt.Errorf("%s holds a notice out of order: restore the folder from a backup", s.log.file.Name())
				}
				s.admit(n)
			}
		}
		if err != nil || !more {
			return err
		}
		s.apply(e)
	}
}

// accept numbers the notices that are new, stores them and sets them in motion.
func (s *server) accept(notices []*notice) (all []taken, fresh, deliveries int, err error) {
	s.changes.Lock()
	defer s.changes.Unlock()
	all, accepted, deliveries, err := s.number(notices)
	if err != nil || len(accepted) == 0 {
		return all, 0, 0, err
	}
	if err = s.log.append(accepted); err == nil {
		err = s.log.sync()
	}
	if err != nil {
		return nil, 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range accepted {
		s.admit(n)
	}
	return all, len(accepted), deliveries, nil
}

// number gives numbers and subscriptions to new notices, or refuses all. The caller holds changes.
func (s *server) number(notices []*notice) (all []taken, accepted []*notice, deliveries int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, bytes := time.Now().UTC(), 0
	here := map[string]seenID{} // in this request
	for _, n := range notices {
		was, known := s.seen.by[n.ID]
		if !known {
			was, known = here[n.ID]
		}
		if !known {
			n.Seq, n.Accepted = s.seq+uint64(len(accepted))+1, now
			was = n.seenAs()
			here[n.ID] = was
			accepted = append(accepted, n)
			for _, sub := range s.subs {
				n.To = append(n.To, sub.ID)
				bytes += n.size()
			}
			deliveries += len(n.To)
		}
		if was.hash != n.hash() {
			return nil, nil, 0, refusal.New(http.StatusConflict, "id %q stands for a notice with another key, type or payload; give this one an id of its own", n.ID)
		}
		all = append(all, taken{n.ID, was.seq, known})
	}
	if max(s.lanes, s.oldest.Len())+deliveries > s.limits.pending || s.bytes+bytes > s.limits.bytes {
		return nil, nil, 0, refusal.New(http.StatusTooManyRequests, "%d notices wait to be delivered; try again later, or send fewer together", s.oldest.Len())
	}
	return all, accepted, deliveries, nil
}

const maxSeen = 100_000 // ids

// seen remembers the last ids, to recognize a notice that comes again.
type seen struct {
	by   map[string]seenID
	ring []seenID // the oldest is at from
	from int
}

type seenID struct {
	id        string
	seq, hash uint64 // of the notice
}

func (n *notice) seenAs() seenID { return seenID{n.ID, n.Seq, n.hash()} }

func (s *seen) add(one seenID) {
	if len(s.ring) < maxSeen {
		s.ring = append(s.ring, one)
	} else {
		delete(s.by, s.ring[s.from].id)
		s.ring[s.from] = one
		s.from = (s.from + 1) % maxSeen
	}
	s.by[one.id] = one
}
