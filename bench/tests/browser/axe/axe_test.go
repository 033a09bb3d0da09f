// Package axe_test holds the pages of the lab and the services against the rules of axe-core, which
// comes from npm in the version of package-lock.json: in light and dark, on a screen and on a phone.
package axe_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"dyno/bench/tests/browser"
	"dyno/lab/live"
	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report/history"
	"dyno/lab/report/html"
	"dyno/lab/report/reporttest"
	"dyno/parts/debugpage"
	"dyno/parts/quicktest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// script returns axe-core.
func script(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm in PATH, so axe-core is not there; on Debian: apt-get install npm")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// page is a page to look at, once an expression is true.
type page struct{ name, url, ready string }

const drawn = `document.readyState === 'complete'`

// TestAxe: axe-core finds nothing on any page, and none scrolls sideways.
func TestAxe(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	browser.Installed(t)
	axe := script(t)
	for _, p := range append(append(reports(t), lives(t)...), board(t), past(t)) {
		t.Run(p.name, func(t *testing.T) {
			ctx, _ := browser.Open(t, p.url, 1440, 900, "light")
			for _, scheme := range []string{"light", "dark"} {
				for _, width := range []int64{1440, 400} {
					browser.Emulate(t, ctx, width, 900, scheme)
					browser.Visit(t, ctx, p.url)
					browser.Await(t, ctx, p.ready)
					browser.Fits(t, ctx, int(width))
					browser.Picture(t, ctx, fmt.Sprintf("%s-%d-%s", p.name, width, scheme))
					browser.Ask[bool](t, ctx, axe+`;true`)
					for _, found := range browser.Ask[[]string](t, ctx, `axe.run({resultTypes: ['violations']}).then(r => r.violations.flatMap(v => v.nodes.slice(0, 5).map(n => v.id + ': ' + n.target.join(' ') + ': ' + n.failureSummary.replace(/\s+/g, ' '))))`) {
						t.Errorf("%s, %d px: %s", scheme, width, found)
					}
				}
			}
		})
	}
}

// save writes a page to a file and returns its address.
func save(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".html")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// reports are pages of the reports that people look at most.
func reports(t *testing.T) (out []page) {
	all := reporttest.Reports()
	for _, name := range []string{"ladder", "diagnose", "compare", "capacity"} {
		r := all[name]
		out = append(out, page{"report-" + name, save(t, name, func(w io.Writer) error { return html.Page(w, r) }), drawn})
	}
	return out
}

// past is the page of a history with a regression.
func past(t *testing.T) page {
	var entries []history.Entry
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	commit := func(n int) history.Commit {
		return history.Commit{Hash: fmt.Sprintf("%08x%032d", n*0x5234567, 0), Title: fmt.Sprint(n), Subject: fmt.Sprintf("change the %dth thing", n), Time: day.AddDate(0, 0, n)}
	}
	for n := 1; n <= 40; n++ {
		ratio := 1.0
		if n == 31 {
			ratio = 0.8
		}
		figure := func(v float64) history.Figure {
			return history.Figure{Value: v, Interval: &[2]float64{v * 0.97, v * 1.03}}
		}
		work := 9000 + 50*float64(n%7)
		if n >= 31 {
			work *= 0.8
		}
		entries = append(entries, history.Entry{Schema: history.Schema, Name: "orders", Measured: day, Revision: commit(n), Against: commit(n - 1),
			Figures: map[string]history.Figure{history.Work: figure(work), history.CPU: {Value: 110}, history.Allocs: {Value: 44}},
			Before:  map[string]history.Figure{history.Work: figure(work / ratio), history.CPU: {Value: 110}, history.Allocs: {Value: 44}},
			Ratios: map[string]history.Ratio{history.Work: {Ratio: ratio, Interval: &[2]float64{ratio * 0.99, ratio * 1.01}},
				history.CPU: {Ratio: 1, Interval: &[2]float64{0.99, 1.01}}, history.Allocs: {Ratio: 1, Interval: &[2]float64{0.99, 1.01}}}})
	}
	return page{"history", save(t, "history", func(w io.Writer) error { return html.History(w, entries) }), drawn}
}

// lives are the pages of experiments in progress: a run, turns, a search, and the list of all.
func lives(t *testing.T) []page {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "run"), record.KindCapacity, time.Now(), "plain")
	m.Search("plain", 1000)
	m.Begin(record.RoleSearch, "plain", 0, 2000).Grow(60)
	turns(livetest.New(t, filepath.Join(dir, "turns"), record.KindCompare, time.Now(), "old", "new"))
	step := func(name, kind string, variants ...string) *livetest.Made {
		m := livetest.New(t, filepath.Join(dir, "tune", name), kind, time.Now(), variants...)
		m.Exp.Command = []string{"dyno", "tune", "shop.yaml"}
		return m
	}
	start := step("start", record.KindCapacity, "plain")
	start.Search("plain", 1000)
	start.Finish()
	done := step("search-1", record.KindCompare, "plain", "GOGC=200")
	turns(done)
	done.Finish()
	turns(step("search-2", record.KindCompare, "plain", "GOGC=400"))
	s := httptest.NewServer(live.New(live.Options{Dir: dir}).Handler())
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	const rounds = `document.querySelectorAll('#turn-panels canvas').length >= 3`
	return []page{
		{"live-list", s.URL + "/", drawn},
		{"live-run", s.URL + "/run/run/", `document.querySelectorAll('#panels canvas').length >= 8`},
		{"live-turns", s.URL + "/run/turns/", rounds},
		{"live-search", s.URL + "/run/tune/", rounds + ` && document.querySelector('.strip')`},
	}
}

// turns adds rounds of slices.
func turns(m *livetest.Made) {
	for block := 1; block <= 20; block++ {
		for _, v := range m.Exp.Variants {
			m.Slice(record.SliceWork, v.Name, block)
			m.Slice(record.SliceSLO, v.Name, block)
		}
	}
	m.Exp.InProgress = &record.InProgress{PID: os.Getpid(), Ends: time.Now().Add(time.Hour)}
	folder.Save(m.Exp)
}

// board is a service's debug page, of which the server has kept what was before.
func board(t *testing.T) page {
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "toy_requests_total"}, []string{"route"})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "toy_seconds"})
	registry.MustRegister(requests, took)
	b := debugpage.Board{Name: "toyd", Figures: []debugpage.Figure{
		{Title: "Requests", Kind: debugpage.Rate, Metric: "toy_requests_total", Note: "of all routes"},
		{Title: "Time to answer, p99", Kind: debugpage.P99, Metric: "toy_seconds", Unit: debugpage.Seconds},
	}, Tables: []debugpage.Table{{Title: "Routes", Row: "Route", Label: "route", None: "none", Columns: []debugpage.Figure{{Title: "Requests", Kind: debugpage.Rate, Metric: "toy_requests_total"}}}}}
	recent := debugpage.NewRecent(b.Figures, registry)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() { recent.Run(ctx); close(ended) }()
	mux := http.NewServeMux()
	mux.Handle("GET /debug/toy/{$}", b.Handler())
	mux.Handle("GET /debug/toy/recent", recent)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		requests.WithLabelValues("/orders").Add(300)
		took.Observe(0.012)
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		cancel()
		<-ended
	})
	return page{"board", s.URL + "/debug/toy/", `document.querySelector('.figure .value').textContent !== '–' && document.querySelector('tbody td')`}
}
