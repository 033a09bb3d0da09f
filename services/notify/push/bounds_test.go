package push

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counting is the answer to one of many streams: it counts notices, and never blocks.
type counting struct {
	http.ResponseWriter
	notices   *atomic.Int64
	deadlines *atomic.Int64 // for writes, which are in force
}

func (c *counting) Write(b []byte) (int, error) {
	c.notices.Add(int64(bytes.Count(b, []byte("data: {"))))
	return len(b), nil
}
func (*counting) FlushError() error               { return nil }
func (*counting) SetReadDeadline(time.Time) error { return nil }
func (c *counting) SetWriteDeadline(at time.Time) error {
	if at.IsZero() {
		c.deadlines.Add(-1)
	} else {
		c.deadlines.Add(1)
	}
	return nil
}

func TestTenThousandStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 10_000
		log := newLog()
		streams := New(log, options())
		streams.heartbeat = time.Hour
		var notices, deadlines atomic.Int64
		var all sync.WaitGroup
		open := func() *httptest.ResponseRecorder {
			answer := httptest.NewRecorder()
			streams.SSE(&counting{answer, &notices, &deadlines}, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/stream", nil))
			return answer
		}
		for range bound {
			all.Go(func() { open() })
		}
		synctest.Wait()
		if got := streams.Count(); got != bound {
			t.Errorf("%d streams are open", got)
		}
		if got := open(); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
			t.Errorf("one more gets %d", got.Code)
		}
		log.put("a", 1)
		synctest.Wait()
		if got := notices.Load(); got != bound {
			t.Errorf("one notice reaches %d streams", got)
		}
		if got := deadlines.Load(); got != 0 {
			t.Errorf("%d streams that wait have a deadline, at which HTTP/2 would end them", got)
		}
		if log.scans != bound {
			t.Errorf("%d scans for one notice", log.scans)
		}
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if streams.Wait(hurry) == nil {
			t.Error("does not wait for streams that are open")
		}
		log.close()
		if err := streams.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
}

// A connection that cannot have its deadlines moved would be cut after 30 s, or hold a slow reader
// for ever.
func TestNeedsDeadlines(t *testing.T) {
	answer := httptest.NewRecorder()
	streams := New(newLog(), options())
	streams.SSE(answer, httptest.NewRequest("GET", "/v1/stream", nil))
	if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), "cannot carry a stream") {
		t.Errorf("%d: %s", answer.Code, answer.Body)
	}
	if streams.Count() != 0 {
		t.Error("the place is not given back")
	}
}

// A chunk holds little, however much there is, and a scan passes over a bounded number.
func TestChunksAreBounded(t *testing.T) {
	log := newLog()
	for range 300 {
		log.add("small", fmt.Sprintf("%q", strings.Repeat("x", 1000)))
	}
	log.put("unwanted", 3*maxVisits)
	log.add("large", fmt.Sprintf("%q", strings.Repeat("x", 1<<20)))
	log.add("large", fmt.Sprintf("%q", strings.Repeat("x", 1<<20)))
	streams := New(log, options())
	at := &position{types: []string{"small", "large"}, next: 1}
	got := 0
	for range 100 {
		c := streams.chunks.Get().(*chunk)
		before := at.next
		if err := streams.fill(c, at, new(messages)); err != nil {
			t.Fatal(err)
		}
		if n := len(c.ends); n > 1 && c.ends[n-2] >= chunkBytes {
			t.Errorf("a chunk goes on after %d bytes", c.ends[n-2])
		}
		if at.next-before > maxVisits || at.next == before {
			t.Errorf("went from %d to %d in one step", before, at.next)
		}
		got += c.notices
		streams.release(c)
		if _, end := log.Bounds(); at.next == end {
			break
		}
	}
	if got != 302 {
		t.Errorf("%d of 302 notices", got)
	}
	if c := streams.chunks.Get().(*chunk); cap(c.frames) > 4*chunkBytes {
		t.Errorf("%d bytes are kept after a large notice", cap(c.frames))
	}
}
