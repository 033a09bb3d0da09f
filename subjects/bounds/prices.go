package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"dyno/subjects/bounds/suite"
)

var prices = suite.Entry{
	Name: "rwmutex-writer", Family: "lock", Truth: "lock", Kind: "rwmutex", Function: "main.(*quotes).renew",
	InWords: "requests read under a shared lock, and every few of them one computes the prices anew under the write lock: those come one after the other, and the readers wait too",
	Method:  "GET", Path: "/quote", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		q := &quotes{
			lookup:  d.Between("read_rounds", 500, 1_000),
			refresh: d.Between("write_rounds", 8_000, 16_000),
			every:   int64(d.Between("reads_per_write", 3, 6)),
		}
		return func() (*suite.Service, error) { return suite.Serving("GET /quote", q.quote), nil }
	},
}

// quotes answers a price that is good for some lookups.
type quotes struct {
	lookup, refresh int // rounds
	every           int64

	asked atomic.Int64
	mu    sync.RWMutex
	price [32]byte
}

func (q *quotes) quote(w http.ResponseWriter, r *http.Request) {
	if q.asked.Add(1)%q.every == 0 {
		q.renew()
	}
	q.mu.RLock()
	answer := stretch(q.price[:], q.lookup)
	q.mu.RUnlock()
	fmt.Fprintf(w, "%x\n", answer)
}

func (q *quotes) renew() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.price = stretch(q.price[:], q.refresh)
}
