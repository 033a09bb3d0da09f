package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"dyno/subjects/bounds/beside"
	"dyno/subjects/bounds/languages"
	"dyno/subjects/bounds/suite"
)

// TestMain lets this binary run as the command, too, so that tests can start it as a process.
func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"bounds": main}) }

type readyLine struct {
	Ready           bool
	Service, Inside string
	Listen          string
	Debug           *string
	Seed            uint64
	Parameters      map[string]int
}

// start runs the command until the test ends; it must then exit with code 0 on SIGTERM.
func start(t *testing.T, args ...string) (ready readyLine, stdin io.Closer, wait func() error) {
	t.Helper()
	cmd := exec.Command("bounds", args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	wait = func() error { ended = true; return cmd.Wait() }
	t.Cleanup(func() {
		if ended {
			return
		}
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready {
		t.Fatalf("ready line %s: %v", line, err)
	}
	return ready, in, wait
}

func TestWhatCanBeSeenInside(t *testing.T) {
	const info, profiles = "/debug/dyno/info", "/debug/pprof/goroutine"
	for inside, serves := range map[string]map[string]int{
		"agent": {info: http.StatusOK, profiles: http.StatusOK},
		"pprof": {info: http.StatusNotFound, profiles: http.StatusOK},
		"none":  nil,
	} {
		ready, _, _ := start(t, "--server", "hash", "--seed", "3", "--inside", inside)
		d := suite.NewDraw(3, "hash")
		fingerprints.Plan(d)
		if ready.Service != "hash" || ready.Inside != inside || ready.Seed != 3 || ready.Parameters["rounds"] != d.Values["rounds"] {
			t.Errorf("%s: %+v", inside, ready)
		}
		if (ready.Debug == nil) != (serves == nil) {
			t.Errorf("%s: debug is %v", inside, ready.Debug)
		}
		for path, want := range serves {
			answer, err := http.Get("http://" + *ready.Debug + path)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%s: %s answers %s", inside, path, answer.Status)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// A remedy changes the parameters that it names, and no other.
func TestScale(t *testing.T) {
	ready, _, _ := start(t, "--server", "pool-sql", "--scale", "max_open=2")
	d := suite.NewDraw(1, "pool-sql")
	orders.Plan(d)
	if ready.Parameters["max_open"] != 2*d.Values["max_open"] || ready.Parameters["query_us"] != d.Values["query_us"] {
		t.Errorf("%v, drawn were %v", ready.Parameters, d.Values)
	}
	out, err := exec.Command("bounds", "--server", "hash", "--scale", "max_open=2").CombinedOutput()
	if err == nil || !strings.Contains(string(out), `hash has no parameter "max_open"`) {
		t.Errorf("%v, %s", err, out)
	}
}

func TestHogEndsWithItsStdin(t *testing.T) {
	_, stdin, wait := start(t, "--hog", "1")
	stdin.Close()
	if err := wait(); err != nil {
		t.Error(err)
	}
	start(t, "--hog", "2") // ends on SIGTERM
}

func TestBackendEndsWithItsCaller(t *testing.T) {
	b, err := beside.StartBackend(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.Get("http://" + b.Address); err != nil {
		t.Error(err)
	} else {
		answer.Body.Close()
	}
	b.Close() // returns when it has ended
	if _, err := http.Get("http://" + b.Address); err == nil {
		t.Error("it goes on without its caller")
	}
}

func TestListIsJSON(t *testing.T) {
	out, err := exec.Command("bounds", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var listed []suite.Entry
	if err := json.Unmarshal(out, &listed); err != nil || len(listed) != len(servers)+len(languages.Servers) {
		t.Errorf("%d servers, %v", len(listed), err)
	}
}

func TestRefusesWrongFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "give one of --list, --server, --hog and --backend"},
		{[]string{"--list", "--hog", "1"}, "give one of"},
		{[]string{"--server", "none"}, `unknown server "none"; the servers are hash, `},
		{[]string{"--server", "hash", "--inside", "all"}, `--inside is "all"; it must be agent, pprof or none`},
		{[]string{"--hog", "-1"}, "--hog is -1"},
		{[]string{"--backend", "-1s"}, "--backend is -1s"},
		{[]string{"--server", "hash", "--seed", "x"}, "invalid value"},
		{[]string{"--server", "hash", "--scale", "rounds"}, "it takes NAME=FACTOR"},
		{[]string{"--server", "hash", "--scale", "rounds=0"}, "it takes NAME=FACTOR with a factor above 0, up to 1000"},
	} {
		out, err := exec.Command("bounds", c.args...).CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), c.says) {
			t.Errorf("%v: %v, %s", c.args, err, out)
		}
	}
}

// Every server in another language answers, says what it drew, and ends on SIGTERM.
func TestOtherLanguages(t *testing.T) {
	for _, e := range languages.Servers {
		t.Run(e.Name, func(t *testing.T) {
			if _, err := exec.LookPath(e.Runtime); err != nil {
				t.Skip(err)
			}
			t.Parallel()
			ready, _, _ := start(t, "--server", e.Name, "--seed", "3")
			d := suite.NewDraw(3, e.Name)
			e.Plan(d)
			if ready.Service != e.Name || ready.Inside != "none" || ready.Debug != nil || !maps.Equal(ready.Parameters, d.Values) {
				t.Errorf("%+v, drawn were %v", ready, d.Values)
			}
			var kept http.Transport
			defer kept.CloseIdleConnections()
			client := http.Client{Transport: &kept}
			for range 2 {
				answer, err := client.Get("http://" + ready.Listen + e.Path)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if text := string(body); err != nil || answer.StatusCode != http.StatusOK || !strings.HasPrefix(text, says[e.Name]) {
					t.Errorf("%s %q %v, want %q", answer.Status, text, err, says[e.Name])
				}
			}
		})
	}
}

// says is how the answers of servers in other languages begin; those that compute answer a number.
var says = map[string]string{
	"node-timer": "slept", "node-pool": "had a place", "node-blocked": "stopped", "node-call": "our offer: price of lamp: ",
	"node-mixed": "computed and stopped", "node-failing": "yes",
	"python-pool": "had a place", "python-lock": "had the lock", "python-one-by-one": "slept", "python-call": "our offer: price of lamp: ",
	"python-call-anew": "our offer: price of lamp: ", "python-mixed": "computed and slept",
}

// A server that cannot serve leaves no files behind.
func TestNoFilesAreLeft(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("bounds", "--server", "files", "--listen", "256.0.0.1:0")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "bounds: ") {
		t.Errorf("%v, %s", err, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A request that was cut off and reaches a server that has ended does not end the process before
// its files are removed.
func TestClosingWithRequestsAtHand(t *testing.T) {
	j, err := newJournal(1, 16)
	if err != nil {
		t.Fatal(err)
	}
	p, m := newPrinter(1, 1), newMinutes(j, 1)
	p.close()
	m.close()
	p.jobs <- job{ticket: make(chan [32]byte, 1)} // panics on a closed channel
	m.queue <- make(chan error, 1)
}
