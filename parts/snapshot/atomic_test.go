package snapshot

import "testing"

// A reader of the atomic snapshot waits for nobody, not even for a writer that never ends.
func TestAtomicReadersNeverLock(t *testing.T) {
	a := newPublished[int, int, int]()
	a.Update(Change[int, int, int]{Summary: 1, Put: map[int]int{1: 1}})
	a.writer.Lock()
	defer a.writer.Unlock()
	if v, ok := a.Get(1); v != 1 || !ok || a.Summary() != 1 {
		t.Errorf("beside a writer: %d %v, summary %d", v, ok, a.Summary())
	}
}
