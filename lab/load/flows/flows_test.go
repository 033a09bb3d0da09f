package flows

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/request"
	"dyno/lab/load/schedule"
	"dyno/lab/load/std"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type discard struct{}

func (discard) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// shop is a server with a login: a cookie that names the session, and a token for orders.
type shop struct {
	*httptest.Server
	mu       sync.Mutex
	sessions map[string]string // token by session
	orders   map[string]string // session by order
	users    map[string]int    // logins by name
	requests atomic.Int64
}

func newShop(t *testing.T) *shop {
	s := &shop{sessions: map[string]string{}, orders: map[string]string{}, users: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /orders", s.order)
	mux.HandleFunc("GET /orders/{id}", s.read)
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "please log in") })
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) login(w http.ResponseWriter, r *http.Request) {
	var user struct{ Name, Password string }
	if err := json.NewDecoder(r.Body).Decode(&user); err != nil || user.Password != `se"cret` {
		http.Error(w, "wrong password", http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.sessions)
	session, token := fmt.Sprintf("s%d", n), fmt.Sprintf("t/%d+\"", n) // it needs an escape in JSON and in a path
	s.sessions[session], s.users[user.Name] = token, s.users[user.Name]+1
	http.SetCookie(w, &http.Cookie{Name: "session", Value: session, Path: "/"})
	json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"token": token}})
}

// session returns a request's session; a client without one is sent to the login page.
func (s *shop) session(w http.ResponseWriter, r *http.Request) (id, token string) {
	c, err := r.Cookie("session")
	if err != nil {
		http.Redirect(w, r, "/login?next=secret", http.StatusFound)
		return "", ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.Value, s.sessions[c.Value]
}

func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	id, token := s.session(w, r)
	if id == "" {
		return
	}
	var order struct{ Token, ID, Key string }
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil || order.Token != token || len(order.ID) != 16 || r.Header.Get("X-Token") != token {
		http.Error(w, "not the session's token", http.StatusForbidden)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number := fmt.Sprintf("o/%d", len(s.orders))
	s.orders[number] = id
	w.Header().Set("X-Order", number)
	w.WriteHeader(http.StatusCreated)
}

func (s *shop) read(w http.ResponseWriter, r *http.Request) {
	id, _ := s.session(w, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		return
	}
	if s.orders[r.PathValue("id")] != id {
		http.NotFound(w, r)
		return
	}
	io.WriteString(w, "state=paid;")
}

// buying is the flow of one buyer.
func (s *shop) buying() []Step {
	header := map[string]string{"Content-Type": "application/json"}
	return []Step{
		{Name: "login", Method: "POST", URL: s.URL + "/login", Header: header, Body: `{"name":"${row.name}","password":"${row.password}"}`,
			Check: request.Check{Status: []int{200}}, Save: []Save{{Name: "token", From: workload.Save{JSON: "data.token"}}, {Name: "session", From: workload.Save{Cookie: "session"}}}},
		{Name: "order", Method: "POST", URL: s.URL + "/orders", Header: map[string]string{"Content-Type": "application/json", "X-Token": "${token}"},
			Body: `{"token":"${token}","id":"${id}","key":"${key}"}`, Save: []Save{{Name: "order", From: workload.Save{Header: "X-Order"}}}},
		{Name: "read", Method: "GET", URL: s.URL + "/orders/${order}?session=${session}",
			Save: []Save{{Name: "state", From: workload.Save{Matches: `state=([a-z]+);`}}}},
	}
}

func users(t *testing.T) *corpus.Live {
	t.Helper()
	rows, err := corpus.ReadCSV(strings.NewReader("name,password\nann,\"se\"\"cret\"\nbob,\"se\"\"cret\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	live, err := corpus.NewLive(corpus.Spec{Rows: rows, Load: workload.Load{Keys: &workload.Keys{Count: 10}}})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

const (
	perSecond = 100
	length    = 300 * time.Millisecond
	flowsDue  = 30
)

func open() load.Plan {
	return load.Plan{Connections: 1000, Length: length, Drain: 20 * time.Second, Timeout: 15 * time.Second,
		Schedule: func() schedule.Schedule { return schedule.Constant(perSecond, length) }}
}

func run(t *testing.T, p load.Plan, c Config) (record.Totals, *Driver) {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.Classes = d.Classes()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	totals, _, err := load.Run(ctx, p, d, discard{})
	if err != nil {
		t.Fatal(err)
	}
	return totals, d
}

// Every flow logs in with its own row, keeps its cookie, sends its token and reads its own order.
func TestFlowsKeepTheirValues(t *testing.T) {
	s := newShop(t)
	got, d := run(t, open(), Config{Steps: s.buying(), Values: users(t)})
	if got.Offered != flowsDue || got.Completed != flowsDue || got.Failed != 0 || got.Unfinished != 0 {
		t.Fatalf("%+v %v", got, d.Notes())
	}
	if s.requests.Load() != 3*flowsDue || len(s.orders) != flowsDue || s.users["ann"] != flowsDue/2 || s.users["bob"] != flowsDue/2 {
		t.Errorf("%d requests, %d orders, users %v", s.requests.Load(), len(s.orders), s.users)
	}
	// On a slow machine the later steps fall behind the measured time, and are not counted.
	if got.Classes["login"].Max == 0 || got.Flow == nil || got.Flow.Max < got.Classes["login"].P50 {
		t.Errorf("classes %v, flow %v", got.Classes, got.Flow)
	}
	if d.Protocol() != "HTTP/1.1" || len(d.Notes()) != 0 {
		t.Errorf("protocol %q, notes %q", d.Protocol(), d.Notes())
	}
}

// A step that fails ends its flow, and the notes name the step and the reason.
func TestAFailedStepEndsTheFlow(t *testing.T) {
	s := newShop(t)
	for _, tt := range []struct {
		name   string
		change func(steps []Step) []Step
		kind   string
		sent   int64 // requests of a flow
		note   string
	}{
		{"status", func(steps []Step) []Step { steps[0].Body = "{}"; return steps }, "status", 1, "in step login (401): 30, the first: 401 Unauthorized"},
		{"redirect", func(steps []Step) []Step { steps[2].URL = s.URL + "/orders/1"; return steps[2:] }, "status", 1, "in step read (302): 30, the first: 302, a redirect to /login; list"},
		{"check", func(steps []Step) []Step {
			steps[1].Check = request.Check{Header: map[string]string{"X-Order": "none"}}
			return steps
		}, "check", 2, `in step order (check): 30, the first: check: the header X-Order does not contain "none"`},
		{"save", func(steps []Step) []Step { steps[0].Save[0].From.JSON = "token"; return steps }, "check", 1, "in step login (check): 30, the first: save token: the answer has no field token"},
		{"no JSON", func(steps []Step) []Step {
			steps[2].Save[0] = Save{Name: "state", From: workload.Save{JSON: "a"}}
			return steps
		}, "check", 3, "in step read (check): 30, the first: save state: the answer is not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.requests.Store(0)
			steps := tt.change(s.buying())
			got, d := run(t, open(), Config{Steps: steps, Values: users(t)})
			if got.Failed != flowsDue || got.Errors[tt.kind] != flowsDue || s.requests.Load() != tt.sent*flowsDue || got.Flow != nil {
				t.Errorf("%d requests, errors %v, totals %+v", s.requests.Load(), got.Errors, got)
			}
			if notes := strings.Join(d.Notes(), "\n"); !strings.Contains(notes, tt.note) || strings.Contains(notes, "secret") {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

// A redirect is followed as often as the step permits, and to no other host.
func TestFollow(t *testing.T) {
	s := newShop(t)
	elsewhere := httptest.NewServer(http.RedirectHandler(s.URL+"/login", http.StatusFound))
	defer elsewhere.Close()
	page := Step{Name: "page", Method: "GET", URL: s.URL + "/orders/1", Follow: 1, Save: []Save{{Name: "text", From: workload.Save{Matches: "(please log in)"}}}}
	if got, d := run(t, open(), Config{Steps: []Step{page}}); got.Failed != 0 {
		t.Errorf("%+v %v", got.Errors, d.Notes())
	}
	page.URL = elsewhere.URL
	if got, _ := run(t, open(), Config{Steps: []Step{page}}); got.Failed != flowsDue {
		t.Error("a redirect to another host was followed")
	}
	asked := ""
	permit := func(origin string) error { asked = origin; return nil }
	plan := open()
	plan.Schedule = func() schedule.Schedule { return schedule.Times([]int64{0}) }
	if got, d := run(t, plan, Config{Steps: []Step{page}, Permit: permit}); got.Failed != 0 || asked != s.URL {
		t.Errorf("asked for %q: %+v %v", asked, got.Errors, d.Notes())
	}
}

// Latency counts from the intended time through a wait for a place, and a pause does not add to it.
func TestLatencyCountsFromTheIntendedTime(t *testing.T) {
	s := newShop(t)
	steps := s.buying()
	const pause = 200 * time.Millisecond
	steps[1].Think, steps[2].Think = pause/2, pause/2
	plan := open()
	got, _ := run(t, plan, Config{Steps: steps, Values: users(t)})
	if got.Flow == nil || got.Flow.P50 < pause.Seconds()*1000 || got.Completed != flowsDue {
		t.Errorf("flow %v, totals %+v", got.Flow, got)
	}
	plan.Connections = 1 // the pauses of 30 flows take 6 s, one after the other
	plan.Schedule = func() schedule.Schedule { return schedule.Constant(perSecond/10, length) }
	got, d := run(t, plan, Config{Steps: steps, Values: users(t)})
	if got.Classes["login"].Max < pause.Seconds()*1000 || !strings.Contains(strings.Join(d.Notes(), ""), "limit of concurrent flows") {
		t.Errorf("login %+v, notes %q", got.Classes["login"], d.Notes())
	}
}

// The closed model and a plan by count leave the pauses out, unless the load is paced.
func TestWorkHasNoPauses(t *testing.T) {
	s := newShop(t)
	steps := s.buying()
	steps[1].Think = time.Hour
	plan := load.Plan{Connections: 4, Length: time.Minute, Count: 20, Timeout: time.Minute}
	got, _ := run(t, plan, Config{Steps: steps, Values: users(t), Paced: true})
	if got.Completed != 20 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	plan = load.Plan{Connections: 4, Length: 100 * time.Millisecond, Drain: 100 * time.Millisecond}
	if got, _ = run(t, plan, Config{Steps: steps, Values: users(t), Paced: true}); got.Completed != 0 || got.Unfinished != 4 {
		t.Errorf("%+v", got)
	}
}

// A step that is not answered times out, counted from its own intended time.
func TestTimeout(t *testing.T) {
	block := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-block:
			case <-r.Context().Done():
			}
		}
	}))
	defer s.Close()
	defer close(block)
	plan := open()
	plan.Timeout = 300 * time.Millisecond
	plan.Schedule = func() schedule.Schedule { return schedule.Times([]int64{0}) }
	got, _ := run(t, plan, Config{Steps: []Step{{Name: "a", Method: "GET", URL: s.URL}, {Name: "b", Method: "GET", URL: s.URL + "/slow"}}})
	if got.Errors["timeout"] != 1 || got.Classes["b"].Max < 290 {
		t.Errorf("%+v", got)
	}
	plan.Timeout, plan.Drain = time.Minute, 200*time.Millisecond
	got, _ = run(t, plan, Config{Steps: []Step{{Name: "b", Method: "GET", URL: s.URL + "/slow"}}})
	if got.Unfinished != 1 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
}

// HTTP/2 over TLS and without; the record has what was negotiated.
func TestProtocols(t *testing.T) {
	for _, tt := range []struct {
		secure, http2 bool
		want          string
	}{{true, true, "HTTP/2 over TLS 1.3"}, {true, false, "HTTP/1.1 over TLS 1.3"}, {false, true, "HTTP/2"}} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.Config.Protocols = &http.Protocols{}
		s.Config.Protocols.SetHTTP1(true)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.EnableHTTP2 = tt.http2
		if tt.secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		got, d := run(t, open(), Config{Steps: []Step{{Name: "a", Method: "GET", URL: s.URL}}, HTTP2: tt.http2, TLS: std.TLS{Insecure: true}})
		if got.Failed != 0 || d.Protocol() != tt.want {
			t.Errorf("%q, want %q: %+v %v", d.Protocol(), tt.want, got.Errors, d.Notes())
		}
		s.Close()
	}
}

func TestNewFindsFaults(t *testing.T) {
	for want, steps := range map[string][]Step{
		"from 1 to 256 steps":          {},
		"host without placeholders":    {{Method: "GET", URL: "http://${host}/"}},
		"step 2: its url":              {{Method: "GET", URL: "http://a/"}, {Method: "GET", URL: "http://a${b}"}},
		"unknown placeholder ${token}": {{Method: "GET", URL: "http://a/${token}", Save: []Save{{Name: "token", From: workload.Save{Header: "A"}}}}},
		"invalid method":               {{Method: "G T", URL: "http://a/"}},
	} {
		if _, err := New(Config{Steps: steps}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
