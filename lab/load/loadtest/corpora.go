package loadtest

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/workload"
)

// testUnits checks that a request counts as its number of units, and that each failing member of
// the answer is one failure.
func testUnits(t *testing.T, open New) {
	const units, broken = 4, 1
	requests := get()
	requests.Units = units
	requests.Classes[0].Check.JSON = []workload.JSONTest{{Path: "*.result", Exists: true}}
	body := `[{"result":1},{"error":{"code":-32000}},{"result":2},{"result":3}]`
	s := serve(t, answer("HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body))
	var accepted atomic.Int64
	requests.Accepted = func(_ uint64, answer []byte) {
		if string(answer) == body {
			accepted.Add(1)
		}
	}
	plan := burst(each, connections)
	plan.Units = units
	totals := drive(t, t.Context(), plan, open(s.url, requests, connections))
	expect(t, totals, each*units, "200")
	if accepted.Load() != each {
		t.Errorf("%d of %d answers were passed on", accepted.Load(), each)
	}
	if totals.Ended != each*units || totals.Failed != each*broken || totals.Errors["check"] != each*broken || totals.Status["200"] != each*units {
		t.Errorf("%d requests of %d units with %d failures each: ended %d, failed %d, errors %v, status %v",
			each, units, broken, totals.Ended, totals.Failed, totals.Errors, totals.Status)
	}
}

// testOnce checks that several drives together send each request once, in order over one
// connection, and that the load ends when all were sent.
func testOnce(t *testing.T, open New) {
	const many = 10
	requests := &corpus.Corpus{Classes: make([]corpus.Class, 1), Supply: &corpus.Supply{}}
	var want []string
	for i := range many {
		requests.Requests = append(requests.Requests, corpus.Request{Method: http.MethodGet, Path: "/" + strconv.Itoa(i)})
		want = append(want, "/"+strconv.Itoa(i))
	}
	var mu sync.Mutex
	var seen []string
	s := serve(t, func(p *peer) {
		for {
			r, _, ok := p.request()
			if !ok {
				return
			}
			mu.Lock()
			seen = append(seen, r.URL.Path)
			mu.Unlock()
			p.send(ok128)
		}
	})
	d := open(s.url, requests, 1)
	first := load.Plan{Connections: 1, Length: testTimeout, Timeout: testTimeout, Count: 3}
	drive(t, t.Context(), first, d)
	if left := requests.Left(); left != many-3 {
		t.Errorf("%d requests are left after 3 of %d", left, many)
	}
	drive(t, t.Context(), burst(2, 1), d)
	for _, rest := range []load.Plan{{Connections: 1, Length: testTimeout, Timeout: testTimeout}, burst(3, 1)} {
		totals, _, err := load.Run(t.Context(), rest, d, &windows{})
		if !errors.Is(err, load.ErrUsedUp) || totals.Unfinished > 0 || totals.Failed > 0 {
			t.Errorf("the corpus was used up: error %v, %d unfinished, %d failed", err, totals.Unfinished, totals.Failed)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, want) {
		t.Errorf("sent %v, want each once and in order", seen)
	}
}
