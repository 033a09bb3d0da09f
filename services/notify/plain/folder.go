package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The data folder holds LOCK and one folder STATE-N with two files of JSON lines. Every start reads STATE-N,
// writes what still matters to STATE-N+1, and goes on there; the rename that gives it its name is the moment
// from which it counts.
const (
	statePrefix = "state-"
	logName     = "notices.jsonl"
	journalName = "journal.jsonl"
)

// entry is one line of the log: the notices of one POST, or what a rewritten log begins with.
type entry struct {
	Notices []*notice `json:"notices,omitempty"`
	Last    uint64    `json:"last,omitempty"` // number given; after the notices that were kept
	Seen    []seenID  `json:"seen,omitempty"`
}

// lockFolder makes the folder and takes it for this process.
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("data folder: %w; choose another with --data", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := flock(lock); err != nil {
		lock.Close()
		return nil, fmt.Errorf("data folder %s is in use by another process (%w); stop that or choose another folder with --data", dir, err)
	}
	return lock, nil
}

// open reads the newest state and rewrites it.
func (s *server) open(dir string) error {
	newest, err := findState(dir)
	if err != nil {
		return err
	}
	if newest > 0 {
		if err := s.read(statePath(dir, newest)); err != nil {
			return err
		}
	}
	if err := s.rewrite(dir, newest+1); err != nil {
		return fmt.Errorf("rewriting data folder %s: %w", dir, err)
	}
	if newest > 0 {
		return os.RemoveAll(statePath(dir, newest))
	}
	return nil
}

func statePath(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("%s%06d", statePrefix, n))
}

// findState returns the number of the newest state, 0 for a new folder, and removes what an interrupted
// start left behind.
func findState(dir string) (newest int, err error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range found {
		n := 0
		switch {
		case f.Name() == "LOCK" || f.Name() == "lost+found":
		case strings.HasPrefix(f.Name(), statePrefix) && strings.HasSuffix(f.Name(), ".new"):
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return 0, err
			}
		default:
			if _, err := fmt.Sscanf(f.Name(), statePrefix+"%d", &n); err != nil {
				return 0, fmt.Errorf("folder %s holds %s, so it is not this program's; choose an empty one with --data", dir, f.Name())
			}
			newest = max(newest, n)
		}
	}
	return newest, nil
}

// read applies the notices and events of a state in the order in which they happened.
func (s *server) read(dir string) error {
	logFile, err := os.Open(filepath.Join(dir, logName))
	if err != nil {
		return err
	}
	defer logFile.Close()
	journalFile, err := os.Open(filepath.Join(dir, journalName))
	if err != nil {
		return err
	}
	defer journalFile.Close()
	log, err := readLines(logFile)
	if err != nil {
		return err
	}
	journal, err := readLines(journalFile)
	if err != nil {
		return err
	}
	for {
		var e event
		more, err := journal.next(&e)
		if err != nil {
			return err
		}
		for !more || s.seq < e.At {
			var lines entry
			if ok, err := log.next(&lines); err != nil {
				return err
			} else if !ok {
				break
			}
			if !s.applyEntry(lines) {
				return fmt.Errorf("%s, line %d: a notice is missing or out of order; restore the folder from a backup", log.path, log.line)
			}
		}
		if !more {
			return nil
		}
		if e.Do == put && e.Change == nil || e.Do == count && e.Counts == nil || e.Do == died && e.Letter == nil {
			return fmt.Errorf("%s, line %d: %q says too little; restore the folder from a backup", journal.path, journal.line, e.Do)
		}
		s.apply(e)
	}
}

// applyEntry is false for a line that this program has not written.
func (s *server) applyEntry(e entry) bool {
	for _, n := range e.Notices {
		if n == nil || n.Seq <= s.seq {
			return false
		}
		s.admit(n)
		s.seen.add(n.ID, n.Seq)
	}
	if e.Last == 0 {
		return true
	}
	ok := e.Last >= s.seq
	s.seq, s.seen = e.Last, seen{}
	for _, one := range e.Seen {
		s.seen.add(one.ID, one.Seq)
	}
	return ok
}

// rewrite writes what is known to a new state and leaves its files open for more.
func (s *server) rewrite(dir string, n int) (err error) {
	fresh := statePath(dir, n) + ".new"
	if err := os.Mkdir(fresh, 0o750); err != nil {
		return err
	}
	if s.log, err = createLines(filepath.Join(fresh, logName)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.log.close()
		}
	}()
	if s.journal, err = createLines(filepath.Join(fresh, journalName)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.journal.close()
		}
	}()
	err = errors.Join(s.writeLog(), s.writeJournal(), s.log.sync(), s.journal.sync(), syncFolder(fresh))
	if err == nil {
		err = os.Rename(fresh, statePath(dir, n))
	}
	if err == nil {
		err = syncFolder(dir)
	}
	return err
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeLog writes the notices that somebody has not got, or that are dead letters.
func (s *server) writeLog() error {
	kept := map[uint64]*notice{}
	keep := func(n *notice, sub *subscription) {
		if kept[n.Seq] == nil {
			n.To = nil // for whom it still matters
			kept[n.Seq] = n
		}
		n.To = append(n.To, sub.ID)
	}
	for _, sub := range s.subs {
		for _, dead := range sub.letters {
			keep(dead.Notice, sub)
		}
		for _, l := range sub.lanes {
			for _, it := range l.items {
				if _, replayed := sub.findLetter(it.notice.Seq); !replayed {
					keep(it.notice, sub)
				}
			}
		}
	}
	for _, n := range slices.SortedFunc(maps.Values(kept), func(a, b *notice) int { return cmp.Compare(a.Seq, b.Seq) }) {
		if err := s.log.append(entry{Notices: []*notice{n}}); err != nil {
			return err
		}
	}
	if s.seq == 0 {
		return nil
	}
	return s.log.append(entry{Last: s.seq, Seen: s.seen.list()})
}

// writeJournal writes the events that lead to what is known.
func (s *server) writeJournal() error {
	var events []event
	for _, sub := range s.subs {
		events = append(events, event{Do: put, Change: &sub.definition}) // before any notice
	}
	now := func(e event) {
		e.At = s.seq // after all that were kept
		events = append(events, e)
	}
	for _, sub := range s.subs {
		for _, dead := range sub.letters {
			now(event{Do: died, Sub: sub.ID, Seq: dead.Notice.Seq, Letter: dead})
		}
		for _, l := range sub.lanes {
			for _, it := range l.items {
				if _, replayed := sub.findLetter(it.notice.Seq); replayed {
					now(event{Do: replay, Sub: sub.ID, Seq: it.notice.Seq})
				}
			}
			if l.tries > 0 {
				now(event{Do: failed, Sub: sub.ID, Seq: l.items[0].notice.Seq, Tries: l.tries, Next: l.next})
			}
		}
		kept := sub.counts
		kept.Refused = 0
		now(event{Do: count, Sub: sub.ID, Counts: &kept})
	}
	kept := s.departed
	kept.Refused = 0
	now(event{Do: count, Counts: &kept})
	for _, e := range events {
		if err := s.journal.append(e); err != nil {
			return err
		}
	}
	return nil
}
