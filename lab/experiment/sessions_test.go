package experiment

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/load/corpus"
	"dyno/lab/load/sessions"
	"dyno/lab/load/sessions/script"
	"dyno/lab/load/websocket/websockettest"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/quicktest"
)

// room is a server that keeps at most a number of sessions; it closes any further one when it
// opens.
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

// inRoom carries out a scenario of sessions against a room for a number of them.
func inRoom(t *testing.T, places int, text string) *record.Experiment {
	t.Helper()
	r := &room{}
	r.most.Store(int64(places))
	u := websockettest.Serve(t, r.serve)
	plain := &url.URL{Scheme: "http", Host: u.Host}
	sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
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

// Each number of sessions is one run, which counts the sessions that the server closed.
func TestKnownNumbersOfSessions(t *testing.T) {
	t.Parallel()
	exp := inRoom(t, 6, "  sessions: [4, 8]\nmode: load\nmeasure: {length: 300ms, warmup: 100ms}\nslo: frames>=1,errors=0%")
	if len(exp.Runs) != 2 {
		t.Fatalf("%d runs", len(exp.Runs))
	}
	if l := exp.Runs[0].Load; l.Model != "open" || l.Schedule != "4 sessions, each 50/s" {
		t.Errorf("load %+v", l)
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

// The search never returns more sessions than the server keeps, since each further one is lost.
// It may return fewer, depending on the machine: a run that is late misses its rate, too.
func TestSearchForSessions(t *testing.T) {
	quicktest.Skip(t, "a dozen runs, each of half a second")
	t.Parallel()
	const places = 20
	exp := inRoom(t, places, "mode: capacity\nmeasure: {length: 300ms, warmup: 100ms, start_concurrency: 8, rounds: 1}\nslo: max=30s,errors=0%")
	found := capacity.Summarise(exp, exp.Variants[0].Name)
	if n := found.CapacityPerS; n < 1 || n > places+0.01 {
		t.Errorf("found %g of %d: %+v", n, places, found.Warnings)
	}
	var most int64
	late := false
	for _, run := range exp.Runs {
		s := run.Totals.Sessions
		if s.Lost < s.Planned-places {
			t.Errorf("%d of %d sessions lost, with %d places", s.Lost, s.Planned, places)
		}
		most, late = max(most, s.Planned), late || s.Planned <= places && !capacity.CheckSLO(run).Met
	}
	switch {
	case most <= places && late:
		t.Skip("a run of few sessions was late, so the search did not get to the limit")
	case most <= places:
		t.Errorf("no run had more than %d sessions", most)
	}
}

// TestAsDriver is the program of TestProgramThatDrives.
func TestAsDriver(t *testing.T) {
	if flag.NArg() != 5 {
		t.Skip("it is a program of another test")
	}
	n, _ := strconv.Atoi(flag.Arg(0))
	rate, _ := strconv.ParseFloat(flag.Arg(1), 64)
	warmup, _ := time.ParseDuration(flag.Arg(2))
	length, _ := time.ParseDuration(flag.Arg(3))
	d, err := script.New(corpus.Spec{Load: workload.Load{URL: flag.Arg(4), Sessions: &workload.Session{
		Send: &workload.Send{Text: "${offer}"}, Expect: workload.Expect{Ack: &workload.Ack{Any: true}}}}}, nil)
	if err == nil {
		err = sessions.Windows(t.Context(), sessions.Config{Driver: d, Sessions: n, Rate: rate, Warmup: warmup, Length: length}, os.Stdout)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A user's own program drives the sessions, and its windows become the lab's.
func TestProgramThatDrives(t *testing.T) {
	t.Parallel()
	r := &room{}
	r.most.Store(6)
	u := websockettest.Serve(t, r.serve)
	run := func(command, pace, rate string) (*record.Experiment, error) {
		sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
name: program
target: {url: "http://%s"}
mode: load
load:
  kind: sessions
  sessions: [4, 8]
  %s
  driver: {command: [%s], args: ["-test.run=^TestAsDriver$$", --, "${sessions}", "%s", "${warmup}", "${duration}", "%s"]}
measure: {length: 300ms, warmup: 100ms}
`, u.Host, pace, command, rate, u))
		if err != nil {
			t.Fatal(err)
		}
		return Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
	}
	exp, err := run(os.Args[0], "per_session: 50", "${rate}")
	if err != nil || len(exp.Runs) != 2 {
		t.Fatal(err)
	}
	few, many := exp.Runs[0].Totals, exp.Runs[1].Totals
	if few.Offered != 60 || few.Failed != 0 || few.Sessions == nil || few.Sessions.Planned != 4 || few.Sessions.Opened != 4 {
		t.Errorf("%+v, sessions %+v", few, few.Sessions)
	}
	if s := many.Sessions; many.Offered != 120 || s == nil || s.Planned != 8 || s.Lost != 2 || many.Errors["lost"] != 30 {
		t.Errorf("%+v, sessions %+v", many, s)
	}
	// The command dyno is the running program. Without a rate it has a pace of its own.
	own, err := run("dyno", "", "50")
	if err != nil || len(own.Runs) != 2 {
		t.Fatal(err)
	}
	if r := own.Runs[0]; r.Load.Model != "closed" || r.Load.Schedule != "4 sessions at their driver's pace" || r.Totals.Offered != 60 {
		t.Errorf("load %+v, offered %d", r.Load, r.Totals.Offered)
	}
	if _, err := run("/no/such/program", "", "50"); err == nil || !strings.Contains(err.Error(), "load.driver") {
		t.Errorf("%v", err)
	}
	if _, err := run("false", "", "50"); err == nil || !strings.Contains(err.Error(), "driver") {
		t.Errorf("%v", err)
	}
}
