package scripted

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load/sessions"
	"dyno/lab/record"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, s Script, n int, rate float64) record.Totals {
	t.Helper()
	d, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sessions.Run(t.Context(), sessions.Config{Driver: d, Sessions: n, Rate: rate, Length: 400 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return r.Totals
}

// echo answers each message with itself, after a greeting, and closes the session of path /lose
// after two messages.
func echo(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") == "" {
			http.Error(w, "no key", http.StatusForbidden)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"b"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		if conn.Write(r.Context(), websocket.MessageText, []byte(`{"hello":1}`)) != nil {
			return
		}
		for n := 0; r.URL.Path != "/lose" || n < 2; n++ {
			kind, message, err := conn.Read(r.Context())
			if err != nil || conn.Write(r.Context(), kind, message) != nil {
				return
			}
		}
		conn.Close(websocket.StatusGoingAway, "enough")
	}))
	t.Cleanup(server.Close)
	return server
}

func socketScript(server *httptest.Server, path string) Script {
	return Script{URL: Template(strings.Replace(server.URL, "http", "ws", 1) + path), Header: map[string]Template{"X-Key": "k"}, Subprotocols: []string{"a", "b"},
		Send: &Send{Body: `{"n":${offer},"of":${session}}`}, Frames: Match{Contains: `"of"`}, Ack: Ack{JSON: []string{"n"}}}
}

func TestSockets(t *testing.T) {
	server := echo(t)
	for name, change := range map[string]func(*Script){
		"a JSON path":        func(*Script) {},
		"a number in a text": func(s *Script) { s.Ack = Ack{Matches: regexp.MustCompile(`"n":(\d+)`)} },
		"each frame":         func(s *Script) { s.Ack = Ack{Any: true} },
		"binary messages":    func(s *Script) { s.Send.Binary = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := socketScript(server, "/")
			change(&s)
			got := run(t, s, 8, 25)
			if got.Offered != 80 || got.Completed != 80 || got.Failed != 0 || got.Sessions.Opened != 8 || got.Sessions.BytesPerS == 0 {
				t.Errorf("%+v, sessions %+v", got, got.Sessions)
			}
		})
	}
}

func TestLostAndRefusedSockets(t *testing.T) {
	server := echo(t)
	got := run(t, socketScript(server, "/lose"), 2, 25)
	if got.Offered != 20 || got.Completed != 4 || got.Errors["lost"] != 16 || got.Sessions.Lost != 2 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
	s := socketScript(server, "/")
	s.Header = nil
	if got = run(t, s, 2, 25); got.Sessions.Opened != 0 || got.Failed != 20 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

// Messages are sent once, when a session has opened.
func TestMessagesAreSentOnce(t *testing.T) {
	s := socketScript(echo(t), "/")
	s.Send, s.Messages = nil, []Template{`{"of":"${session}/${row.user}"}`}
	s.Row = func(i int, name string) (string, bool) { return fmt.Sprint("user", i), name == "user" }
	got := run(t, s, 3, 0)
	if got.Offered != 0 || got.Failed != 0 || got.Sessions.Lost != 0 || got.Sessions.Opened != 3 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

// Each offer takes a row of its own, and a session that finds none left ends.
func TestRowsThatAreSentOnce(t *testing.T) {
	s := socketScript(echo(t), "/")
	s.Send.Body, s.Frames, s.Once, s.Rows = `{"n":${offer},"row":"${row.n}"}`, Match{Contains: `"row"`}, true, 12
	seen := map[string]int{}
	var mu sync.Mutex
	s.Row = func(i int, name string) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprint(i)]++
		return fmt.Sprint(i), name == "n"
	}
	got := run(t, s, 2, 25)
	if got.Offered != 20 || got.Failed < 8 || got.Sessions.Lost != 2 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
	for row := range 12 {
		if n := seen[fmt.Sprint(row)]; n != 1 && row > 0 { // the first is also filled in by the check
			t.Errorf("row %d was used %d times", row, n)
		}
	}
}

// hub is a server whose streams carry what is posted to their path.
type hub struct {
	mu      sync.Mutex
	streams map[string]chan string
}

func (h *hub) stream(path string) chan string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[path] == nil {
		h.streams[path] = make(chan string, 100)
	}
	return h.streams[path]
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	events := h.stream(r.URL.Path)
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		events <- string(body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if r.Header.Get("Accept") != "text/event-stream" {
		http.Error(w, "no stream", http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": hello\n\nid: 1\n\n")
	for {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case e := <-events:
			fmt.Fprintf(w, "event: note\ndata: %s\n\n", e)
		}
	}
}

func TestEvents(t *testing.T) {
	server := httptest.NewServer(&hub{streams: map[string]chan string{}})
	defer server.Close()
	s := Script{URL: Template(server.URL + "/${session}"), Ack: Ack{JSON: []string{"data", "n"}},
		Send: &Send{URL: Template(server.URL + "/${session}"), Method: http.MethodPost, Body: `{"data":{"n":${offer}}}`}}
	got := run(t, s, 4, 25)
	if got.Offered != 40 || got.Completed != 40 || got.Sessions.Opened != 4 || got.Sessions.Lost != 0 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"ws://h/${offr}":   "unknown placeholder ${offr}",
		"ws://h/${offer":   "without an end",
		"ws://h/${row.x}":  "unknown placeholder ${row.x}",
		"ftp://h/":         "begins with ws, wss, http or https",
		"/path":            "not a URL with a host",
		"ws://h/$$${offer": "without an end",
	} {
		if _, err := New(Script{URL: Template(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s := Script{Run: "r"}
	if got := s.text("$$ $x ${run}${session}-${offer}$", 7, 9); got != "$ $x r7-9$" {
		t.Errorf("%q", got)
	}
}

func TestUnreachable(t *testing.T) {
	for _, scheme := range []string{"ws", "http"} {
		got := run(t, Script{URL: Template(scheme + "://127.0.0.1:1/")}, 2, 0)
		if got.Sessions.Opened != 0 || got.ErrorShare() != 1 {
			t.Errorf("%+v", got.Sessions)
		}
	}
}
