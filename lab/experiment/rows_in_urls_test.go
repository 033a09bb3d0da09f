package experiment

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// seen records the requests of a load.
type seen struct {
	mu  sync.Mutex
	all map[string]bool
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.all[r.Method+" "+r.RequestURI+" "+r.Header.Get("X-Row")] = true
	s.mu.Unlock()
	if r.Header.Get("Accept") != "text/event-stream" {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range time.Tick(5 * time.Millisecond) {
		if _, err := io.WriteString(w, "data: 1\n\n"); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
	}
}

// A row's value reaches the path, the query and the headers of every kind of load, percent-encoded
// in a URL.
func TestRowsInURLs(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "rows.csv"), []byte("x,y\na/b,\"c d\"\ne?é,f&g\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "/é%20i/${row.x}/z?q=${row.y}&n=1"
	want := []string{"/%C3%A9%20i/a%2Fb/z?q=c+d&n=1 c d", "/%C3%A9%20i/e%3F%C3%A9/z?q=f%26g&n=1 f&g"}
	for name, load := range map[string]string{
		"raw":      `{engine: raw, url: "URL", headers: {X-Row: "${row.y}"}, schedule: {kind: constant, rate: 100}, FEED}`,
		"std":      `{engine: std, url: "URL", headers: {X-Row: "${row.y}"}, schedule: {kind: constant, rate: 100}, FEED}`,
		"class":    `{url: "HOST", classes: [{name: one, path: "/%C3%A9%20i/${row.x}/z?q=${row.y}&n=1", headers: {X-Row: "${row.y}"}}], schedule: {kind: constant, rate: 100}, FEED}`,
		"sessions": `{kind: sessions, url: "URL", headers: {X-Row: "${row.y}"}, sessions: 2, FEED}`,
	} {
		s := &seen{all: map[string]bool{}}
		server := httptest.NewServer(s)
		load = strings.NewReplacer("URL", server.URL+url, "HOST", server.URL, "FEED", fmt.Sprintf("feeder: {file: %q}", filepath.Join(folder, "rows.csv"))).Replace(load)
		sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, "name: rows\nmode: load\ntarget: {url: %q}\nload: %s\nmeasure: {length: 300ms, warmup: 100ms}\n", server.URL, load))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
		if err != nil || exp.Outcome.Status != record.OutcomeComplete {
			t.Fatalf("%s: %v, %+v", name, err, exp)
		}
		server.CloseClientConnections()
		server.Close()
		for _, w := range want {
			if !s.all["GET "+w] || len(s.all) != len(want) {
				t.Errorf("%s: the server received %v, want %s", name, s.all, w)
			}
		}
	}
}
