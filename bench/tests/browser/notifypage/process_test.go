package notifypage_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dyno/bench/tests/browser"
	"dyno/parts/quicktest"
)

// notifyd is the real program as a process.
type notifyd struct {
	api, debug string // origins
}

// start builds and starts notifyd. It ends with the test, in good order.
func start(t *testing.T, args ...string) notifyd {
	t.Helper()
	program := filepath.Join(t.TempDir(), "notifyd")
	if out, err := exec.Command("go", "build", "-o", program, "dyno/services/cmd/notifyd").CombinedOutput(); err != nil {
		t.Fatalf("building notifyd: %v\n%s", err, out)
	}
	var stderr bytes.Buffer
	c := exec.Command(program, append([]string{"serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--data=" + t.TempDir()}, args...)...)
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM) // an error: it has ended, which Wait reports
		if err := c.Wait(); err != nil || t.Failed() {
			t.Errorf("notifyd ended with %v; it said:\n%s", err, &stderr)
		}
	})
	var ready struct{ Listen, Debug string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatalf("no ready line but %q: %v", line, err)
	}
	return notifyd{"http://" + ready.Listen, "http://" + ready.Debug}
}

func (n notifyd) post(t *testing.T, path, body string, into any) {
	t.Helper()
	answer, err := http.Post(n.api+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
}

// receiver takes webhooks once it is well, and notes their ids.
type receiver struct {
	mu   sync.Mutex
	well bool
	got  []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.well {
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	r.got = append(r.got, req.Header.Get("webhook-id"))
}

// From the failure of a receiver to the delivery of what it missed, with the real program and by
// hand.
func TestReplayInProcess(t *testing.T) {
	quicktest.Skip(t, "builds notifyd and starts a browser")
	browser.Installed(t) // before anything is built for it
	sick := new(receiver)
	hooks := httptest.NewServer(sick)
	defer hooks.Close()
	n := start(t, "--allow-private-targets", "--set=max_attempts=2", "--set=backoff=1ms", "--set=max_backoff=10ms")
	var sub struct{ ID string }
	n.post(t, "/v1/subscriptions", `{"url":"`+hooks.URL+`/hook","types":["order.*"]}`, &sub)
	const letters = 3 // two attempts each: enough for the circuit breaker
	for i := range letters {
		n.post(t, "/v1/notices", fmt.Sprintf(`{"id":"n%d","key":"order-%[1]d","type":"order.paid","payload":{"total":%[1]d}}`, i), new(struct{}))
	}

	ctx, w := browser.Open(t, n.debug+"/debug/notify/", 1280, 900, "light")
	browser.Await(t, ctx, row("queues", sub.ID)+`?.dataset.state === 'failing'`)
	browser.Await(t, ctx, fmt.Sprintf(`%s.part_.status.textContent === '500' && %[1]s.part_.dead.textContent === '%d'`, row("queues", sub.ID), letters))
	browser.Await(t, ctx, fmt.Sprintf(`document.querySelectorAll('#letters tbody tr').length === %d`, letters))
	if why := browser.Ask[string](t, ctx, row("letters", "n1")+`.part_.reason.textContent`); !strings.Contains(why, "500") {
		t.Errorf("the page says %q of a letter that died of 500", why)
	}
	browser.Picture(t, ctx, "process")
	tested := func(what string) {
		t.Helper()
		browser.Ask[bool](t, ctx, row("queues", sub.ID)+`.part_.test.click(), true`)
		browser.Await(t, ctx, fmt.Sprintf(`document.getElementById('tested').textContent.includes(%q)`, what))
	}
	tested("answered 500 Internal Server Error")

	sick.mu.Lock()
	sick.well = true
	sick.mu.Unlock()
	tested("answered 200")
	sick.mu.Lock()
	if len(sick.got) != 1 || !strings.HasPrefix(sick.got[0], "test_") {
		t.Errorf("the receiver got %q, not a test notice", sick.got)
	}
	sick.got = nil
	sick.mu.Unlock()
	browser.Ask[bool](t, ctx, row("letters", "n1")+`.part_.replay.click(), true`)
	browser.Await(t, ctx, fmt.Sprintf(`!%s && document.querySelectorAll('#letters tbody tr').length === %d`, row("letters", "n1"), letters-1))
	browser.Await(t, ctx, fmt.Sprintf(`%s.dataset.state === 'ok' && %[1]s.part_.delivered.textContent === '1' && %[1]s.part_.dead.textContent === '%d'`, row("queues", sub.ID), letters-1))
	sick.mu.Lock()
	if got := strings.Join(sick.got, " "); got != "n1" {
		t.Errorf("the receiver got %q, not the one that was replayed", got)
	}
	sick.mu.Unlock()
	w.Check(t, n.debug+"/debug/notify/")
}
