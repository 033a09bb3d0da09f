package push

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
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
func listen(c *notifytest.Client, query string, header http.Header) *stream {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.T.Context(), servicetest.Patience)
	req, err := http.NewRequestWithContext(ctx, "GET", c.Program.URL+"/v1/stream"+query, nil)
	if err != nil {
		c.T.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		c.T.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(got, "text/event-stream") {
		c.T.Fatalf("GET /v1/stream%s: %d, %q", query, resp.StatusCode, got)
	}
	s := &stream{t: c.T, body: resp.Body, lines: bufio.NewReader(resp.Body), cancel: cancel}
	c.T.Cleanup(s.close)
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
		n, err := notifytest.ParseOne([]byte(e.data))
		if got := fmt.Sprintf("%s@%d", n.ID, e.id); err != nil || e.name != "" || got != want {
			s.t.Fatalf("got %s (%+v, %v), want %s", got, e, err, want)
		}
	}
}

func streams(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.One, notifytest.Notice("before", "k", "t", "1"))
	s := listen(c, "", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("a", "k", "t", `{"x" : "<>"}`), notifytest.Notice("b", "k", "u", "2")))
	s.wants("a@2", "b@3")
	c.Post(notifytest.One, notifytest.Notice("c", "k", "t", "{\n\"x\":\n1}"))
	e, err := s.next()
	c.Quiet()
	hooks := r.Hooks()
	if err != nil || e.id != 4 || e.data != hooks[len(hooks)-1].Notices[0].Body {
		t.Errorf("event %+v, %v; its webhook %q", e, err, hooks[len(hooks)-1].Notices[0].Body)
	}
}

func streamsByType(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	some, all := listen(c, "?types=a,b.*", nil), listen(c, "?types=*", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "k", "a", "1"), notifytest.Notice("2", "k", "b", "1"), notifytest.Notice("3", "k", "b.c", "1"), notifytest.Notice("4", "k", "a.b", "1"), notifytest.Notice("5", "k", "a", "1")))
	some.wants("1@1", "3@3", "5@5")
	all.wants("1@1", "2@2", "3@3", "4@4", "5@5")
}

// resumes checks that a stream begins after the requested number, and that the Last-Event-ID that
// an EventSource sends automatically takes precedence over the number in the URL.
func resumes(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 5, 2)...))
	listen(c, "?after=3", nil).wants("n003@4", "n004@5")
	listen(c, "?after=0", nil).wants("n000@1", "n001@2")
	listen(c, "?after=0", http.Header{"Last-Event-Id": {"4"}}).wants("n004@5")
	last := listen(c, "?after=5", nil)
	c.Post(notifytest.One, notifytest.Notice("new", "k", "t", "1"))
	last.wants("new@6")
}

func resumesAfterRestart(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	s := listen(c, "", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 3, 2)...))
	s.wants("n000@1", "n001@2")
	s.close()
	c.Restart(c.Program.Kill != nil)
	s = listen(c, "", http.Header{"Last-Event-Id": {"2"}})
	s.wants("n002@3")
	c.Post(notifytest.One, notifytest.Notice("new", "k", "t", "1"))
	s.wants("new@4")
}

// resumesElsewhere holds that a number which is not of this log, as browsers go on sending it after
// the folder was replaced, does not end a stream for good: the client gets all that is kept, and
// learns that it starts anew.
func resumesElsewhere(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	for i, seen := range []string{"1", "5000", "18446744073709551615", "99999999999999999999", "invented"} {
		s := listen(c, "?after=0", http.Header{"Last-Event-Id": {seen}})
		if e, err := s.next(); err != nil || e.name != "reset" || e.id != 0 || e.data != `{"from":1}` {
			t.Fatalf("Last-Event-ID %s: %+v, %v", seen, e, err)
		}
		if i == 0 {
			c.Post(notifytest.One, notifytest.Notice("a", "k", "t", "1"))
		}
		s.wants("a@1")
	}
	again := listen(c, "", http.Header{"Last-Event-Id": {"0"}}) // as the browser does from now on
	again.wants("a@1")
	m := dial(c, "?after=5000")
	if first, err := m.next(); err != nil || first.Reset == nil || first.Reset.From != 1 {
		t.Errorf("over WebSocket: %+v, %v", first, err)
	}
	m.wants("a@1")
}

func refusesStreams(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	for _, path := range []string{"/v1/stream?after=x", "/v1/stream?after=-1", "/v1/stream?types=a*b", "/v1/ws?after=x", "/v1/ws?types=*.a"} {
		c.Must(400, "GET", path)
	}
}

// endsStreams holds that an open stream does not keep the program from stopping.
func endsStreams(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	s := listen(c, "", nil)
	m := dial(c, "")
	ended := make(chan error, 1)
	go func() { _, err := m.next(); ended <- err }() // while the server waits for this client to confirm the close
	c.Stop()
	if e, err := s.next(); err == nil {
		t.Errorf("after the stop came %+v", e)
	}
	if <-ended == nil {
		t.Error("after the stop came a message")
	}
}
