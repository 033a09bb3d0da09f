// Package snapshot keeps hot state that few change and many read: entries by key, and one summary of the whole.
// There are two ways to do it, behind one interface, so that they can be compared and swapped:
//
//	atomic  an immutable state behind an atomic pointer: readers take no lock and wait for nobody; a writer copies
//	        the map and swaps the pointer, so an update costs as much as there are entries
//	mutex   a map and a summary under a sync.RWMutex: an update costs as much as it changes, and while it does,
//	        readers wait
//
// It is for some thousands of entries at most that change some hundred times a second. It is not a cache: nothing
// is evicted but by Update, so whoever writes keeps it bounded. It starts no goroutines.
package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Snapshot is hot state. All methods may be called by any goroutine at any time. Whoever has seen anything of an
// update, by Summary or by Get, sees all of it from then on. What comes out is shared: nobody changes it.
type Snapshot[S any, K comparable, V any] interface {
	// Summary is what was last said of the whole; S's zero value before the first update.
	Summary() S
	// Get finds an entry.
	Get(key K) (V, bool)
	// Update applies a change as a whole. Updates come one after another.
	Update(Change[S, K, V])
}

// Change is what an update does: entries go, then entries come, and the summary is replaced.
type Change[S any, K comparable, V any] struct {
	Summary S
	Remove  []K // need not be there
	Put     map[K]V
}

// apply does to a map what a change says.
func (c Change[S, K, V]) apply(to map[K]V) {
	for _, key := range c.Remove {
		delete(to, key)
	}
	maps.Copy(to, c.Put)
}

// Constructor makes an empty snapshot.
type Constructor[S any, K comparable, V any] func() Snapshot[S, K, V]

// Constructors names every implementation.
func Constructors[S any, K comparable, V any]() map[string]Constructor[S, K, V] {
	return map[string]Constructor[S, K, V]{
		"atomic": func() Snapshot[S, K, V] { return newPublished[S, K, V]() },
		"mutex":  func() Snapshot[S, K, V] { return newLocked[S, K, V]() },
	}
}

// Names lists the implementations, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Constructors[struct{}, int, struct{}]())) }

// New makes the snapshot of that name.
func New[S any, K comparable, V any](name string) (Snapshot[S, K, V], error) {
	build, ok := Constructors[S, K, V]()[name]
	if !ok {
		return nil, fmt.Errorf("no snapshot is called %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return build(), nil
}
