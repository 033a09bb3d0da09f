package windows

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestMain(m *testing.M) {
	if os.Getenv("STAND_IN") == "k6" {
		os.Exit(standIn(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// service counts requests by path; it answers those below /missing with 404.
type service struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.counts[r.URL.Path]++
	s.mu.Unlock()
	if r.URL.Path == "/missing" {
		http.NotFound(w, r)
	}
}

func serve(t *testing.T) (s *service, url string) {
	s = &service{counts: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

type none struct{}

func (none) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// measure runs the command, and reads its windows as the lab does.
func measure(t *testing.T, args ...string) record.Totals {
	t.Helper()
	var printed bytes.Buffer
	cmd := New()
	cmd.SetArgs(args)
	cmd.SetOut(&printed)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	totals, _, err := load.Run(t.Context(), load.Plan{Length: time.Second}, windows.New("tool", &printed), none{})
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

// checkK6 runs k6, or the test's replacement for it, on a script whose second request gets a 404
// and whose setup waits.
func checkK6(t *testing.T) {
	s, url := serve(t)
	got := measure(t, "--from", "k6", "--sessions", "5", "--warmup", "500ms", "--duration", "2s", "--url", url, "testdata/script.js", "--", "-e", "PAUSE=0.05")
	if got.Completed == 0 || got.Failed == 0 || got.Errors["status"] != got.Failed || got.Status["404"] != got.Failed {
		t.Errorf("completed %d, failed %d, errors %v, status %v", got.Completed, got.Failed, got.Errors, got.Status)
	}
	if share := float64(got.Failed) / float64(got.Completed); share < 0.4 || share > 0.6 {
		t.Errorf("%v of the requests failed, of which the script makes every second fail", share)
	}
	if n := got.Sessions; n == nil || n.Planned != 5 || n.Opened != 5 || n.FramesMin <= 0 {
		t.Errorf("sessions %+v", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts["/setup"] != 1 || int64(s.counts["/found"]) < got.Completed/2 {
		t.Errorf("the service received %v", s.counts)
	}
}

func TestStandInForK6(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("STAND_IN", "k6")
	t.Setenv("K6", self)
	checkK6(t)
}

func TestK6(t *testing.T) {
	if _, err := (&tool{program: "k6", variable: "K6"}).find(); err != nil {
		t.Skip("k6 is missing: put it on the PATH, or name it with $K6")
	}
	checkK6(t)
}

// TestLocust checks that the load is Locust's own, and that failures are what Locust counts as
// failed.
func TestLocust(t *testing.T) {
	if _, err := (&tool{program: "locust", variable: "LOCUST"}).find(); err != nil {
		t.Skip("Locust is missing: pip install locust, or name it with $LOCUST")
	}
	s, url := serve(t)
	got := measure(t, "--from", "locust", "--sessions", "9", "--warmup", "500ms", "--duration", "2s", "--url", url, "testdata/locustfile.py")
	if n := got.Sessions; n == nil || n.Planned != 9 || n.Opened != 9 {
		t.Errorf("sessions %+v", n)
	}
	if got.Failed == 0 || got.Errors["check"] != got.Failed || got.Status["404"] != 0 {
		t.Errorf("failed %d, errors %v, status %v: answers that the script judges", got.Failed, got.Errors, got.Status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.counts
	if n["/start/Admin"] != 1 || n["/start/Reader"] != 4 || n["/start/Writer"] != 4 || n["/spare"] != 0 {
		t.Errorf("the users that Locust started: %v", n)
	}
	if n["/write"] == 0 || n["/inherited/Reader"] == 0 || n["/read"] <= n["/inherited/Reader"] || n["/read"] > 5*n["/write"] {
		t.Errorf("weights count within a user, with inherited and nested tasks: %v", n)
	}
	if int64(n["/admin"]) < got.Failed || n["/missing"] == 0 {
		t.Errorf("%d failed of %v", got.Failed, n)
	}
}

// TestFaults checks that what is missing is named, on stderr and in the stream.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	fails := filepath.Join(dir, "fails")
	if err := os.WriteFile(fails, []byte("#!/bin/sh\necho 'no default function' >&2\nexit 104\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		k6, want string
		args     []string
	}{
		{"absent-program", "$K6 names absent-program, which is no program", []string{"--from", "k6", "testdata/script.js"}},
		{fails, "the script of k6: stat absent.js", []string{"--from", "k6", "absent.js"}},
		{fails, "no default function", []string{"--from", "k6", "testdata/script.js"}},
		{"", "--from k7 is no tool", []string{"--from", "k7", "testdata/script.js"}},
		{"", "--from names the tool: k6 or locust", []string{"testdata/script.js"}},
		{"", "what is meant for k6 follows --", []string{"--from", "k6", "a.js", "b.js"}},
	} {
		t.Setenv("K6", test.k6)
		var printed bytes.Buffer
		cmd := New()
		cmd.SetArgs(test.args)
		cmd.SetOut(&printed)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %s", test.args, err, test.want)
		}
		if test.k6 != "" && !strings.Contains(printed.String(), `{"end":true,"error":`) {
			t.Errorf("%v printed %s", test.args, &printed)
		}
	}
	t.Setenv("K6", "")
	t.Setenv("PATH", dir)
	tool := all["k6"]
	if _, err := tool.find(); err == nil || !strings.Contains(err.Error(), "k6 is not installed: there is no program k6 on the PATH") {
		t.Errorf("without k6: %v", err)
	}
}

// TestInterrupted checks that the tool ends with the command.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	hangs, started := filepath.Join(dir, "hangs"), filepath.Join(dir, "started")
	if err := os.WriteFile(hangs, []byte("#!/bin/sh\necho $$ >"+started+"\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("K6", hangs)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if pid, _ := os.ReadFile(started); len(pid) > 0 {
				stop()
			}
		}
	}()
	cmd := New()
	cmd.SetArgs([]string{"--from", "k6", "testdata/script.js"})
	cmd.SetOut(&bytes.Buffer{})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err == nil {
		t.Error("it went on")
	}
	pid, _ := os.ReadFile(started)
	if exec.Command("kill", "-0", strings.TrimSpace(string(pid))).Run() == nil {
		t.Errorf("process %s still runs", pid)
	}
}
