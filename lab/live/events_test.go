package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/lab/record/folder"

	"pgregory.net/rapid"
)

// wireEvent is an event as a client reads it.
type wireEvent struct{ id, name, data string }

// nextEvent reads one event, byte by byte so that it reads nothing of the next.
func nextEvent(t *testing.T, r io.Reader) (e wireEvent) {
	t.Helper()
	var b strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(b.String(), "\n\n"); {
		n, err := r.Read(one)
		b.Write(one[:n])
		if err != nil && n == 0 {
			t.Fatalf("the stream ended after %q: %v", b.String(), err)
		}
	}
	for lines := bufio.NewScanner(strings.NewReader(b.String())); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		}
	}
	return e
}

// kinds are the kinds of events, in order, and how many points they brought.
func kinds(events []event) (out string, windows int) {
	var names []string
	for _, e := range events {
		names = append(names, e.kind)
		if p, ok := e.data.(points); ok {
			windows += len(p.T)
		}
	}
	return strings.Join(names, " "), windows
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "x"), record.KindCapacity, time.Now(), "plain", "two words")
	f := &follower{index: newIndex(dir), name: "x", fresh: true}
	expect := func(when, want string, windows int) []event {
		t.Helper()
		events, err := f.changes()
		if err != nil {
			t.Fatal(err)
		}
		if got, n := kinds(events); got != want || n != windows {
			t.Fatalf("%s: %q with %d windows, want %q with %d", when, got, n, want, windows)
		}
		return events
	}
	expect("nothing runs", "run", 0)
	expect("still nothing", "", 0)
	run := m.Begin(record.RoleSearch, "two words", 0, 1000)
	news := expect("a run begins", "run", 0)[0].data.(runNews)
	if news.Words != "run 1: two words, search" || news.Bound != 20 {
		t.Errorf("the run is announced as %+v", news)
	}
	run.Grow(12)
	p := expect("it grows", "points", 12)[0].data.(points)
	if p.T[0] != 0 || p.T[11] != 1.1 || p.Phase[0] != "warmup" || p.Phase[11] != "measure" {
		t.Errorf("times %v, phases %v", p.T, p.Phase)
	}
	if len(p.Series["p99"]) != 12 || len(p.Gauges["queue_depth"]) != 12 || p.Series["offered"][0] != 1000 {
		t.Errorf("series: %v, gauges: %v", p.Series, p.Gauges)
	}
	expect("it rests", "", 0)

	// Half a line is left for the next look.
	series := filepath.Join(m.Exp.RunDir(run.Run.ID), folder.SeriesFile)
	line, err := json.Marshal(record.Window{Start: int64(1012) * int64(record.WindowLength), Phase: "measure"})
	if err != nil {
		t.Fatal(err)
	}
	add := func(b []byte) {
		t.Helper()
		file, err := os.OpenFile(series, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	add(line[:20])
	expect("half a line", "", 0)
	add(append(line[20:], '\n'))
	expect("the other half", "points", 1)
	add([]byte("not a window\n"))
	add(append(line, '\n'))
	expect("something else in between", "points", 1)

	// A client that comes again goes on where it was; one that knows another run begins anew.
	again := &follower{index: f.index, name: "x", at: f.at}
	if events, err := again.changes(); err != nil || len(events) != 0 {
		t.Errorf("to a client that has seen everything: %v (%v)", events, err)
	}
	stale := &follower{index: f.index, name: "x", at: position{Run: "007-other"}}
	events, err := stale.changes()
	if got, n := kinds(events); got != "run points" || n != 14 || err != nil {
		t.Errorf("to a client that knows another run: %q with %d windows (%v)", got, n, err)
	}
	beyond := &follower{index: f.index, name: "x", at: position{Reported: 99, Run: f.at.Run, Offset: 1 << 40}}
	events, err = beyond.changes()
	if got, n := kinds(events); got != "points" || n != 14 || err != nil {
		t.Errorf("to a client beyond the end: %q with %d windows (%v)", got, n, err)
	}
	m.Search("plain", 2000)
	m.Finish()
	last := expect("it ends", "row end", 0)
	if html := last[0].data.(string); !strings.Contains(html, "<tr>") || !strings.Contains(html, "001-search-plain") {
		t.Errorf("the row is %s", html)
	}
	if err := os.RemoveAll(m.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := f.changes(); !errors.Is(err, errNone) {
		t.Errorf("of a removed experiment: %v", err)
	}
}

// A client that connects late receives the end of a long run, in pieces of limited size.
func TestFollowFromFarBehind(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "x"), record.KindLoad, time.Now(), "plain")
	run := m.Begin(record.RoleSingle, "plain", 0, 1000)
	const windows = 6000
	run.Grow(windows)
	f := &follower{index: newIndex(dir), name: "x", fresh: true}
	last, got := 0.0, 0
	for range 100 {
		events, err := f.changes()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if p, ok := e.data.(points); ok {
				got += len(p.T)
				last = p.T[len(p.T)-1]
				if len(p.T) > 5000 {
					t.Errorf("%d windows in one event", len(p.T))
				}
			}
		}
	}
	if want := float64(windows-1) / 10; last != want || got >= windows || got < 1000 {
		t.Errorf("%d windows up to %v s were sent, want the last thousands up to %v s", got, last, want)
	}
}

func TestEvents(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "x"), record.KindCapacity, time.Now(), "plain")
	m.Search("plain", 1000)
	run := m.Begin(record.RoleSearch, "plain", 0, 2000).Grow(5)
	s := New(Options{Dir: dir})
	s.pace.interval = time.Millisecond
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	listen := func(after string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/run/x/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", after)
		return server.Client().Do(r)
	}
	resp, err := listen("")
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	for _, want := range []string{eventRow, eventRun, eventPoints} {
		if e := nextEvent(t, resp.Body); e.name != want || !json.Valid([]byte(e.data)) {
			t.Fatalf("event %+v, want %s", e, want)
		}
	}
	run.Grow(1)
	seen := nextEvent(t, resp.Body)
	if seen.name != eventPoints || !strings.Contains(seen.data, `"t":[0.5]`) {
		t.Fatalf("event %+v, want one point at 0.5 s", seen)
	}
	resp.Body.Close()

	run.Grow(1)
	resp, err = listen(seen.id)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if e := nextEvent(t, resp.Body); e.name != eventPoints || !strings.Contains(e.data, `"t":[0.6]`) {
		t.Fatalf("a client that comes again is first reported %+v", e)
	}
	run.End()
	m.Finish()
	for e := nextEvent(t, resp.Body); e.name != eventEnd; e = nextEvent(t, resp.Body) {
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("after the end there is %q (%v)", rest, err)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	dir, _ := shop(t)
	s := New(Options{Dir: dir})
	for range maxStreams {
		s.streams <- struct{}{}
	}
	if w := get(t, s, "/run/shop/events"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one client too many has status %d", w.Code)
	}
}

// stuck is a client that stops reading after some events.
type stuck struct {
	*httptest.ResponseRecorder
	takes     int
	deadlines int
}

func (s *stuck) SetWriteDeadline(t time.Time) error {
	if time.Until(t) > 0 {
		s.deadlines++
	}
	return nil
}

func (s *stuck) FlushError() error {
	if s.takes--; s.takes < 0 {
		return os.ErrDeadlineExceeded
	}
	return nil
}

func TestStuckClientIsDropped(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "x"), record.KindCapacity, time.Now(), "plain")
	m.Begin(record.RoleSearch, "plain", 0, 2000).Grow(5)
	s := New(Options{Dir: dir})
	s.pace = pace{interval: time.Millisecond, beat: time.Millisecond, patience: time.Second}
	w := &stuck{ResponseRecorder: httptest.NewRecorder(), takes: 4}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/run/x/events", nil)
	r.SetPathValue("name", "x")
	s.events(w, r) // returns although the run is in progress
	if w.deadlines != 5 || !strings.Contains(w.Body.String(), "\n:\n\n") {
		t.Errorf("%d deadlines were set, and the client read %q", w.deadlines, w.Body)
	}
	if len(s.streams) != 0 {
		t.Error("its place was not given back")
	}
}

func TestPositionReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := position{rapid.IntRange(0, 1<<30).Draw(t, "reported"), rapid.StringMatching(`([0-9]{3}-[a-zA-Z0-9._-]{1,60})?`).Draw(t, "run"), rapid.Int64Range(0, 1<<60).Draw(t, "offset")}
		if got, err := parsePosition(want.String()); err != nil || got != want {
			t.Fatalf("%+v became %+v (%v)", want, got, err)
		}
	})
}

// Any client input is parsed or refused, and a parsed position is written back unchanged.
func FuzzPosition(f *testing.F) {
	for _, s := range []string{"", "0/0/", "3/600/003-search-plain", "1/-1/x", "1/1/../../x", "1/1/a\nevent: end", "99999999999999999999/0/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePosition(s)
		if err != nil {
			return
		}
		if p.Reported < 0 || p.Offset < 0 || strings.ContainsAny(p.Run, "/\n\r\x00") {
			t.Fatalf("%q was read as %+v", s, p)
		}
		if again, err := parsePosition(p.String()); err != nil || again != p {
			t.Fatalf("%q became %+v, then %+v (%v)", s, p, again, err)
		}
	})
}
