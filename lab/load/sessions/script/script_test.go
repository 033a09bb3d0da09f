package script

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load/corpus"
	"dyno/lab/load/sessions"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, s corpus.Spec, n int, rate float64) record.Totals {
	t.Helper()
	d, err := New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sessions.Run(t.Context(), sessions.Config{Driver: d, Sessions: n, Rate: rate, Length: 400 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return r.Totals
}

// echo greets each client and echoes its messages. It closes a session of path /lose after two
// messages.
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

func overSockets(server *httptest.Server, path string) corpus.Spec {
	return corpus.Spec{Load: workload.Load{URL: strings.Replace(server.URL, "http", "ws", 1) + path, Headers: map[string]string{"X-Key": "k"}, Sessions: &workload.Session{
		Open: workload.Open{Subprotocols: []string{"a", "b"}}, Send: &workload.Send{Text: `{"n":${offer},"of":${session}}`},
		Expect: workload.Expect{Frames: workload.Match{Contains: `"of"`}, Ack: &workload.Ack{JSON: "n"}}}}}
}

// users are rows with a name and its number.
func users(t *testing.T, n int) *corpus.Rows {
	t.Helper()
	text := "n,user\n"
	for i := range n {
		text += fmt.Sprintf("%d,user%d\n", i, i)
	}
	rows, err := corpus.ReadCSV(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestSockets(t *testing.T) {
	server := echo(t)
	for name, change := range map[string]func(*workload.Session){
		"a JSON path":        func(*workload.Session) {},
		"a number in a text": func(s *workload.Session) { s.Expect.Ack = &workload.Ack{Matches: `"n":(\d+)`} },
		"each frame":         func(s *workload.Session) { s.Expect.Ack.JSON, s.Expect.Ack.Any = "", true },
		"binary messages": func(s *workload.Session) {
			s.Send.Base64 = base64.StdEncoding.EncodeToString([]byte(`"of" $$`))
			s.Expect.Ack = &workload.Ack{Any: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := overSockets(server, "/")
			change(s.Load.Sessions)
			got := run(t, s, 8, 25)
			if got.Offered != 80 || got.Completed != 80 || got.Failed != 0 || got.Sessions.Opened != 8 || got.Sessions.BytesPerS == 0 {
				t.Errorf("%+v, sessions %+v", got, got.Sessions)
			}
		})
	}
}

func TestLostAndRefusedSockets(t *testing.T) {
	server := echo(t)
	got := run(t, overSockets(server, "/lose"), 2, 25)
	if got.Offered != 20 || got.Completed != 4 || got.Errors["lost"] != 16 || got.Sessions.Lost != 2 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
	s := overSockets(server, "/")
	s.Load.Headers = nil
	if got = run(t, s, 2, 25); got.Sessions.Opened != 0 || got.Failed != 20 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

// open.messages are sent once, when a session has opened.
func TestMessagesAreSentOnce(t *testing.T) {
	s := overSockets(echo(t), "/")
	s.Load.Sessions.Send, s.Load.Sessions.Open.Messages = nil, []string{`{"of":"${session}/${row.user}"}`}
	s.Rows = users(t, 3)
	got := run(t, s, 3, 0)
	if got.Offered != 0 || got.Failed != 0 || got.Sessions.Lost != 0 || got.Sessions.Opened != 3 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

// Each message takes its own row, and a session that finds no row left ends.
func TestRowsThatAreSentOnce(t *testing.T) {
	seen := map[string]int{}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		for {
			kind, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			mu.Lock()
			_, row, _ := strings.Cut(string(message), "row")
			seen[row]++
			mu.Unlock()
			if conn.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	}))
	defer server.Close()
	s := overSockets(server, "/")
	s.Load.Sessions.Send.Text, s.Load.Sessions.Expect.Frames, s.Load.Once = `{"n":${offer},"row":"${row.n}"}`, workload.Match{Contains: `"row"`}, true
	s.Rows = users(t, 12)
	got := run(t, s, 2, 25)
	if got.Offered != 20 || got.Failed < 8 || got.Sessions.Lost != 2 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
	mu.Lock()
	defer mu.Unlock()
	for row := range 12 {
		if n := seen[fmt.Sprintf(`":"%d"}`, row)]; n > 1 {
			t.Errorf("row %d was sent %d times", row, n)
		}
	}
	if len(seen) < 10 || len(seen) > 12 { // each session's last message may be lost with it
		t.Errorf("the server received %v", seen)
	}
}

// hub is a server that sends what is posted to a path to the streams of that path.
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
	s := corpus.Spec{Load: workload.Load{URL: server.URL + "/${session}", Sessions: &workload.Session{Expect: workload.Expect{Ack: &workload.Ack{JSON: "data.n"}},
		Send: &workload.Send{URL: server.URL + "/${session}", Text: `{"data":{"n":${offer}}}`}}}}
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
		if _, err := New(corpus.Spec{Load: workload.Load{URL: text}}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s := script{Spec: corpus.Spec{Run: "r"}}
	if got := s.text("$$ $x ${run}${session}-${offer}$", 7, 9, nil); got != "$ $x r7-9$" {
		t.Errorf("%q", got)
	}
}

func TestUnreachable(t *testing.T) {
	for _, scheme := range []string{"ws", "http"} {
		got := run(t, corpus.Spec{Load: workload.Load{URL: scheme + "://127.0.0.1:1/"}}, 2, 0)
		if got.Sessions.Opened != 0 || got.ErrorShare() != 1 {
			t.Errorf("%+v", got.Sessions)
		}
	}
}
