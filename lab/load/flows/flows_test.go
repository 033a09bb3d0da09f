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
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type discard struct{}

func (discard) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// shop is a server with a login, which sets a cookie with the session and returns a token for
// orders.
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
	session, token := fmt.Sprintf("s%d", n), fmt.Sprintf("t/%d+\"", n) // the token needs escaping in JSON and in a path
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
func (s *shop) buying() corpus.Spec {
	rows, err := corpus.ReadCSV(strings.NewReader("name,password\nann,\"se\"\"cret\"\nbob,\"se\"\"cret\"\n"))
	if err != nil {
		panic(err)
	}
	login := saving("login", "", workload.Save{JSON: "data.token"})
	login.Path, login.Headers = "/login", map[string]string{"Content-Type": "application/json"}
	login.Body.Text, login.Check = `{"name":"${row.name}","password":"${row.password}"}`, &workload.Check{Status: []int{200}}
	login.Save["session"] = workload.Save{Cookie: "session"}
	order := saving("order", s.URL+"/orders", workload.Save{Header: "X-Order"})
	order.Headers = map[string]string{"content-type": "application/json", "X-Token": "${login}"}
	order.Body.Text = `{"token":"${login}","id":"${id}","key":"${key}"}`
	read := saving("read", s.URL+"/orders/${order}?session=${session}", workload.Save{Matches: `state=([a-z]+);`})
	return corpus.Spec{Rows: rows, Load: workload.Load{URL: s.URL + "/shop", Steps: []workload.Step{login, order, read}, Keys: &workload.Keys{Count: 10}}}
}

// saving is a step that saves a value under the step's own name.
func saving(name, url string, from workload.Save) workload.Step {
	return workload.Step{Request: workload.Request{Name: name}, URL: url, Save: map[string]workload.Save{name: from}}
}

func plainly(name, url string) workload.Step {
	return workload.Step{Request: workload.Request{Name: name}, URL: url}
}

func taking(steps ...workload.Step) corpus.Spec {
	return corpus.Spec{Load: workload.Load{Steps: steps}}
}

const (
	perSecond = 100
	length    = 300 * time.Millisecond
	flowsDue  = 30
)

func open() load.Plan {
	return load.Plan{Connections: 1000, Length: length, Drain: 20 * time.Second, Timeout: 15 * time.Second,
		Schedule: func() load.Schedule { return load.Constant(perSecond, length) }}
}

func run(t *testing.T, p load.Plan, s corpus.Spec) (record.Totals, *Driver) {
	t.Helper()
	d, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	p.Classes = s.Load.ClassNames()
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
	got, d := run(t, open(), s.buying())
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
		change func(l *workload.Load)
		kind   string
		sent   int64 // requests of a flow
		note   string
	}{
		{"status", func(l *workload.Load) { l.Steps[0].Body.Text = "{}" }, "status", 1, "in step login (401): 30, the first: 401 Unauthorized"},
		{"redirect", func(l *workload.Load) { l.Steps[2].URL = s.URL + "/orders/1"; l.Steps = l.Steps[2:] }, "status", 1, "in step read (302): 30, the first: 302, a redirect to /login; list"},
		{"check", func(l *workload.Load) { l.Check.Header = map[string]string{"X-Order": "none"} }, "check", 2,
			`in step order (check): 30, the first: check: the header X-Order does not contain "none"`},
		{"save", func(l *workload.Load) { l.Steps[0].Save["login"] = workload.Save{JSON: "token"} }, "check", 1, "in step login (check): 30, the first: save login: the answer has no field token"},
		{"no JSON", func(l *workload.Load) { l.Steps[2].Save["read"] = workload.Save{JSON: "a"} }, "check", 3, "in step read (check): 30, the first: save read: the answer is not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.requests.Store(0)
			spec := s.buying()
			tt.change(&spec.Load)
			got, d := run(t, open(), spec)
			if got.Failed != flowsDue || got.Errors[tt.kind] != flowsDue || s.requests.Load() != tt.sent*flowsDue || got.Flow != nil {
				t.Errorf("%d requests, errors %v, totals %+v", s.requests.Load(), got.Errors, got)
			}
			if notes := strings.Join(d.Notes(), "\n"); !strings.Contains(notes, tt.note) || strings.Contains(notes, "secret") {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

// A flow follows as many redirects as the step permits, and none to another host.
func TestFollow(t *testing.T) {
	s := newShop(t)
	elsewhere := httptest.NewServer(http.RedirectHandler(s.URL+"/login", http.StatusFound))
	defer elsewhere.Close()
	page := saving("page", s.URL+"/orders/1", workload.Save{Matches: "(please log in)"})
	page.Follow = 1
	if got, d := run(t, open(), taking(page)); got.Failed != 0 {
		t.Errorf("%+v %v", got.Errors, d.Notes())
	}
	page.URL = elsewhere.URL
	if got, _ := run(t, open(), taking(page)); got.Failed != flowsDue {
		t.Error("a redirect to another host was followed")
	}
	asked := ""
	permit := func(origin string) error { asked = origin; return nil }
	plan := open()
	plan.Schedule = func() load.Schedule { return load.Times([]int64{0}) }
	permitting := taking(page)
	permitting.Permit = permit
	if got, d := run(t, plan, permitting); got.Failed != 0 || asked != s.URL {
		t.Errorf("asked for %q: %+v %v", asked, got.Errors, d.Notes())
	}
}

// Latency counts from the intended time and includes the wait for a free connection, but no
// pause.
func TestLatencyCountsFromTheIntendedTime(t *testing.T) {
	s := newShop(t)
	spec := s.buying()
	steps := spec.Load.Steps
	const pause = 200 * time.Millisecond
	steps[1].Think, steps[2].Think = pause/2, pause/2
	plan := open()
	got, _ := run(t, plan, spec)
	if got.Flow == nil || got.Flow.P50 < pause.Seconds()*1000 || got.Completed != flowsDue {
		t.Errorf("flow %v, totals %+v", got.Flow, got)
	}
	plan.Connections = 1 // the pauses of 30 flows take 6 s, one after the other
	plan.Schedule = func() load.Schedule { return load.Constant(perSecond/10, length) }
	got, d := run(t, plan, spec)
	if got.Classes["login"].Max < pause.Seconds()*1000 || !strings.Contains(strings.Join(d.Notes(), ""), "limit of concurrent flows") {
		t.Errorf("login %+v, notes %q", got.Classes["login"], d.Notes())
	}
}

// The closed model and plans by count leave the pauses out, unless the load's own schedule is
// closed.
func TestWorkHasNoPauses(t *testing.T) {
	s := newShop(t)
	spec := s.buying()
	spec.Load.Steps[1].Think, spec.Load.Schedule.Kind = time.Hour, workload.Closed
	plan := load.Plan{Connections: 4, Length: time.Minute, Count: 20, Timeout: time.Minute}
	got, _ := run(t, plan, spec)
	if got.Completed != 20 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	plan = load.Plan{Connections: 4, Length: 100 * time.Millisecond, Drain: 100 * time.Millisecond}
	if got, _ = run(t, plan, spec); got.Completed != 0 || got.Unfinished != 4 {
		t.Errorf("%+v", got)
	}
}

// A step without an answer times out, counted from the step's own intended time.
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
	plan.Timeout = time.Second // within which a is answered
	plan.Schedule = func() load.Schedule { return load.Times([]int64{0}) }
	got, _ := run(t, plan, taking(plainly("a", s.URL), plainly("b", s.URL+"/slow")))
	if got.Errors["timeout"] != 1 || got.Classes["b"].Max < 990 {
		t.Errorf("%+v", got)
	}
	plan.Timeout, plan.Drain = time.Minute, 200*time.Millisecond
	got, _ = run(t, plan, taking(plainly("b", s.URL+"/slow")))
	if got.Unfinished != 1 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
}

// Flows run on HTTP/2 with and without TLS; the record has the negotiated protocol.
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
		spec := taking(plainly("a", s.URL))
		spec.Load.TLS = workload.TLS{HTTP2: tt.http2, Insecure: true}
		got, d := run(t, open(), spec)
		if got.Failed != 0 || d.Protocol() != tt.want {
			t.Errorf("%q, want %q: %+v %v", d.Protocol(), tt.want, got.Errors, d.Notes())
		}
		s.Close()
	}
}

func TestNewFindsFaults(t *testing.T) {
	for want, steps := range map[string][]workload.Step{
		"from 1 to 256 steps":          {},
		"host without placeholders":    {plainly("", "http://${host}/")},
		"step 2: its url":              {plainly("", "http://a/"), plainly("", "http://a${b}")},
		"unknown placeholder ${token}": {saving("token", "http://a/${token}", workload.Save{Header: "A"})},
		"invalid method":               {{Request: workload.Request{Method: "G T"}, URL: "http://a/"}},
	} {
		if _, err := New(taking(steps...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
