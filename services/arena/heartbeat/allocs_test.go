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
	e.body.Reset(usual)
	h.ServeHTTP(e, &e.request)
}

// The gates of what a heartbeat of a known player allocates, without its server.
var allocsGate = map[string]float64{"std": 22, "pooled": 12, "hand": 0, "workers": 0}

func TestAllocs(t *testing.T) {
	for beat, gate := range allocsGate {
		h, e := New(Config{Beat: beat, MaxPresent: 10}), newExchange()
		got := testing.AllocsPerRun(1000, func() { e.do(h) })
		if t.Logf("%s: %v allocations", beat, got); got > gate {
			t.Errorf("%s: %v allocations, at most %v", beat, got, gate)
		}
		h.Close()
	}
}

func BenchmarkBeat(b *testing.B) {
	for _, beat := range []string{"std", "pooled", "hand", "workers"} {
		b.Run(beat, func(b *testing.B) {
			h := New(Config{Beat: beat, MaxPresent: 10})
			defer h.Close()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for e := newExchange(); pb.Next(); {
					e.do(h)
				}
			})
		})
	}
}
