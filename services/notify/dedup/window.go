// Package dedup recognises what was accepted before: ids that were given a number within a window
// of time.
//
//	claim, err := window.Claim(ctx, item)
//	if claim.Other { ... }                  // the id stands for something else
//	if claim.Seq != 0 { ... }               // accepted before, as that number
//	seq, err = store(notice)
//	window.Commit(item, seq, time.Now())    // or window.Release(item.ID), if it was not stored
//
// Between Claim and Commit the id is taken: another caller that claims it waits until then. Several
// ids are claimed with ClaimAll, never one after the other: two callers would wait for each other.
//
// With each id goes a hash of 64 bits of what it stands for, which the caller makes, for Load too.
// Another content has the same hash by chance once in 10^19.
//
// Ids are kept as the first 128 bits of their SHA-256. Among a million ids two of the same
// fingerprint have a chance of 1 in 10^27, and finding some on purpose takes 2^64 attempts.
//
// It is not durable: at a start Load enters what is in the log. It is not for windows in which
// the ids do not fit into memory; an id takes about 85 bytes (BenchmarkMemory, a million of them).
// It starts no goroutines.
package dedup

import (
	"context"
	"crypto/sha256"
	"math"
	"sync"
	"time"
)

// Window remembers ids. Its methods may be called by any goroutine at any time.
type Window struct {
	window time.Duration

	mu        sync.Mutex // one for all: ClaimAll looks at many ids in one step
	claimed   map[fingerprint]claim
	committed map[fingerprint]uint32 // where it is in order
	order     fifo
}

type fingerprint [16]byte

// Item is an id with a hash of what it stands for.
type Item struct {
	ID      string
	Content uint64
}

// claim is an id that a caller has claimed and not yet committed or released.
type claim struct {
	ended chan struct{} // closed then; nil as long as no other caller waits for it
	place int           // in the call that claimed it
}

// Claim is what ClaimAll says of one id.
type Claim struct {
	Seq   uint64 // the number it was given before; 0 means that the caller has it now, or that it is repeated
	First int    // where in the same call the id stands first: what that is given holds for this too
	Other bool   // what has that number, or stands first, is something else
}

// New makes a Window that forgets an id a window after it was committed, or when limit others were
// committed since. With a window or limit of 0 it remembers nothing but what is claimed.
func New(window time.Duration, limit int) *Window {
	w := &Window{window: window, claimed: make(map[fingerprint]claim), committed: make(map[fingerprint]uint32)}
	w.order.init(min(max(limit, 0), math.MaxInt32)) // places are 32 bits
	return w
}

func identify(id string) fingerprint {
	var room [256]byte // no id is longer; one that is costs an allocation
	sum := sha256.Sum256(append(room[:0], id...))
	return fingerprint(sum[:])
}

// Claim looks an id up. Unless it was given a number, the caller has it and must Commit or Release
// it. While another caller has it, Claim waits, and returns the context's error if that ends first.
func (w *Window) Claim(ctx context.Context, item Item) (Claim, error) {
	var keys [1]fingerprint
	var claims [1]Claim
	items := [1]Item{item}
	keys[0] = identify(item.ID)
	err := w.claim(ctx, items[:], keys[:], claims[:])
	return claims[0], err
}

// ClaimAll looks several ids up, in one step: while another caller has any of them, it waits and
// holds none. Of those that are neither known nor repeated in the call, the caller must Commit or
// Release each.
func (w *Window) ClaimAll(ctx context.Context, items []Item) ([]Claim, error) {
	keys := make([]fingerprint, len(items))
	for i, item := range items {
		keys[i] = identify(item.ID)
	}
	claims := make([]Claim, len(items))
	if err := w.claim(ctx, items, keys, claims); err != nil {
		return nil, err
	}
	return claims, nil
}

func (w *Window) claim(ctx context.Context, items []Item, keys []fingerprint, claims []Claim) error {
	free := 0 // as far as this has been waited for
	for {
		ended := w.try(items, keys, claims, &free)
		if ended == nil {
			return nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try claims all keys, or returns a channel that is closed when the next that is not free has
// ended.
func (w *Window) try(items []Item, keys []fingerprint, claims []Claim, free *int) <-chan struct{} {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(now)
	i, ended := w.busy(keys[*free:])
	if ended == nil && *free > 0 { // others may have come since those before were waited for
		*free = 0
		i, ended = w.busy(keys)
	}
	if ended != nil {
		*free += i
		return ended
	}
	for i, key := range keys {
		claims[i] = w.take(items, key, i, now)
	}
	return nil
}

// busy finds the first key that is claimed, and returns a channel that is closed when that has
// ended; nil means that none is claimed.
func (w *Window) busy(keys []fingerprint) (int, <-chan struct{}) {
	if len(w.claimed) == 0 {
		return 0, nil
	}
	for i, key := range keys {
		if c, ok := w.claimed[key]; ok {
			if c.ended == nil {
				c.ended = make(chan struct{})
				w.claimed[key] = c
			}
			return i, c.ended
		}
	}
	return 0, nil
}

// take claims the key of the item at a place, which no other caller has claimed.
func (w *Window) take(items []Item, key fingerprint, place int, now time.Time) Claim {
	content := items[place].Content
	if at, ok := w.committed[key]; ok {
		if e := w.order.at(at); now.UnixNano()-e.at < int64(w.window) {
			return Claim{Seq: e.seq, First: place, Other: e.content != content}
		}
	}
	if c, ok := w.claimed[key]; ok {
		return Claim{First: c.place, Other: items[c.place].Content != content}
	}
	w.claimed[key] = claim{place: place}
	return Claim{First: place}
}

// Commit says that a claimed id was given a number, greater than 0, at a time.
func (w *Window) Commit(item Item, seq uint64, at time.Time) {
	key := identify(item.ID)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remember(key, item.Content, seq, at)
	w.end(key)
}

// Release says that a claimed id was given none. One of those who wait for it gets it.
func (w *Window) Release(id string) {
	key := identify(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(key)
}

// Load says that an id was given a number in an earlier process. Older ones come first.
func (w *Window) Load(item Item, seq uint64, at time.Time) {
	if time.Since(at) >= w.window {
		return
	}
	key := identify(item.ID)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remember(key, item.Content, seq, at)
}

// Len is how many ids are kept, of which some may be about to be forgotten.
func (w *Window) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.committed)
}

func (w *Window) end(key fingerprint) {
	if c, ok := w.claimed[key]; ok {
		delete(w.claimed, key)
		if c.ended != nil {
			close(c.ended)
		}
	}
}

func (w *Window) remember(key fingerprint, content, seq uint64, at time.Time) {
	for w.order.full() {
		w.drop()
	}
	if w.order.max > 0 {
		w.committed[key] = w.order.push(entry{key: key, content: content, seq: seq, at: at.UnixNano()})
	}
}

// forget drops what is too old, a few at a time: after a pause there may be a million.
func (w *Window) forget(now time.Time) {
	for range 64 {
		if w.order.len == 0 || now.UnixNano()-w.order.at(w.order.head).at < int64(w.window) {
			return
		}
		w.drop()
	}
}

// drop forgets the oldest entry, and its id unless that was committed anew.
func (w *Window) drop() {
	at := w.order.head
	key := w.order.pop().key
	if w.committed[key] == at {
		delete(w.committed, key)
	}
}
