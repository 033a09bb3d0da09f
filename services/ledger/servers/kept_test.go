package servers

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/services/ledger/servers/response"
)

// 200 connections that were used concurrently are kept while they are idle: 200 further requests
// open none.
func TestConnectionsAreKept(t *testing.T) {
	const many = 200
	var opened atomic.Int64
	var mu sync.Mutex
	arrived, release := 0, make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all := release
		if arrived++; arrived == many {
			arrived, release = 0, make(chan struct{})
			close(all)
		}
		mu.Unlock()
		select {
		case <-all: // each request is on a connection of its own then
			io.WriteString(w, ofLedger("[]"))
		case <-r.Context().Done():
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s := open(t, Config{URL: server.URL, InFlight: many, Timeout: time.Minute})
	for range 2 {
		var asked sync.WaitGroup
		for range many {
			asked.Go(func() {
				if err := s.Ledger(context.Background(), 7, new(response.Answer)); err != nil {
					t.Error(err)
				}
			})
		}
		asked.Wait()
		if n := opened.Load(); n != many {
			t.Fatalf("%d connections were opened for %d concurrent requests", n, many)
		}
	}
}
