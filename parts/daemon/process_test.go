package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests; none is expected to take a tenth of it.
const patience = 2 * time.Minute

// child is the toy as a process of its own.
type child struct {
	t              *testing.T
	cmd            *exec.Cmd
	Listen, Debug  string
	PID            int
	stdout, stderr bytes.Buffer // to be read after exit
	lines          chan struct{}
}

func start(t *testing.T, args ...string) *child {
	t.Helper()
	c, line, lines := spawn(t, append([]string{"serve", "--listen=127.0.0.1:0", "--data=" + t.TempDir(), "--lame-duck=0s"}, args...))
	var ready struct {
		Ready         bool
		Service       string
		Listen, Debug string
		PID           int
	}
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready || ready.Service != "toyd" || ready.PID != c.cmd.Process.Pid {
		t.Fatalf("ready line %q: %v", line, err)
	}
	c.Listen, c.Debug, c.PID = ready.Listen, ready.Debug, ready.PID
	c.collect(lines)
	return c
}

// spawn starts the toy and returns the first line of its stdout, and the rest.
func spawn(t *testing.T, args []string) (c *child, line []byte, rest *bufio.Reader) {
	t.Helper()
	c = &child{t: t, lines: make(chan struct{})}
	c.cmd = exec.Command("toyd", args...)
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() }) // an error: it has ended, as it should
	rest = bufio.NewReader(out)
	if line, err = rest.ReadBytes('\n'); err != nil {
		c.cmd.Wait()
		t.Fatalf("no first line: %v; stderr: %s", err, &c.stderr)
	}
	return c, line, rest
}

// collect keeps the rest of stdout.
func (c *child) collect(rest io.Reader) {
	go func() {
		defer close(c.lines)
		io.Copy(&c.stdout, rest)
	}()
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// insist sends a signal repeatedly until the process has ended: the process ignores an echo of an
// earlier one.
func (c *child) insist(s os.Signal) {
	go func() {
		again := time.NewTicker(echo / 5)
		defer again.Stop()
		for {
			c.cmd.Process.Signal(s) // an error: it has ended
			select {
			case <-again.C:
			case <-c.lines:
				return
			}
		}
	}()
}

// exit waits for the end and returns the exit code and stderr.
func (c *child) exit() (int, string) {
	c.t.Helper()
	stuck := time.AfterFunc(patience, func() { c.cmd.Process.Signal(syscall.SIGQUIT) }) // says where
	defer stuck.Stop()
	<-c.lines
	err := c.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	if c.stdout.Len() > 0 {
		c.t.Errorf("more than the ready line on stdout: %s", &c.stdout)
	}
	return c.cmd.ProcessState.ExitCode(), c.stderr.String()
}

func request(t *testing.T, method, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// slow opens a request that stays under way, and returns how it ends.
func (c *child) slow(path string) <-chan string {
	c.t.Helper()
	answer, err := http.Get("http://" + c.Listen + path)
	if err != nil {
		c.t.Fatal(err)
	}
	end := make(chan string, 1)
	go func() {
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			body = []byte("cut off")
		}
		end <- string(body)
	}()
	return end
}

// untilDraining waits until the first signal has arrived.
func (c *child) untilDraining() {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if status, body := request(c.t, "GET", "http://"+c.Debug+"/readyz"); status == http.StatusServiceUnavailable && body == "draining\n" {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the process does not begin to drain")
		}
	}
}

func TestDrainFinishesWhatIsUnderWay(t *testing.T) {
	noLeaks(t)
	c := start(t, "--assembly=ring")
	if status, body := request(t, "GET", "http://"+c.Debug+"/readyz"); status != http.StatusOK {
		t.Fatalf("readyz %d %s", status, body)
	}
	slow, stream := c.slow("/slow"), c.slow("/stream")
	c.signal(syscall.SIGTERM)
	c.untilDraining()
	if got := <-stream; got != "" {
		t.Errorf("the stream ended with %q", got)
	}
	if status, _ := request(t, "GET", "http://"+c.Debug+"/healthz"); status != http.StatusOK {
		t.Errorf("healthz %d while draining", status)
	}
	request(t, "POST", "http://"+c.Debug+"/debug/toyd/release")
	if got := <-slow; got != "finished" {
		t.Errorf("the request under way was %s", got)
	}
	code, stderr := c.exit()
	if code != 0 || !strings.Contains(stderr, `"msg":"drained"`) {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
	for line := range strings.Lines(stderr) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a log line is no JSON: %s", line)
		}
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	noLeaks(t)
	c := start(t, "--drain-timeout=10m")
	slow := c.slow("/slow")
	c.signal(os.Interrupt)
	c.untilDraining()
	c.insist(syscall.SIGTERM)
	code, stderr := c.exit()
	if code != 1 || !strings.Contains(stderr, "second signal") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
	if got := <-slow; got != "cut off" {
		t.Errorf("the request under way was %s", got)
	}
}

func TestDrainIsBounded(t *testing.T) {
	noLeaks(t)
	c := start(t, "--drain-timeout=40ms")
	slow := c.slow("/slow")
	c.signal(syscall.SIGTERM)
	code, stderr := c.exit()
	if code != 1 || !strings.Contains(stderr, "toyd: requests were still under way after ") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
	if !strings.Contains(stderr, `"msg":"drained"`) {
		t.Errorf("the service was not drained: %s", stderr)
	}
	<-slow
}

func TestFailureOfTheServiceEndsTheProcess(t *testing.T) {
	noLeaks(t)
	c := start(t)
	request(t, "POST", "http://"+c.Debug+"/debug/toyd/fail")
	code, stderr := c.exit()
	if code != 1 || !strings.Contains(stderr, "toyd: the disk is gone; for good\n") || !strings.Contains(stderr, `"msg":"drained"`) {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

func TestDebugAddress(t *testing.T) {
	noLeaks(t)
	c := start(t, "--assembly=workers", "--set=queue=swap", "--set", "log=group")
	debug := "http://" + c.Debug
	for _, want := range []struct{ path, says string }{
		{"/healthz", "ok"},
		{"/readyz", "ready"},
		{"/metrics", "go_goroutines"},
		{"/metrics", "process_cpu_seconds_total"},
		{"/debug/vars", "memstats"},
		{"/debug/pprof/", "goroutine"},
		{"/debug/dyno/info", `"name":"workers"`},
		{"/debug/dyno/info", `"seams":{"log":"group","queue":"swap"}`},
		{"/debug/dyno/info", `"workers":"8"`},
		{"/debug/dyno/info", `"gauges":["workers"]`},
	} {
		if status, body := request(t, "GET", debug+want.path); status != http.StatusOK || !strings.Contains(body, want.says) {
			t.Errorf("%s: %d without %s: %.300s", want.path, status, want.says, body)
		}
	}
	if _, body := request(t, "GET", "http://"+c.Listen+"/queue"); body != "swap" {
		t.Errorf("the service was started with queue %s", body)
	}
	c.signal(syscall.SIGTERM)
	if code, stderr := c.exit(); code != 0 {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

func TestTakenPortAndFolder(t *testing.T) {
	noLeaks(t)
	c := start(t)
	folder := strings.TrimPrefix(c.cmd.Args[3], "--data=")
	for _, want := range []struct {
		args []string
		says string
	}{
		{[]string{"--listen", c.Listen, "--data", t.TempDir()}, "toyd: --listen " + c.Listen + " is taken by another process; choose another port, or 0 for a free one\n"},
		{[]string{"--listen", "127.0.0.1:0", "--debug", c.Listen, "--data", t.TempDir()}, "toyd: --debug " + c.Listen + " is taken"},
		{[]string{"--listen", "127.0.0.1:0", "--data", folder}, "is in use by process " + strconv.Itoa(c.PID) + "; stop it or choose"},
	} {
		out, err := exec.Command("toyd", append([]string{"serve"}, want.args...)...).CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), want.says) || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("%v: %v, %s", want.args, err, out)
		}
	}
	c.signal(syscall.SIGTERM)
	c.exit()
}
