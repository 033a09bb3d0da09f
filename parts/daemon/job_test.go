package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// holding starts a job that waits after its first line.
func holding(t *testing.T, args ...string) *child {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	debug := free.Addr().String()
	free.Close()
	c, _, rest := spawn(t, append([]string{"count", "--hold", "--to=1", "--data=" + t.TempDir(), "--debug=" + debug}, args...))
	c.Debug, c.PID = debug, c.cmd.Process.Pid
	if line, err := rest.ReadString('\n'); line != "holding\n" {
		t.Fatalf("%q, %v", line, err)
	}
	c.collect(rest)
	return c
}

func TestJobCanBeLookedInto(t *testing.T) {
	noLeaks(t)
	c := holding(t, "--assembly=workers")
	for path, says := range map[string]string{
		"/healthz":         "ok",
		"/readyz":          "ready",
		"/metrics":         "go_goroutines",
		"/debug/pprof/":    "goroutine",
		"/debug/dyno/info": `"name":"workers"`,
	} {
		if status, body := request(t, "GET", "http://"+c.Debug+path); status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: %d without %s: %.300s", path, status, says, body)
		}
	}
	folder := strings.TrimPrefix(c.cmd.Args[4], "--data=")
	out, err := exec.Command("toyd", "count", "--data", folder).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is in use by process") {
		t.Errorf("a second one in the same folder: %v, %s", err, out)
	}
	request(t, "POST", "http://"+c.Debug+"/debug/toyd/release")
	if code, stderr := c.exit(); code != 0 || stderr != "" {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

func TestJobIsToldToStop(t *testing.T) {
	noLeaks(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		c := holding(t)
		c.signal(signal)
		if code, stderr := c.exit(); code != 1 || stderr != "toyd: count was stopped before it was done\n" {
			t.Errorf("%v: exit %d, stderr %s", signal, code, stderr)
		}
	}
}

func TestSecondSignalEndsJobAtOnce(t *testing.T) {
	noLeaks(t)
	c := holding(t, "--drain-timeout=10m", "stubborn")
	c.signal(syscall.SIGTERM)
	c.untilDraining()
	c.insist(syscall.SIGTERM)
	if code, stderr := c.exit(); code != 1 || !strings.Contains(stderr, "second signal") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

func TestJobThatDoesNotStopIsBounded(t *testing.T) {
	noLeaks(t)
	c := holding(t, "--drain-timeout=10ms", "stubborn")
	c.signal(syscall.SIGTERM)
	if code, stderr := c.exit(); code != 1 || !strings.Contains(stderr, "did not finish within --drain-timeout 10ms") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

func TestFailureOfAJobCancelsIt(t *testing.T) {
	noLeaks(t)
	c := holding(t)
	request(t, "POST", "http://"+c.Debug+"/debug/toyd/fail")
	if code, stderr := c.exit(); code != 1 || stderr != "toyd: the disk is gone; for good\n" {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

// After the signal to stop, a job's own error is reported unchanged.
func TestHowJobsEnd(t *testing.T) {
	noLeaks(t)
	lost := errors.New("the disk is gone")
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, stop func(), env *Env) error
		code int
		says string
	}{
		{"done", func(context.Context, func(), *Env) error { return nil }, 0, ""},
		{"failed", func(context.Context, func(), *Env) error { return lost }, 1, "toyd: the disk is gone\n"},
		{"stopped in good order", func(ctx context.Context, stop func(), _ *Env) error { stop(); <-ctx.Done(); return nil }, 0, ""},
		{"failed while stopping", func(ctx context.Context, stop func(), _ *Env) error { stop(); <-ctx.Done(); return lost }, 1, "toyd: the disk is gone\n"},
		{"failed on the side", func(_ context.Context, _ func(), env *Env) error { env.Fail(lost); return nil }, 1, "toyd: the disk is gone\n"},
		{"cancelled on its own", func(context.Context, func(), *Env) error { return context.Canceled }, 1, "toyd: context canceled\n"},
		{"draining is closed", func(_ context.Context, stop func(), env *Env) error { stop(); <-env.Draining; return nil }, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			service := toy()
			service.Data = nil
			service.Jobs = []Job{{Name: "end", Run: func(ctx context.Context, env *Env, _ []string) error { return c.run(ctx, stop, env) }}}
			var stdout, stderr bytes.Buffer
			if code := Run(ctx, service, []string{"end"}, noEnv, &stdout, &stderr); code != c.code || stderr.String() != c.says || stdout.Len() > 0 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, &stdout, &stderr)
			}
		})
	}
}

func TestMistakesInJobs(t *testing.T) {
	run := func(context.Context, *Env, []string) error { return nil }
	for says, jobs := range map[string][]Job{
		"declares no Name or no Run": {{Name: "count"}},
		"taken by another command":   {{Name: "serve", Run: run}},
		"count: the name is taken":   {{Name: "count", Run: run}, {Name: "count", Run: run}},
	} {
		service := toy()
		service.Jobs = jobs
		var stderr bytes.Buffer
		if code := Run(t.Context(), service, nil, noEnv, io.Discard, &stderr); code != 1 || !strings.Contains(stderr.String(), says) {
			t.Errorf("exit %d, stderr %q, want %q", code, &stderr, says)
		}
	}
}

// A service may have jobs only.
func TestServiceOfJobs(t *testing.T) {
	s := Service{Name: "toyd", Jobs: []Job{{Name: "count", Run: func(context.Context, *Env, []string) error { return nil }}}}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	tasks := s.Tasks(func(string) (string, bool) { return "", false }, io.Discard, io.Discard)
	if len(tasks) != 1 || tasks[0].Name != "count" {
		t.Errorf("%d tasks, the first is %s", len(tasks), tasks[0].Name)
	}
}
