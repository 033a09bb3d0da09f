package notifytest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// event is one server-sent event.
type event struct {
	name string // of its type; "": message
	id   uint64
	data string
}

// stream is an open GET /v1/stream.
type stream struct {
	t      testing.TB
	body   io.ReadCloser
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// listen opens a stream. It is open when the program has answered: nothing posted later is missed.
func (c *client) listen(query string, header http.Header) *stream {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	req, err := http.NewRequestWithContext(ctx, "GET", c.program.URL+"/v1/stream"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(got, "text/event-stream") {
		c.t.Fatalf("GET /v1/stream%s: %d, %q", query, resp.StatusCode, got)
	}
	s := &stream{t: c.t, body: resp.Body, lines: bufio.NewReader(resp.Body), cancel: cancel}
	c.t.Cleanup(s.close)
	return s
}

func (s *stream) close() {
	s.cancel()
	s.body.Close()
}

// next reads an event, passing over comments.
func (s *stream) next() (event, error) {
	var e event
	var data []string
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			if e.id, err = strconv.ParseUint(value, 10, 64); err != nil {
				return e, err
			}
		case "event":
			e.name = value
		case "data":
			data = append(data, value)
		case "":
			if line == "\n" && data != nil {
				e.data = strings.Join(data, "\n")
				return e, nil
			}
		}
	}
}

// wants reads the events that must come next: notices, by id and number.
func (s *stream) wants(what ...string) {
	s.t.Helper()
	for _, want := range what {
		e, err := s.next()
		if err != nil {
			s.t.Fatalf("waiting for %s: %v", want, err)
		}
		n, err := parseOne([]byte(e.data))
		if got := fmt.Sprintf("%s@%d", n.ID, e.id); err != nil || e.name != "" || got != want {
			s.t.Fatalf("got %s (%+v, %v), want %s", got, e, err, want)
		}
	}
}

func streams(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	c.post(one, notice("before", "k", "t", "1"))
	s := c.listen("", nil)
	c.post(batch, lines(notice("a", "k", "t", `{"x" : "<>"}`), notice("b", "k", "u", "2")))
	s.wants("a@2", "b@3")
	c.post(one, notice("c", "k", "t", "{\n\"x\":\n1}"))
	e, err := s.next()
	c.quiet()
	hooks := r.hooks()
	if err != nil || e.id != 4 || e.data != hooks[len(hooks)-1].notices[0].body {
		t.Errorf("event %+v, %v; its webhook %q", e, err, hooks[len(hooks)-1].notices[0].body)
	}
}

func streamsByType(t *testing.T, start Start) {
	c := open(t, start, limits)
	some, all := c.listen("?types=a,b.*", nil), c.listen("?types=*", nil)
	c.post(batch, lines(notice("1", "k", "a", "1"), notice("2", "k", "b", "1"), notice("3", "k", "b.c", "1"), notice("4", "k", "a.b", "1"), notice("5", "k", "a", "1")))
	some.wants("1@1", "3@3", "5@5")
	all.wants("1@1", "2@2", "3@3", "4@4", "5@5")
}

// resumes checks that a stream begins after the requested number, and that the Last-Event-ID that
// an EventSource sends automatically takes precedence over the number in the URL.
func resumes(t *testing.T, start Start) {
	c := open(t, start, limits)
	c.post(batch, lines(series("n", 5, 2)...))
	c.listen("?after=3", nil).wants("n003@4", "n004@5")
	c.listen("?after=0", nil).wants("n000@1", "n001@2")
	c.listen("?after=0", http.Header{"Last-Event-Id": {"4"}}).wants("n004@5")
	last := c.listen("?after=5", nil)
	c.post(one, notice("new", "k", "t", "1"))
	last.wants("new@6")
}

func resumesAfterRestart(t *testing.T, start Start) {
	c := open(t, start, limits)
	s := c.listen("", nil)
	c.post(batch, lines(series("n", 3, 2)...))
	s.wants("n000@1", "n001@2")
	s.close()
	c.restart(c.program.Kill != nil)
	s = c.listen("", http.Header{"Last-Event-Id": {"2"}})
	s.wants("n002@3")
	c.post(one, notice("new", "k", "t", "1"))
	s.wants("new@4")
}

// resumesElsewhere holds that a number which is not of this log, as browsers go on sending it after
// the folder was replaced, does not end a stream for good: the client gets all that is kept, and
// learns that it starts anew.
func resumesElsewhere(t *testing.T, start Start) {
	c := open(t, start, limits)
	for i, seen := range []string{"1", "5000", "18446744073709551615", "99999999999999999999", "invented"} {
		s := c.listen("?after=0", http.Header{"Last-Event-Id": {seen}})
		if e, err := s.next(); err != nil || e.name != "reset" || e.id != 0 || e.data != `{"from":1}` {
			t.Fatalf("Last-Event-ID %s: %+v, %v", seen, e, err)
		}
		if i == 0 {
			c.post(one, notice("a", "k", "t", "1"))
		}
		s.wants("a@1")
	}
	again := c.listen("", http.Header{"Last-Event-Id": {"0"}}) // as the browser does from now on
	again.wants("a@1")
	m := c.dial("?after=5000")
	if first, err := m.next(); err != nil || first.Reset == nil || first.Reset.From != 1 {
		t.Errorf("over WebSocket: %+v, %v", first, err)
	}
	m.wants("a@1")
}

func refusesStreams(t *testing.T, start Start) {
	c := open(t, start, limits)
	for _, path := range []string{"/v1/stream?after=x", "/v1/stream?after=-1", "/v1/stream?types=a*b", "/v1/ws?after=x", "/v1/ws?types=*.a"} {
		c.must(400, "GET", path)
	}
}

// endsStreams holds that an open stream does not keep the program from stopping.
func endsStreams(t *testing.T, start Start) {
	c := open(t, start, limits)
	s := c.listen("", nil)
	m := c.dial("")
	ended := make(chan error, 1)
	go func() { _, err := m.next(); ended <- err }() // while the server waits for this client to confirm the close
	c.stop()
	if e, err := s.next(); err == nil {
		t.Errorf("after the stop came %+v", e)
	}
	if <-ended == nil {
		t.Error("after the stop came a message")
	}
}
