package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"dyno/lab/load/corpus"
	"dyno/lab/workload"
)

func TestEventReader(t *testing.T) {
	text := ": c\n\nid: 3\ndata: a\r\ndata:b\ndatum: x\r\n\r\nevent: e\n\ndata\n\ndata:  two\n\ndata: cut"
	e := newEventReader(strings.NewReader(text))
	all := 0
	for _, want := range []string{"a\nb", "", " two"} {
		data, n, err := e.next()
		if all += n; err != nil || string(data) != want {
			t.Fatalf("%q, %v; want %q", data, err, want)
		}
	}
	if _, n, err := e.next(); !errors.Is(err, io.EOF) || all+n < len(text)-5 {
		t.Errorf("%v after %d of %d bytes", err, all+n, len(text))
	}
}

// Whatever a server sends, next returns events and finally an error.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\ndata: b\n\n: c\r\nid: 1\n\n"))
	f.Add([]byte("data\n\n\ndata:\rx\n"))
	f.Add([]byte("\ufeffdata: a\r\rdata:b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		if whole, parts := eventsOf(bytes.NewReader(sent)), eventsOf(iotest.OneByteReader(bytes.NewReader(sent))); !slices.Equal(whole, parts) {
			t.Fatalf("%q; byte by byte %q", whole, parts)
		}
		e := newEventReader(bytes.NewReader(sent))
		for events := 0; ; events++ {
			data, _, err := e.next()
			if err != nil {
				return
			}
			if len(data) > len(sent) || events > len(sent) {
				t.Fatalf("%d events, the last of %d bytes, in %d bytes", events, len(data), len(sent))
			}
		}
	})
}

// eventsOf reads a stream to its end and returns its events.
func eventsOf(r io.Reader) (all []string) {
	e := newEventReader(r)
	for {
		data, _, err := e.next()
		if err != nil {
			return all
		}
		all = append(all, string(data))
	}
}

// testdata/events.json holds streams and, for each, the events of any type that the EventSource
// of Chromium 156 makes of it.
func TestEventsAsInBrowsers(t *testing.T) {
	text, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Stream string
		Events []string
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table) < 50 {
		t.Fatal(len(table), err)
	}
	for _, row := range table {
		if got := eventsOf(strings.NewReader(row.Stream)); !slices.Equal(got, row.Events) {
			t.Errorf("%q: %q, want %q", row.Stream, got, row.Events)
		}
	}
}

// An event that ends with CR is complete without the bytes that follow.
func TestCarriageReturnIsNotAwaited(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	e := newEventReader(r)
	for _, sent := range []string{"\ufeffdata: 1\r\r", "\ndata: 2\r\n\r", "data: 3\n\r"} {
		go io.WriteString(w, sent)
		want := sent[strings.Index(sent, ": ")+2:][:1]
		if data, _, err := e.next(); err != nil || string(data) != want {
			t.Errorf("%q: %q, %v", sent, data, err)
		}
	}
}

func TestOnlyStreamsOpen(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	const good = "text/event-stream"
	for path, media := range map[string]string{"/plain": "text/plain", "/none": "", "/json": "application/json; x=text/event-stream"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if media != "" {
				w.Header().Set("Content-Type", media)
			}
			io.WriteString(w, "data: 1\n\n")
		})
	}
	for path, media := range map[string]string{"/exact": good, "/charset": "Text/Event-Stream ; charset=utf-8", "/odd": good + ";;"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			io.WriteString(w, "data: 1\n\n")
		})
	}
	mux.HandleFunc("/away", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/made", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", good)
		w.WriteHeader(http.StatusCreated)
	})
	mux.Handle("/moved", http.RedirectHandler("/exact", http.StatusTemporaryRedirect))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.Handle("/other", http.RedirectHandler("http://events.example/x", http.StatusFound))
	for path, want := range map[string]string{
		"/exact": "", "/charset": "", "/odd": "", "/moved": "",
		"/plain": `"text/plain"`, "/none": `""`, "/json": `"application/json"`, "/away": "204 No Content", "/made": "201 Created",
		"/round": "302 Found", "/other": "events.example", "/missing": "404 Not Found",
	} {
		d, err := New(corpus.Spec{Load: workload.Load{URL: server.URL + path}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Open(t.Context(), 0)
		if fmt.Sprint(err) != "<nil>" != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if err == nil {
			if r, err := s.Receive(t.Context()); err != nil || r.Frames != 1 {
				t.Errorf("%s: %+v, %v", path, r, err)
			}
			s.Close()
		}
	}
}
