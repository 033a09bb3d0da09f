package main

import (
	"database/sql"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/subjects/bounds/memdb"
)

func TestLine(t *testing.T) {
	var l line
	start := time.Unix(1000, 0)
	if l.oldest(start) != 0 || l.depth() != 0 {
		t.Error("a request waits in an empty line")
	}
	first, _ := l.join(start)
	second, _ := l.join(start.Add(time.Second))
	if got := l.oldest(start.Add(3 * time.Second)); got != 3*time.Second || l.depth() != 2 {
		t.Errorf("the first of %d has waited %v", l.depth(), got)
	}
	first()
	if got := l.oldest(start.Add(3 * time.Second)); got != 2*time.Second || l.depth() != 1 {
		t.Errorf("the second of %d has waited %v", l.depth(), got)
	}
	second()
	for range maxWaiting {
		l.join(start)
	}
	if _, ok := l.join(start); ok {
		t.Error("the line has no end")
	}
}

// As many requests as there are connections are answered per query time, and the gauges show it
// meanwhile.
func TestCapacityIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const connections, query, requests = 2, 5 * time.Millisecond, 10
		db := sql.OpenDB(memdb.Connector{Latency: query})
		db.SetMaxOpenConns(connections)
		p := &page{db: db}
		began := time.Now()
		var all sync.WaitGroup
		for range requests {
			all.Go(func() {
				w := httptest.NewRecorder()
				p.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
				if w.Code != 200 || w.Body.String() != "item q" {
					t.Errorf("answered %d %q", w.Code, w.Body)
				}
			})
		}
		time.Sleep(query + query/2)
		if depth, oldest := p.line.depth(), p.line.oldest(time.Now()); depth != requests-2*connections || oldest != query+query/2 {
			t.Errorf("%d wait, the first for %v", depth, oldest)
		}
		all.Wait()
		if got, want := time.Since(began), requests/connections*query; got != want {
			t.Errorf("%d requests took %v, want %v", requests, got, want)
		}
		db.Close()
	})
}
