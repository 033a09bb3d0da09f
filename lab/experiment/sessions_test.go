package experiment

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"dyno/lab/capacity"
	"dyno/lab/load/websocket/websockettest"
	"dyno/lab/record"
	"dyno/lab/scenario/parser"
	"dyno/parts/quicktest"
)

// room is a server that keeps at most a number of sessions: any other is closed when it opens.
type room struct{ open, most atomic.Int64 }

func (r *room) serve(p *websockettest.Peer) {
	defer r.open.Add(-1)
	if r.open.Add(1) > r.most.Load() {
		return
	}
	for {
		op, message, err := p.Frame()
		if err != nil || op != 1 {
			return
		}
		if _, err := p.Write([]byte(websockettest.Text(string(message)))); err != nil {
			return
		}
	}
}

// inRoom carries out a scenario of sessions in a room of some places.
func inRoom(t *testing.T, places int, text string) *record.Experiment {
	t.Helper()
	r := &room{}
	r.most.Store(int64(places))
	u := websockettest.Serve(t, r.serve)
	plain := &url.URL{Scheme: "http", Host: u.Host}
	sc, err := parser.Parse("x.yaml", fmt.Appendf(nil, `
name: room
target: {url: "%s"}
load:
  kind: sessions
  url: "%s"
  per_session: 50
  send: {text: '{"n":${offer},"of":${session}}'}
  expect: {ack: {json: n}}
%s
`, plain, u, text))
	if err != nil {
		t.Fatal(err)
	}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

// Each number of sessions is one run, in which those that found no place are counted.
func TestKnownNumbersOfSessions(t *testing.T) {
	exp := inRoom(t, 6, "  sessions: [4, 8]\nmode: load\nmeasure: {length: 300ms, warmup: 100ms}\nslo: frames>=1,errors=0%")
	if len(exp.Runs) != 2 {
		t.Fatalf("%d runs", len(exp.Runs))
	}
	few, many := exp.Runs[0].Totals, exp.Runs[1].Totals
	if few.Offered != 60 || few.Failed != 0 || few.Sessions.Planned != 4 || few.Sessions.Lost != 0 {
		t.Errorf("%+v, sessions %+v", few, few.Sessions)
	}
	if s := many.Sessions; many.Offered != 120 || s.Planned != 8 || s.Lost != 2 || many.Errors["lost"] != 30 || s.FramesMin != 0 {
		t.Errorf("%+v, sessions %+v", many, s)
	}
	if w := strings.Join(exp.Runs[1].Warnings, "; "); !strings.Contains(w, "lost sessions: 2, the first: ") {
		t.Errorf("warnings %s", w)
	}
}

// The search finds how many places there are, to within its grid.
func TestSearchForSessions(t *testing.T) {
	quicktest.Skip(t, "a dozen runs, each of half a second")
	exp := inRoom(t, 20, "mode: capacity\nmeasure: {length: 300ms, warmup: 100ms, start_concurrency: 8, rounds: 1}\nslo: max=30s,errors=0%")
	found := capacity.Summarise(exp, exp.Variants[0].Name)
	if n := found.CapacityPerS; n < 18 || n > 20 {
		t.Errorf("found %g of 20: %+v", n, found.Warnings)
	}
}
