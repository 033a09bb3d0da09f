package main

import (
	"context"
	"io"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// left returns how many goroutines of n requests remain when all is quiet.
func left(t *testing.T, p *page, n int) int64 {
	t.Helper()
	server := httptest.NewServer(p)
	defer server.Close()
	for range n {
		answer, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	return p.goroutines.Load()
}

func TestLeaksWhatItSays(t *testing.T) {
	for fixed, want := range map[string]int64{"": 2, "ticker": 1, "channel": 1} {
		p, err := newPage(fixed)
		if err != nil {
			t.Fatal(err)
		}
		const requests = 20
		// The last requests' own goroutines may still be about to end.
		if got := left(t, p, requests); got < want*requests || got > want*requests+6 {
			t.Errorf("--fixed %q leaves %d goroutines of %d requests, want %d each", fixed, got, requests, want)
		}
	}
}

func TestFixedLeavesNothing(t *testing.T) {
	others := goleak.IgnoreCurrent()
	p, err := newPage("ticker,channel")
	if err != nil {
		t.Fatal(err)
	}
	left(t, p, 20)
	goleak.VerifyNone(t, others)
}

func TestWatchEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := newPage("ticker,channel")
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		ctx, end := context.WithCancel(t.Context())
		p.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		if n := p.goroutines.Load(); n != 2 { // the slower supplier, and what watches
			t.Errorf("%d goroutines while the request goes on", n)
		}
		end()
		time.Sleep(slow)
		synctest.Wait()
		if n := p.goroutines.Load(); n != 0 {
			t.Errorf("%d goroutines outlive the request", n)
		}
		if got := w.Body.String(); got != "101 cents\n" {
			t.Errorf("answer %q", got)
		}
	})
}

func TestRefusesBeyondItsBound(t *testing.T) {
	p := &page{}
	p.goroutines.Store(mostGoroutines + 1)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 503 {
		t.Errorf("status %d", w.Code)
	}
}

func TestFlag(t *testing.T) {
	if _, err := newPage("chanel"); err == nil {
		t.Error("a leak that does not exist was fixed")
	}
}
