package agents_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	health1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// Two processes split the flows of one schedule. Each row, number and cookie is used as in one
// process; the totals count flows, and the histograms count their steps.
func TestFlows(t *testing.T) {
	var mu sync.Mutex
	rows, orders, fail := map[string]int{}, map[string]int{}, false
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/login" {
			rows[r.FormValue("user")]++
			http.SetCookie(w, &http.Cookie{Name: "session", Value: r.FormValue("id")})
			fmt.Fprintf(w, `{"token":"%s"}`, r.FormValue("id"))
			return
		}
		c, err := r.Cookie("session")
		if err != nil || r.URL.Path != "/order/"+c.Value || fail {
			w.WriteHeader(http.StatusForbidden)
		}
		orders[r.URL.Path]++
	}))
	t.Cleanup(target.Close)
	users, err := corpus.ReadCSV(strings.NewReader("name\nann\nbob\ncid\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := &corpus.Spec{Rows: users, Load: workload.Load{Kind: workload.Flows, URL: target.URL, Steps: []workload.Step{
		{Request: workload.Request{Name: "login", Path: "/login?user=${row.name}&id=${id}"}, Save: map[string]workload.Save{"token": {JSON: "token"}}},
		{Request: workload.Request{Name: "order", Body: workload.Body{Text: "x"}}, URL: target.URL + "/order/${token}"},
	}}}
	bus := listen(t)
	start(t, bus, 2)
	g := gather(t, bus, 2)
	d := driverOf(t, g, s)
	spec := load.ScheduleSpec{Kind: workload.Constant, PerSecond: 100, Length: 900 * time.Millisecond}
	p := plan(spec)
	p.Connections = 400 // no flow waits for another
	p.Warmup, p.Length, p.Classes = 300*time.Millisecond, 600*time.Millisecond, []string{"login", "order"}
	all := arrivalsOf(spec)
	want := all * 2 / 3 // measured
	totals, _, err := load.Run(t.Context(), p, d, nowhere{})
	if err != nil || totals.Offered != want || totals.Sent != want || totals.Ended != want || totals.Completed != want || totals.Failed+totals.Unfinished != 0 {
		t.Fatalf("%v: %+v, want %d flows", err, totals, want)
	}
	if int64(len(orders)) != all || totals.Flow == nil || totals.Classes["login"].Max == 0 || len(totals.Generator.Agents) != 2 {
		t.Errorf("%d orders of %d, flow %v, classes %v", len(orders), all, totals.Flow, totals.Classes)
	}
	for path, n := range orders {
		if n != 1 {
			t.Errorf("%s was ordered %d times", path, n)
		}
	}
	for _, name := range []string{"ann", "bob", "cid"} { // the agents take turns, so each name has a third
		if int64(rows[name]) != all/3 {
			t.Errorf("%s: %d of %d flows", name, rows[name], all)
		}
	}
	if d.(load.Negotiating).Protocol() != "HTTP/1.1" || len(d.(load.Noting).Notes()) != 0 {
		t.Errorf("protocol %q, notes %q", d.(load.Negotiating).Protocol(), d.(load.Noting).Notes())
	}

	mu.Lock()
	fail = true
	mu.Unlock()
	totals, _, err = load.Run(t.Context(), p, d, nowhere{})
	said := strings.Join(d.(load.Noting).Notes(), "\n")
	if err != nil || totals.Failed != want || totals.Errors["status"] != want || totals.Ended != want {
		t.Errorf("%v: %+v, want %d failed", err, totals, want)
	}
	if !strings.Contains(said, "agent 1 (") || !strings.Contains(said, "agent 2 (") || !strings.Contains(said, "in step order (403)") {
		t.Errorf("the notes are %q", said)
	}
}

// Two processes split the gRPC calls of one schedule, and do not ask the target for descriptors.
func TestCalls(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	health1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	s := &corpus.Spec{Load: workload.Load{Kind: workload.GRPC, URL: "http://" + l.Addr().String(), GRPC: &workload.Call{Call: "grpc.health.v1.Health/Check"},
		Check: workload.Check{JSON: []workload.JSONTest{{Path: "status", Equals: "SERVING"}}}}}
	bus := listen(t)
	start(t, bus, 2)
	g := gather(t, bus, 2)
	if err := engine.Describe(t.Context(), s); err != nil || len(s.Descriptors) == 0 {
		t.Fatal(err)
	}
	spec := load.ScheduleSpec{Kind: workload.Constant, PerSecond: 200, Length: 500 * time.Millisecond}
	totals, _, err := load.Run(t.Context(), plan(spec), driverOf(t, g, s), &windows{})
	if n := arrivalsOf(spec); err != nil || totals.Completed != n || totals.Failed != 0 || totals.Status["200"] != n || len(totals.Generator.Agents) != 2 {
		t.Errorf("%v: %+v, want %d calls", err, totals, n)
	}
	s.Load.GRPC.Call = "grpc.health.v1.Health/Other"
	if _, err := g.Driver(s); err == nil || !strings.Contains(err.Error(), "has no method Other") {
		t.Errorf("a method that there is not: %v", err)
	}
}

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }
