package notifypage_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dyno/bench/tests/browser"
	"dyno/parts/quicktest"
)

// site serves an empty page.
func site(t *testing.T) (origin string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!DOCTYPE html><title>a page</title>")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// follow is an expression: what an EventSource on the page says first, a notice's data or that it
// is closed for good.
func follow(url string) string {
	return fmt.Sprintf(`new Promise(done => {
		const source = new EventSource(%q);
		source.onmessage = e => { source.close(); done(e.data); };
		source.onerror = () => { if (source.readyState === EventSource.CLOSED) done('closed'); };
	})`, url)
}

// wrote asks for a page's attempt to write, and reports whether it got an answer that it may read.
func wrote(method, url, mode, kind, body string) string {
	return fmt.Sprintf(`fetch(%q, {method: %q, mode: %q, headers: {'Content-Type': %q}, body: %q}).then(a => String(a.status), () => 'refused')`, url, method, mode, kind, body)
}

// What a page of another origin can do to notifyd, in a real browser: nothing unless its origin is
// listed.
func TestPagesOfOtherOrigins(t *testing.T) {
	quicktest.Skip(t, "builds notifyd and starts a browser")
	browser.Installed(t)
	listed, foreign := site(t), site(t)
	n := start(t, "--allow-private-targets", "--allow-origin="+listed)
	n.post(t, "/v1/notices", `{"key":"k","type":"t","payload":"secret"}`, new(struct{}))
	ctx := browser.Start(t)
	subscription := `{"url":"http://127.0.0.1:9/hook"}`
	stream := n.api + "/v1/stream?after=0"
	subscriptions := func() int {
		var stats struct{ Subscriptions []any }
		answer, err := http.Get(n.api + "/v1/stats")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&stats); err != nil {
			t.Fatal(err)
		}
		return len(stats.Subscriptions)
	}

	for _, page := range []string{foreign, strings.Replace(foreign, "127.0.0.1", "localhost", 1)} {
		browser.Visit(t, ctx, page)
		browser.Ask[string](t, ctx, wrote("POST", n.api+"/v1/subscriptions", "no-cors", "text/plain", subscription))
		if got := browser.Ask[string](t, ctx, wrote("POST", n.api+"/v1/subscriptions", "cors", "application/json", subscription)); got != "refused" {
			t.Errorf("%s subscribes: %s", page, got)
		}
		if got := browser.Ask[string](t, ctx, follow(stream)); got != "closed" {
			t.Errorf("%s follows the stream: %s", page, got)
		}
		socket := fmt.Sprintf(`new Promise(done => {
			const socket = new WebSocket(%q);
			socket.onmessage = e => done(e.data);
			socket.onclose = () => done('closed');
		})`, strings.Replace(n.api, "http", "ws", 1)+"/v1/ws?after=0")
		if got := browser.Ask[string](t, ctx, socket); got != "closed" {
			t.Errorf("%s follows over WebSocket: %s", page, got)
		}
	}
	if n := subscriptions(); n != 0 {
		t.Errorf("a page of another origin made %d subscriptions", n)
	}

	// Chromium takes every name below localhost for this machine, as DNS would a rebound one.
	rebound := strings.Replace(n.api, "127.0.0.1", "rebound.localhost", 1)
	browser.Visit(t, ctx, rebound+"/v1/stats")
	if got := browser.Ask[string](t, ctx, `document.body.textContent`); !strings.Contains(got, "--allow-host") {
		t.Errorf("a rebound name reads %s", got)
	}

	browser.Visit(t, ctx, listed)
	if got := browser.Ask[string](t, ctx, wrote("POST", n.api+"/v1/subscriptions", "cors", "application/json", subscription)); got != "201" || subscriptions() != 1 {
		t.Errorf("a listed page subscribes: %s", got)
	}
	if got := browser.Ask[string](t, ctx, follow(stream)); !strings.Contains(got, "secret") {
		t.Errorf("a listed page follows the stream: %s", got)
	}
}

// With API keys a browser follows with a token in the URL; once that has expired, a stream that
// comes back is refused.
func TestFollowsWithToken(t *testing.T) {
	quicktest.Skip(t, "builds notifyd and starts a browser")
	browser.Installed(t)
	listed := site(t)
	file := filepath.Join(t.TempDir(), "keys.txt")
	issue := exec.Command("go", "run", "dyno/services/cmd/notifyd", "apikey", "shop")
	var shown strings.Builder
	issue.Stderr = &shown
	line, err := issue.Output()
	if err == nil {
		err = os.WriteFile(file, line, 0o600)
	}
	if err != nil {
		t.Fatal(err, shown.String())
	}
	key, _, _ := strings.Cut(shown.String(), "\n")
	n := start(t, "--allow-origin="+listed, "--api-keys="+file)
	post := func(path, body string, into any) {
		t.Helper()
		r, err := http.NewRequest("POST", n.api+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		if err := json.Unmarshal(text, into); err != nil || answer.StatusCode/100 != 2 {
			t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	post("/v1/notices", `{"key":"k","type":"order.paid","payload":"secret"}`, new(struct{}))
	var made struct{ Token string }
	post("/v1/stream-tokens", `{"types":["order.*"]}`, &made)

	ctx := browser.Start(t)
	browser.Visit(t, ctx, listed)
	for url, want := range map[string]string{
		n.api + "/v1/stream?after=0":                                 "closed",
		n.api + "/v1/stream?after=0&token=" + made.Token:             "secret",
		n.api + "/v1/stream?after=5000&token=" + made.Token:          "secret", // of another log: begins anew
		n.api + "/v1/stream?after=0&types=other&token=" + made.Token: "closed",
		n.api + "/v1/stream?after=0&token=" + made.Token[1:]:         "closed",
		n.api + "/v1/stats?token=" + made.Token:                      "closed",
	} {
		if got := browser.Ask[string](t, ctx, follow(url)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	if got := browser.Ask[string](t, ctx, fmt.Sprintf(`fetch(%q).then(a => a.json()).then(a => a.error, () => 'unreadable')`, n.api+"/v1/stream?token=x")); !strings.Contains(got, "stream token") {
		t.Errorf("a listed page cannot read why it is refused: %s", got)
	}
}
