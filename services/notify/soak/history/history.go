// Package history says whether what a dispatcher promised was kept, from what its clients and
// receivers saw while it was killed again and again: nothing acknowledged is lost, order per key is
// kept, duplicates stay within what was in flight.
//
// History is what they saw; Check is a pure function of it, so that it can be tested on histories
// in which something is wrong. Nothing is decided by the clock: a Moment is a place in the order of
// what happened.
//
// It is not for measuring, and it knows nothing of HTTP or processes (package soak does). It starts
// no goroutines.
package history

import (
	"math"
	"sync"
	"sync/atomic"
)

// Moment is a place in the order of what was seen: larger is later. Two requests overlap unless one
// was answered before the other began.
type Moment int64

// Never is the moment of an answer that did not come.
const Never Moment = math.MaxInt64

// Notice is what a client posts. Its id is used for nothing else.
type Notice struct{ ID, Key, Type string }

// Result is what an answer says of one notice.
type Result struct {
	Seq       uint64
	Duplicate bool
}

// Post is one request with notices. A request that was not answered is made again with the same
// notices, and notices that are posted together are never posted otherwise.
type Post struct {
	Notices  []Notice
	Began    Moment
	Answered Moment   // Never: it broke off, or was refused
	Results  []Result // of an answer that acknowledged, one a notice
}

// Definition is the requested state of a subscription.
type Definition struct {
	Types       []string // exact, or a prefix and ".*"; none: all
	Batch       int      // most notices in a webhook; 0 is as 1
	Concurrency int      // most webhooks in flight
}

// Change is one change of one subscription: made, changed or deleted. It is acknowledged only when
// it is durable. Changes of one subscription do not overlap.
type Change struct {
	Subscription string // the name that its receiver knows it by
	Definition   *Definition
	Began        Moment // the first attempt
	Acked        Moment // Never: unknown whether it was made
	Durable      Moment // when the attempt began that was acknowledged: what was booked before is durable too; 0: none was
}

// Listing is what the dispatcher said that it had by way of subscriptions.
type Listing struct {
	Began, Answered Moment
	Subscriptions   map[string]Definition
}

// Webhook is one attempt as its receiver saw it.
type Webhook struct {
	Subscription string
	IDs          []string
	Process      int    // the number of the process that sent it
	Arrived      Moment // before it was answered
	Answered     Moment // after; Never: the sender went while it waited
	OK           bool   // with 2xx
}

// Process is one life of the dispatcher, from start to crash. Their numbers count from 0.
type Process struct {
	Began   Moment
	Crashed Moment // before the crash was asked for; Never: it ended in good order
}

// Count is one row of the dispatcher's own account.
type Count struct {
	Accepted, Delivered, Dead, Pending int64
}

// Account is what the dispatcher says when all is quiet.
type Account struct {
	Total         Count
	Subscriptions map[string]Count
	Dead          map[string][]string // by subscription, the ids of its dead letters
}

// History is what the soak observed. Its methods are safe for concurrent use; its fields are for
// Check, and for tests which make histories up.
type History struct {
	clock atomic.Int64
	mu    sync.Mutex

	Posts     []Post
	Changes   []Change
	Listings  []Listing
	Webhooks  []*Webhook
	Processes []Process
	Faults    []string // single wrong observations: a bad signature, a payload that has changed
	Final     *Account
}

// Now returns a moment later than all before.
func (h *History) Now() Moment { return Moment(h.clock.Add(1)) }

// Posted adds a request that has ended.
func (h *History) Posted(p Post) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Posts = append(h.Posts, p)
}

// Changed adds a change that has ended.
func (h *History) Changed(c Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Changes = append(h.Changes, c)
}

// Listed adds a listing.
func (h *History) Listed(l Listing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Listings = append(h.Listings, l)
}

// Arrive adds a webhook at this moment and returns it for Answer.
func (h *History) Arrive(w Webhook) *Webhook {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Arrived, w.Answered = h.Now(), Never
	h.Webhooks = append(h.Webhooks, &w)
	return &w
}

// Answer says that a webhook was answered and that its sender was still there.
func (h *History) Answer(w *Webhook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Answered = h.Now()
}

// Started adds a process and returns its number.
func (h *History) Started() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Processes = append(h.Processes, Process{Began: h.Now(), Crashed: Never})
	return len(h.Processes) - 1
}

// Crash says that a process is about to be made to crash.
func (h *History) Crash(process int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Processes[process].Crashed = h.Now()
}

// maxFaults bounds what is kept of one kind of thing going wrong: the first say enough.
const maxFaults = 100

// Fault adds an observation that is wrong in itself.
func (h *History) Fault(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.Faults) < maxFaults {
		h.Faults = append(h.Faults, text)
	}
}

// Began returns the moment when a process began.
func (h *History) Began(process int) Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Processes[process].Began
}
