// Package boards looks at pages of figures (parts/debugpage) in a browser.
package boards

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"dyno/bench/tests/browser"
	"dyno/parts/debugpage"
	"dyno/parts/quicktest"
)

// hostile is what a label may hold.
const hostile = `<img src=x onerror=alert(1)>`

var board = debugpage.Board{
	Name: "toyd",
	Figures: []debugpage.Figure{
		{Title: "Requests", Kind: debugpage.Rate, Metric: "toy_requests_total"},
		{Title: "Good", Kind: debugpage.Share, Metric: "toy_good_total", Of: "toy_requests_total", Unit: debugpage.Part},
		{Title: "Time", Kind: debugpage.P99, Metric: "toy_seconds", Unit: debugpage.Seconds},
		{Title: "Mean", Kind: debugpage.Mean, Metric: "toy_seconds", Unit: debugpage.Seconds},
		{Title: "Heap", Kind: debugpage.Now, Metric: "toy_heap", Unit: debugpage.Bytes},
		{Title: "Lacking", Kind: debugpage.Now, Metric: "toy_lacking"},
	},
	Tables: []debugpage.Table{
		{Title: "Servers", Row: "Server", Label: "server", None: "none", Columns: []debugpage.Figure{{Title: "In flight", Kind: debugpage.Now, Metric: "toy_in_flight"}}},
		{Title: "Peers", Row: "Peer", Label: "peer", None: "There are no peers.", Columns: []debugpage.Figure{{Title: "Queue", Kind: debugpage.Now, Metric: "toy_queue"}}},
	},
}

// The page says of metrics what it should: each question finds 100 requests more than the last, of
// which 75 were good and took between 10 and 20 ms.
func TestBoard(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.Handle("GET /debug/toy/{$}", board.Handler())
	// What the server has kept: 400 requests a second until a minute ago, and nothing of the others.
	mux.HandleFunc("GET /debug/toy/recent", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ages_s":[66,63,60],"figures":[[400,400,400],[null,null,null],[null,null,null],[null,null,null],[null,null,null],[null,null,null]]}`)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if asked.Load() > 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "draining")
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		n := 100 * asked.Add(1)
		fmt.Fprintf(w, "# HELP toy_requests_total all\ntoy_requests_total{code=\"200\"} %d\ntoy_requests_total{code=\"500\"} %d\ntoy_good_total %d\n", n*3/4, n/4, n*3/4)
		fmt.Fprintf(w, "toy_seconds_bucket{le=\"0.01\"} 0\ntoy_seconds_bucket{le=\"0.02\"} %d\ntoy_seconds_bucket{le=\"+Inf\"} %[1]d\ntoy_seconds_sum %g\ntoy_seconds_count %[1]d\n", n, 0.015*float64(n))
		fmt.Fprintf(w, "toy_heap 2.097152e+06\ntoy_in_flight{server=%q} 7\ntoy_in_flight{server=\"b\\\"\\\\c\"} 1\n", hostile)
		fmt.Fprintf(w, "process_start_time_seconds 1.7e9\nprocess_cpu_seconds_total %g\nprocess_resident_memory_bytes 3.145728e+06\ngo_goroutines 12\n", float64(n)/1000)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	ctx, w := browser.Open(t, s.URL+"/debug/toy/", 1280, 900, "light")
	figure := func(n int) string {
		return fmt.Sprintf(`document.querySelectorAll('.figure .value')[%d].textContent`, n)
	}
	browser.Await(t, ctx, `document.querySelector('tbody td')`) // of two answers
	const past = `(p => { p.focus(); for (const key of ['PageUp', 'PageUp']) p.dispatchEvent(new KeyboardEvent('keydown', {key})); const text = document.querySelector('.figure .value').textContent; p.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'})); return text; })(document.querySelector('.figure .plot'))`
	if got := browser.Ask[string](t, ctx, past); got != "400/s" {
		t.Errorf("a minute before the page was opened there were %s", got)
	}
	for what, expression := range map[string]string{
		"a rate":             `/^[\d,.]+\/s$/.test(` + figure(0) + `)`,
		"a share":            figure(1) + ` === '75%'`,
		"a quantile":         figure(2) + ` === '19.9 ms'`,
		"a mean":             figure(3) + ` === '15 ms'`,
		"bytes":              figure(4) + ` === '2.0 MiB'`,
		"what is not there":  figure(5) + ` === '–'`,
		"the process":        `/^up .* d.* · \d+\.\d\d cores · 3\.0 MiB · 12 goroutines$/.test(document.getElementById('facts').textContent)`,
		"a row for a label":  `[...document.querySelectorAll('tbody th')].map(e => e.textContent).join('|') === ` + fmt.Sprintf("%q", hostile+`|b"\c`),
		"a cell":             `document.querySelector('tbody td').textContent === '7'`,
		"no element of it":   `document.querySelectorAll('img').length === 0`,
		"an empty table":     `[...document.querySelectorAll('.empty')].filter(e => !e.hidden).map(e => e.textContent).join() === 'There are no peers.'`,
		"that it has answer": `document.getElementById('connection').textContent === 'live'`,
	} {
		if !browser.Ask[bool](t, ctx, expression) {
			t.Errorf("the page does not show %s: %s", what, browser.Ask[string](t, ctx, `document.body.innerText`))
		}
	}
	browser.Await(t, ctx, `document.getElementById('state').textContent === 'draining' && document.title === '(draining) toyd'`)
	requests, troubles := w.Saw()
	for _, url := range requests {
		if len(url) < len(s.URL) || url[:len(s.URL)] != s.URL {
			t.Errorf("the page asked %s", url)
		}
	}
	for _, trouble := range troubles {
		t.Logf("console: %s", trouble) // the status of /readyz is there
	}
	s.CloseClientConnections()
	s.Close()
	browser.Await(t, ctx, `!document.getElementById('lost').hidden && document.title === '(no answer) toyd'`)
}
