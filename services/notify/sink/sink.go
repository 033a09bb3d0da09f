// Package sink is a receiver of webhooks for tests and measurements: it takes every POST, answers
// after a set delay, and reports what it received: how many notices, whether each key's came in
// order, which came twice, and (as a stream) when each one was wholly received, on the clock that
// the load generator uses.
//
// A notice's id is RUN-HEX16, where HEX16 is a number that grows within a run; other ids are
// counted but not checked. The order checked is that of the numbers: a sender that posts one key's
// notices over several connections concurrently may change it before the dispatcher sees them. Each
// URL path is a receiver of its own, so that several subscriptions can share a sink.
//
// How it answers goes by the path: a webhook to /hang... has no answer until its sender gives up or
// the sink closes, one to /fail... is answered with 500, and neither counts as received; any other
// with 204.
//
// It is not a queue: what was received is counted and forgotten. It starts no goroutines; its
// handlers run on the HTTP server's.
package sink

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxBody bounds one webhook: a batch of 1,000 notices of 16 KiB.
const maxBody = 16 << 20

// Config of a Sink. The zero value verifies nothing and answers immediately.
type Config struct {
	Secret string        // whsec_...; "": signatures are not verified
	Delay  time.Duration // between the webhook's arrival and the answer; costs no CPU
}

// Sink receives webhooks.
type Sink struct {
	delay   time.Duration
	webhook *webhooks.Webhook // nil: signatures are not verified
	buffers sync.Pool         // of *[]byte
	order   orders
	streams streams
	closed  chan struct{} // by Close

	webhookCount, noticeCount, badSignature, malformed, batches, failed, hanging atomic.Int64
}

// New returns a sink; the error says what is wrong with the secret.
func New(c Config) (*Sink, error) {
	s := &Sink{delay: c.Delay, closed: make(chan struct{})}
	s.buffers.New = func() any { return new([]byte) }
	if c.Secret != "" {
		webhook, err := webhooks.NewWebhook(c.Secret)
		if err != nil {
			return nil, err
		}
		s.webhook = webhook
	}
	return s, nil
}

// Stats is what a sink has seen.
type Stats struct {
	Webhooks     int64 `json:"webhooks"`      // received in good order
	Batches      int64 `json:"batches"`       // of these: with several notices
	Notices      int64 `json:"notices"`       // in these
	Malformed    int64 `json:"malformed"`     // bodies that are no notice; answered with 400
	BadSignature int64 `json:"bad_signature"` // answered with 401
	Failed       int64 `json:"failed"`        // answered with 500, because of their path
	Hanging      int64 `json:"hanging"`       // held at present, because of their path
	Duplicates   int64 `json:"duplicates"`    // notices that had come before
	Violations   int64 `json:"violations"`    // notices that came after a later one of their key
	Unchecked    int64 `json:"unchecked"`     // notices with another kind of id, or beyond what is remembered
}

// Stats reads the counters.
func (s *Sink) Stats() Stats {
	out := Stats{
		Webhooks: s.webhookCount.Load(), Batches: s.batches.Load(), Notices: s.noticeCount.Load(),
		Malformed: s.malformed.Load(), BadSignature: s.badSignature.Load(),
		Failed: s.failed.Load(), Hanging: s.hanging.Load(),
	}
	s.order.read(&out)
	return out
}

// ServeHTTP takes a webhook on any path.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this is a sink for webhooks: POST them", http.StatusMethodNotAllowed)
		return
	}
	buf := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buf)
	body, err := readAll((*buf)[:0], http.MaxBytesReader(w, r.Body, maxBody))
	*buf = body
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	at := monotonic.Now()
	if s.webhook != nil {
		if err := s.webhook.Verify(body, r.Header); err != nil {
			s.badSignature.Add(1)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
	}
	notices, err := parse(body)
	if err != nil {
		s.malformed.Add(1)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/hang"):
		s.hang(w, r)
	case strings.HasPrefix(path, "/fail"):
		s.failed.Add(1)
		http.Error(w, "webhooks to /fail... fail", http.StatusInternalServerError)
	default:
		s.book(path, notices, at)
		if s.delay > 0 {
			time.Sleep(s.delay)
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// hang holds a webhook until its sender gives up or the sink closes.
func (s *Sink) hang(w http.ResponseWriter, r *http.Request) {
	s.hanging.Add(1)
	defer s.hanging.Add(-1)
	select {
	case <-r.Context().Done():
	case <-s.closed:
		http.Error(w, "the sink closes", http.StatusServiceUnavailable)
	}
}

func (s *Sink) book(path string, notices []received, at int64) {
	s.webhookCount.Add(1)
	s.noticeCount.Add(int64(len(notices)))
	if len(notices) > 1 {
		s.batches.Add(1)
	}
	s.order.check(path, notices)
	s.streams.send(notices, at)
}

// readAll is io.ReadAll into a buffer that is used again.
func readAll(buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// Register puts GET /stats and GET /receipts?run=RUN on the debug address.
func (s *Sink) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s.Stats()) // an error means that the reader has gone
	})
	mux.HandleFunc("GET /receipts", s.streams.serve)
}

// Close ends the streams of receipts and the webhooks that hang. It may be called once.
func (s *Sink) Close() {
	close(s.closed)
	s.streams.close()
}
