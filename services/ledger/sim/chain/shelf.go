package chain

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// shelf keeps rendered answers until it is closed: in memory up to a limit, then in a file.
type shelf struct {
	mu     sync.Mutex
	memory int64    // bytes that may still be used
	file   *os.File // nil until needed; already unlinked
	end    int64    // of the file
}

// maxFile bounds the file, in bytes: about 350,000 ledgers of 90 transactions.
const maxFile = 64 << 30

type place struct {
	memory []byte
	at     int64
	size   int
}

// put keeps b, which its caller must not change any more.
func (s *shelf) put(b []byte) (place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(len(b)) <= s.memory {
		s.memory -= int64(len(b))
		return place{memory: b, size: len(b)}, nil
	}
	if s.end+int64(len(b)) > maxFile {
		return place{}, fmt.Errorf("the answers take more than %d GiB; serve fewer ledgers, or let them share transactions (--distinct)", maxFile>>30)
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "ledgersync-sim-*")
		if err != nil {
			return place{}, fmt.Errorf("making a file for answers beyond --memory: %w", err)
		}
		os.Remove(f.Name()) // it exists as long as it is open
		s.file = f
	}
	if _, err := s.file.WriteAt(b, s.end); err != nil {
		return place{}, fmt.Errorf("writing answers beyond --memory to %s: %w", os.TempDir(), err)
	}
	p := place{at: s.end, size: len(b)}
	s.end += int64(len(b))
	return p, nil
}

// get returns the bytes at a place, in scratch (which it may replace by a larger one) if they are
// not in memory. Callers must not change them.
func (s *shelf) get(p place, scratch *[]byte) ([]byte, error) {
	if p.memory != nil || p.size == 0 {
		return p.memory, nil
	}
	if cap(*scratch) < p.size {
		*scratch = make([]byte, p.size)
	}
	b := (*scratch)[:p.size]
	if _, err := s.file.ReadAt(b, p.at); err != nil {
		return nil, fmt.Errorf("reading an answer beyond --memory: %w", err)
	}
	return b, nil
}

func (s *shelf) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	if err := s.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
