package environment

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"dyno/lab/scenario"
)

// counter is a server that counts what it receives, and over how many connections.
type counter struct {
	*httptest.Server
	mu             sync.Mutex
	seen           map[string]int // "PATH BODY" -> how often
	connections    int
	inFlight, most int // requests in flight, and their largest number
}

func newCounter(t *testing.T, refused string) *counter {
	c := &counter{seen: map[string]int{}}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.seen[r.URL.Path+" "+string(body)]++
		c.inFlight++
		c.most = max(c.most, c.inFlight)
		c.mu.Unlock()
		defer func() { // runs before the client has the answer
			c.mu.Lock()
			c.inFlight--
			c.mu.Unlock()
		}()
		if string(body) == refused {
			w.WriteHeader(http.StatusTeapot)
		}
		io.WriteString(w, strings.Repeat("x", 1000)) // more than an error quotes
	}))
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.mu.Lock()
			c.connections++
			c.mu.Unlock()
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

func (c *counter) requests() []scenario.Request {
	return []scenario.Request{{URL: c.URL + "/first"}, {URL: c.URL + "/${n}", Body: "n=${n} of ${sink.name}", Repeat: 500}}
}

func TestSetupRepeats(t *testing.T) {
	c := newCounter(t, "none")
	s := &Testbed{programs: &Programs{}, fields: map[string]string{"sink.name": "it"}}
	if err := s.setup(t.Context(), c.requests()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) != 501 || c.seen["/first "] != 1 || c.seen["/0 n=0 of it"] != 1 || c.seen["/499 n=499 of it"] != 1 {
		t.Errorf("%d different requests were sent: %v", len(c.seen), c.seen)
	}
	if c.most > setupConnections {
		t.Errorf("%d were in flight concurrently, want at most %d", c.most, setupConnections)
	}
	// On a busy machine net/http closes a connection whose answer came before its writer ran on.
	if c.connections > len(c.seen)/2 {
		t.Errorf("%d requests over %d connections", len(c.seen), c.connections)
	}
}

func TestSetupStopsAtTheFirstThatFails(t *testing.T) {
	c := newCounter(t, "n=7 of it")
	s := &Testbed{programs: &Programs{}, fields: map[string]string{"sink.name": "it"}}
	requests := c.requests()
	requests[1].Repeat = 20_000 // takes seconds, unless it stops
	err := s.setup(t.Context(), requests)
	if err == nil || !strings.Contains(err.Error(), "setup, request 2: ${n} 7: POST "+c.URL+"/7 answered 418") {
		t.Errorf("error %v", err)
	}
	if len(err.Error()) > 500 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	c.mu.Lock()
	sent := len(c.seen)
	c.mu.Unlock()
	if sent > requests[1].Repeat {
		t.Errorf("all %d requests went out although the eighth failed", sent)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.setup(ended, c.requests()[1:]); err == nil {
		t.Error("a cancelled setup succeeded")
	}
}
