//go:build !race

package heartbeat

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// exchange is a request and a ResponseWriter that cost nothing, so that what is counted is the
// handler's.
type exchange struct {
	body    bytes.Reader
	request http.Request
	header  http.Header
}

func (e *exchange) Header() http.Header         { return e.header }
func (e *exchange) WriteHeader(int)             {}
func (e *exchange) Write(b []byte) (int, error) { return len(b), nil }

func newExchange() *exchange {
	e := &exchange{header: http.Header{}}
	e.request.Method, e.request.Body = "POST", io.NopCloser(&e.body)
	return e
}

func (e *exchange) do(h http.Handler) {
	e.body.Reset([]byte(usual))
	h.ServeHTTP(e, &e.request)
}

const (
	usual    = `{"player_id":"player-123456"}` // what a client sends
	maxAlloc = 22
)

// The gate of what a heartbeat of a known player allocates, without its server.
func TestAllocs(t *testing.T) {
	h, e := New(Config{MaxPresent: 10}), newExchange()
	got := testing.AllocsPerRun(1000, func() { e.do(h) })
	if t.Logf("%v allocations", got); got > maxAlloc {
		t.Errorf("%v allocations, at most %v", got, maxAlloc)
	}
}
