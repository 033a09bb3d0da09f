package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// shop is a server with a login, which returns a cookie and a token. It redirects requests
// without the cookie to its login page.
func shop() http.Handler {
	var logins atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		var user struct{ Name string }
		json.NewDecoder(r.Body).Decode(&user)
		token := fmt.Sprint(user.Name, "/", logins.Add(1))
		http.SetCookie(w, &http.Cookie{Name: "session", Value: token})
		json.NewEncoder(w).Encode(map[string]string{"token": token})
	})
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("session")
		switch {
		case err != nil:
			http.Redirect(w, r, "/login?next=/orders", http.StatusFound)
		case r.FormValue("token") != c.Value || r.Header.Get("Authorization") != "Bearer "+c.Value:
			http.Error(w, "another session's token", http.StatusForbidden)
		}
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "please log in") })
	return mux
}

const shopping = `
name: shop
target: {url: URL}
load:
  kind: flows
  url: URL
  headers: {Content-Type: application/json}
  feeder: {file: users.csv}
  steps:
    - {name: login, path: /login, body: '{"name":"${row.name}$$5"}', save: {token: {json: token}}}
    - {name: orders, think: 20ms, path: "/orders?token=${token}", headers: {Authorization: "Bearer ${token}"}}
`

// runShop carries out a scenario against a shop; more holds further lines of the scenario.
func runShop(t *testing.T, text, more string) *record.Experiment {
	t.Helper()
	s := httptest.NewServer(shop())
	defer s.Close()
	dir := t.TempDir()
	text = strings.ReplaceAll(text, "URL", s.URL)
	sc, err := scenario.Parse("shop.yaml", []byte(text+more))
	if err != nil {
		t.Fatal(err)
	}
	sc.Root = dir
	if err := os.WriteFile(filepath.Join(dir, "users.csv"), []byte("name\nann\nb/ob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(dir, "out"), Depth: Quick, NoPMQoS: true})
	if err != nil && !errors.Is(err, ErrNoSuccess) {
		t.Fatal(err)
	}
	return exp
}

// A load of flows as a scenario describes it: rows, saved values, cookies, and pauses.
func TestLoadOfFlows(t *testing.T) {
	r := runShop(t, shopping, "  schedule: {kind: constant, rate: 50}\nmeasure: {length: 400ms}\nmode: load\n").Runs[0]
	if r.Totals.Offered != 20 || r.Totals.Failed != 0 || r.Totals.Unfinished != 0 || r.Totals.Flow == nil || r.Totals.Flow.P50 < 20 {
		t.Errorf("%+v, warnings %q", r.Totals, r.Warnings)
	}
	if r.Load.Kind != "flows" || r.Load.Engine != "flows" || r.Load.Protocol != "HTTP/1.1" || len(r.Load.Steps) != 2 {
		t.Errorf("%+v", r.Load)
	}
}

// A redirect to a login page is a failure with a reason, in flows and with both engines, unless
// the scenario accepts the status.
func TestARedirectIsNoSuccess(t *testing.T) {
	for _, tt := range []struct{ name, load, more string }{
		{"raw", "engine: raw", ""},
		{"std", "engine: std", ""},
		{"flows", "kind: flows, steps: [{name: orders, path: /orders}]", ""},
		{"follow", "follow: 1", "followed"},
		{"asked for", "check: {status: [302]}", "followed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := fmt.Sprintf("name: redirect\nmode: load\ntarget: {url: URL}\nload: {url: URL/orders, schedule: {kind: constant, rate: 50}, %s}\nmeasure: {length: 400ms}\n", tt.load)
			r := runShop(t, text, "").Runs[0]
			failed, warnings := r.Totals.Failed, strings.Join(r.Warnings, "\n")
			if tt.more == "" && (failed != 20 || !strings.Contains(warnings, "302, a redirect to /login;")) || tt.more != "" && failed != 0 {
				t.Errorf("%d failed, warnings %q", failed, warnings)
			}
		})
	}
}
