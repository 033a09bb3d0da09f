package main

import (
	"fmt"
	"net/http"
	"sync"

	"dyno/subjects/bounds/suite"
)

var visits = suite.Entry{
	Name: "mutex-short", Family: "lock", Truth: "lock", Kind: "mutex", Function: "main.(*visitors).add",
	InWords: "each request counts thousands of times, from several goroutines, under one mutex that is held for some ns",
	Method:  "GET", Path: "/visit", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		v := &visitors{counters: d.Between("goroutines", 4, 8), each: d.Between("adds", 1_000, 2_500)}
		return func() (*suite.Service, error) { return suite.Serving("GET /visit", v.visit), nil }
	},
}

// visitors counts the visits of each page.
type visitors struct {
	counters, each int

	mu    sync.Mutex
	total int
	pages [16]int
}

func (v *visitors) visit(w http.ResponseWriter, _ *http.Request) {
	var counting sync.WaitGroup
	for range v.counters {
		counting.Go(func() {
			for page := range v.each {
				v.add(page % len(v.pages))
			}
		})
	}
	counting.Wait()
	fmt.Fprintln(w, "counted")
}

func (v *visitors) add(page int) {
	v.mu.Lock()
	v.pages[page]++
	v.total++
	v.mu.Unlock()
}
