package release

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends a request to the debug address.
func ask(t *testing.T, h http.Handler, method, path, body string) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/debug/orders/release"+path, strings.NewReader(body)))
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
	}
	if w.Code != http.StatusOK && got["error"] == "" {
		t.Errorf("%s %s: %d without a reason", method, path, w.Code)
	}
	return w.Code, got
}

// A release is controlled over HTTP; invalid commands are refused and change nothing.
func TestHandler(t *testing.T) {
	h := open(t, Usual(slog.New(slog.DiscardHandler))).Handler()
	start := `{"url":"http://127.0.0.1:1","mode":"shadow","fraction":0.5}`
	for i, step := range []struct {
		method, path, body string
		status             int
		mode               string // afterwards
		fraction           float64
	}{
		{"GET", "", "", 200, "off", 0},
		{"GET", "/", "", 200, "off", 0},
		{"POST", "/promote", "", 409, "off", 0},
		{"POST", "/rollback", "", 409, "off", 0},
		{"GET", "/start", "", 405, "off", 0},
		{"POST", "", start, 405, "off", 0},
		{"POST", "/start", "", 400, "off", 0},
		{"POST", "/start", start + "{}", 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"shadow","share":1}`, 400, "off", 0},
		{"POST", "/start", `{"url":"ftp://127.0.0.1:1","mode":"shadow"}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"off"}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","fraction":1.1}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","fraction":-1}`, 400, "off", 0},
		{"POST", "/start", `{"url":"` + strings.Repeat("a", maxPlan) + `"}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","stages":[0.5,0.1]}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","stages":[0.5,0.5]}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","stages":[0.5,1.5]}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","period":"soon"}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","period":"1ns"}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","good_periods":-1}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","slow_p95":"-1s"}`, 400, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","more_errors":2}`, 400, "off", 0},
		{"POST", "/start", start, 200, "shadow", 0.5},
		{"POST", "/start", start, 409, "shadow", 0.5},
		{"POST", "/promote", "", 200, "canary", 0.01},
		{"POST", "/promote", "", 200, "canary", 0.15},
		{"POST", "/promote", "", 200, "canary", 1},
		{"POST", "/promote", "", 409, "canary", 1},
		{"POST", "/rollback", "", 200, "off", 0},
		{"POST", "/start", `{"url":"https://127.0.0.1:1/base","mode":"canary"}`, 200, "canary", 0.01},
		{"POST", "/rollback", "", 200, "off", 0},
		{"POST", "/start", `{"url":"http://127.0.0.1:1","mode":"canary","stages":[0.2,0.6],"period":"1h","slow_p95":"30ms"}`, 200, "canary", 0.2},
		{"POST", "/promote", "", 200, "canary", 0.6},
		{"POST", "/promote", "", 409, "canary", 0.6},
	} {
		if status, _ := ask(t, h, step.method, step.path, step.body); status != step.status {
			t.Errorf("step %d, %s %s: %d, want %d", i, step.method, step.path, status, step.status)
		}
		if _, got := ask(t, h, "GET", "", ""); got["mode"] != step.mode || got["fraction"] != step.fraction {
			t.Errorf("after step %d, %s %s: %v %v, want %s %v", i, step.method, step.path, got["mode"], got["fraction"], step.mode, step.fraction)
		}
	}
	_, got := ask(t, h, "GET", "", "")
	if n := len(got["decisions"].([]any)); n != 9 {
		t.Errorf("%d decisions are kept, want those that were made", n)
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(`{"url":"http://127.0.0.1:1","mode":"shadow","fraction":0.5}`)
	f.Add(`{"url":"","fraction":1e400}`)
	f.Add(`{"stages":[0.1,0.5],"period":"1s","good_periods":2,"min_requests":10,"slow_periods":1,"slow_p95":"5ms","more_errors":0.01}`)
	f.Fuzz(func(t *testing.T, body string) {
		p, err := parsePlan(strings.NewReader(body))
		if err != nil {
			return
		}
		r, err := p.rules(usual)
		if err != nil {
			return
		}
		share := 0.0
		for s, a := r.begin(Canary, 0), Promote; a == Promote; s, a = r.promote(s) {
			if !(s.Share() > share && s.Share() <= 1) {
				t.Fatalf("from %v to %v", share, s.Share())
			}
			share = s.Share()
		}
		if r.Period <= 0 || r.GoodPeriods < 1 || r.SlowPeriods < 1 || r.MinRequests < 1 {
			t.Errorf("%+v", r)
		}
	})
}
