package agents_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/load/sessions"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coder/websocket"
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

// Two processes open the sessions of one load, three and two of them, and each sends the messages of
// its own: together they make every message of the schedule once, in its turn, and the recording is
// that of one process.
func TestSessions(t *testing.T) {
	var mu sync.Mutex
	opened, sent := map[string]int{}, map[string][]string{} // by index of the session
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		index := r.URL.Query().Get("i")
		if index == "2" {
			http.Error(w, "not you", http.StatusForbidden)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		mu.Lock()
		opened[index+" "+r.Header.Get("X-Name")]++
		mu.Unlock()
		for {
			_, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			mu.Lock()
			sent[index] = append(sent[index], string(message))
			mu.Unlock()
			if conn.Write(r.Context(), websocket.MessageText, message) != nil {
				return
			}
		}
	}))
	t.Cleanup(target.Close)
	users, err := corpus.ReadCSV(strings.NewReader("name\nann\nbob\ncid\ndan\neve\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := &corpus.Spec{Rows: users, Run: "r", Load: workload.Load{Kind: workload.Sessions, URL: strings.Replace(target.URL, "http", "ws", 1) + "/?i=${session}", Headers: map[string]string{"X-Name": "${row.name}"},
		Sessions: &workload.Session{Send: &workload.Send{Text: `{"n":${offer}}`}, Expect: workload.Expect{Ack: &workload.Ack{JSON: "n"}}}}}
	bus := listen(t)
	start(t, bus, 2)
	g := gather(t, bus, 2)
	spec := sessions.Schedule(5, 20, 900*time.Millisecond+record.WindowLength)
	p := plan(spec)
	p.Connections, p.Warmup, p.Length = 5, 300*time.Millisecond, 600*time.Millisecond
	d := driverOf(t, g, s)
	for range 2 { // the agents keep the driver, and open other sessions
		mu.Lock()
		clear(opened)
		clear(sent)
		mu.Unlock()
		totals, done, err := load.Run(t.Context(), p, d, nowhere{})
		if err != nil || totals.Offered != 60 || totals.Ended != 60 || totals.Failed != 12 || totals.Unfinished != 0 || totals.Errors["other"] != 12 {
			t.Errorf("%v: %+v", err, totals)
		}
		if of := totals.Sessions; of == nil || of.Planned != 5 || of.Opened != 4 || of.Lost != 0 || of.FramesMean == 0 || len(totals.Generator.Agents) != 2 {
			t.Errorf("sessions %+v of agents %+v", of, totals.Generator.Agents)
		}
		if done.Length != 600*time.Millisecond {
			t.Errorf("%v were measured", done.Length)
		}
		mu.Lock()
		for _, who := range []string{"0 ann", "1 bob", "3 dan", "4 eve"} {
			if opened[who] != 1 {
				t.Errorf("opened %v, want %s once", opened, who)
			}
			for i, message := range sent[who[:1]] {
				if want := fmt.Sprintf(`{"n":%d}`, i+1); message != want {
					t.Errorf("session %s sent %s as its message %d", who, message, i+1)
				}
			}
			if n := len(sent[who[:1]]); n < 18 {
				t.Errorf("session %s sent %d messages, want 18 of the warm-up and the measured time", who, n)
			}
		}
		mu.Unlock()
		if said := strings.Join(d.(load.Noting).Notes(), "\n"); !strings.Contains(said, "sessions that did not open") {
			t.Errorf("the notes are %q", said)
		}
	}
}

// silent is a load of sessions without messages, from two agents.
func silent(t *testing.T, url string, n int) (load.Driver, load.Plan) {
	t.Helper()
	bus := listen(t)
	start(t, bus, 2)
	p := plan(sessions.Schedule(n, 0, time.Second))
	p.Connections, p.Timeout = n, 20*time.Second
	s := &corpus.Spec{Load: workload.Load{Kind: workload.Sessions, URL: url, Sessions: &workload.Session{}}}
	return driverOf(t, gather(t, bus, 2), s), p
}

// A run that is stopped while its sessions are being opened has sent nothing, and ends soon.
func TestSessionsStopWhileTheyOpen(t *testing.T) {
	arrived := make(chan struct{}, 8)
	held := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(held); target.Close() })
	d, p := silent(t, target.URL, 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-arrived
		cancel() // as Ctrl-C does
	}()
	totals, _, err := load.Run(ctx, p, d, nowhere{})
	if !errors.Is(err, context.Canceled) || totals.Offered != 0 {
		t.Errorf("%v: %+v", err, totals)
	}
}

// An agent that has opened its sessions before a run is stopped closes them, and takes the next.
func TestSessionsThatAreOpenEndWithTheRun(t *testing.T) {
	arrived := make(chan struct{}, 8)
	var answers atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if r.URL.Query().Get("i") == "1" && !answers.Load() {
			<-r.Context().Done()
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		conn.Read(r.Context())
	}))
	t.Cleanup(target.Close)
	d, p := silent(t, strings.Replace(target.URL, "http", "ws", 1)+"/?i=${session}", 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-arrived
		<-arrived
		cancel()
	}()
	if _, _, err := load.Run(ctx, p, d, nowhere{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	answers.Store(true)
	if _, _, err := load.Run(t.Context(), p, d, nowhere{}); err != nil {
		t.Errorf("the second: %v", err)
	}
}

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }
