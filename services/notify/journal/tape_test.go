package journal

import (
	"math"
	"sync"
	"testing"

	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/notify/subscription"
)

// tape is a backend that remembers what was done to it, so that a crash after any step can be
// played.
type tape struct {
	wal.Backend
	scanned func() // called after each Scan, unless nil

	mu    sync.Mutex
	steps []step
}

// step is a batch that was written, or a trim.
type step struct {
	batch [][]byte
	trim  uint64
}

func (t *tape) Write(batches [][][]byte) error {
	t.mu.Lock()
	for _, batch := range batches {
		var kept [][]byte
		for _, record := range batch {
			kept = append(kept, append([]byte{}, record...))
		}
		t.steps = append(t.steps, step{batch: kept})
	}
	t.mu.Unlock()
	return t.Backend.Write(batches)
}

func (t *tape) Trim(before uint64) error {
	t.mu.Lock()
	t.steps = append(t.steps, step{trim: before})
	t.mu.Unlock()
	return t.Backend.Trim(before)
}

func (t *tape) Scan(from uint64, visit func(uint64, []byte) error) error {
	err := t.Backend.Scan(from, visit)
	if t.scanned != nil {
		t.scanned()
	}
	return err
}

// play does steps to a fresh backend.
func play(t testing.TB, steps []step) *tape {
	backend := memory.New()
	for _, s := range steps {
		var err error
		if s.batch != nil {
			err = backend.Write([][][]byte{s.batch})
		} else {
			err = backend.Trim(s.trim)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &tape{Backend: backend, steps: steps[:len(steps):len(steps)]}
}

// events is how many events of the steps are not a checkpoint's.
func events(t testing.TB, steps []step) (n int) {
	for _, s := range steps {
		for _, record := range s.batch {
			e, err := decode(record)
			if err != nil {
				t.Fatal(err)
			}
			if !e.kind.checkpoint() {
				n++
			}
		}
	}
	return n
}

func open(t testing.TB, backend wal.Backend) (*Journal, map[string]*subscription.Recovered) {
	t.Helper()
	j, recovered, err := Open(wal.New(backend, wal.Options{Commit: wal.Group}))
	if err != nil {
		t.Fatal(err)
	}
	j.spare = math.MinInt64 / 2 // every checkpoint carries letters over
	return j, recovered
}

func shut(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
