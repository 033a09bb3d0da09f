package main

import (
	"fmt"
	"os"
	"path/filepath"
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
		s.seen.add(n.seenAs())
	}
	if e.Last == 0 {
		return true
	}
	ok := e.Last >= s.seq
	s.seq, s.seen = e.Last, seen{}
	for _, one := range e.Seen {
		s.seen.add(one)
	}
	return ok
}
