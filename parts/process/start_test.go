package process

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == roleLab {
		actAsLab()
		return
	}
	goleak.VerifyTestMain(m)
}

// shell is a Spec that runs a script.
func shell(script string) Spec {
	return Spec{Name: "script", Command: []string{"/bin/sh", "-c", script}}
}

// testTimeout bounds steps that take no time on an idle machine.
const testTimeout = 2 * time.Minute

func start(t *testing.T, s Spec) *Process {
	t.Helper()
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

func ended(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(testTimeout):
		t.Fatal("the process did not end")
	}
}

func TestReadyLine(t *testing.T) {
	s := shell(`echo starting; echo '{"level":"INFO","msg":"opening","listen":"no"}'
		echo '{"listen":"127.0.0.1:4711","debug":"127.0.0.1:4712","pid":7}'; echo '{"listen":"later"}'; exec sleep 1000`)
	s.ReadyLine = true
	p := start(t, s)
	if got := p.Ready(); len(got) != 2 || got["listen"] != "127.0.0.1:4711" || got["debug"] != "127.0.0.1:4712" {
		t.Errorf("Ready() = %v", got)
	}
	if p.ReadyAfter() <= 0 || p.PID() <= 0 {
		t.Errorf("ready after %v as process %d", p.ReadyAfter(), p.PID())
	}
	if err := p.Stop(testTimeout); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if err := syscall.Kill(p.PID(), 0); err != syscall.ESRCH {
		t.Errorf("after Stop the process gives %v, want no such process", err)
	}
}

func TestReadyURL(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer srv.Close()
	s := shell("exec sleep 1000")
	s.ReadyURL = at(srv.URL)
	p := start(t, s)
	if asked.Load() != 3 {
		t.Errorf("asked %d times, want until the first 200, the third", asked.Load())
	}
	if err := p.Stop(testTimeout); err != nil {
		t.Error(err)
	}
}

func at(url string) func(map[string]string) (string, error) {
	return func(map[string]string) (string, error) { return url, nil }
}

// With both, the URL may contain the line's fields.
func TestReadyURLAfterTheLine(t *testing.T) {
	srv := httptest.NewServer(http.RedirectHandler("", http.StatusNotModified)) // below 400 is ready
	defer srv.Close()
	s := shell(`echo '{"listen":"` + strings.TrimPrefix(srv.URL, "http://") + `"}'; exec sleep 1000`)
	s.ReadyLine = true
	s.ReadyURL = func(line map[string]string) (string, error) { return "http://" + line["listen"] + "/", nil }
	if err := start(t, s).Stop(testTimeout); err != nil {
		t.Error(err)
	}
	s.ReadyURL = func(map[string]string) (string, error) { return "", errors.New("no such field") }
	if _, err := Start(t.Context(), s); err == nil || err.Error() != "no such field" {
		t.Errorf("error %v, want that of the URL", err)
	}
}

func TestStartFails(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	tests := []struct {
		name string
		spec Spec
		want []string
	}{
		{"dies before it is ready", Spec{Name: "ordersd", Command: []string{"/bin/sh", "-c", "echo token=hunter2; echo cannot bind >&2; exit 3"}, ReadyLine: true, Redact: hide},
			[]string{"ordersd", "exit code 3", "cannot bind", "token=[redacted]"}},
		{"ends well before it is ready", Spec{Name: "ordersd", Command: []string{"/bin/sh", "-c", "echo bye"}, ReadyLine: true},
			[]string{"exit code 0 before it was ready", "bye"}},
		{"prints what moves the cursor", Spec{Command: []string{"/bin/sh", "-c", `printf 'a\033[2Jb\377\n'; exit 3`}, ReadyLine: true},
			[]string{"a\ufffd[2Jb\ufffd"}},
		{"no ready line in time", Spec{Name: "ordersd", Command: []string{"/bin/sh", "-c", "echo waiting; exec sleep 1000"}, ReadyLine: true, ReadyTimeout: 200 * time.Millisecond},
			[]string{"no ready line", "200ms"}},
		{"no answer in time", Spec{Command: []string{"sleep", "1000"}, ReadyURL: at("http://127.0.0.1:1/"), ReadyTimeout: 50 * time.Millisecond},
			[]string{"sleep did not answer http://127.0.0.1:1/", "log is empty"}},
		{"no such program", Spec{Command: []string{"no-such-program-here"}}, []string{"could not be started", "install no-such-program-here"}},
		{"not executable", Spec{Command: []string{"./start_test.go"}}, []string{"is ./start_test.go an executable file?"}},
		{"no command", Spec{}, []string{"no command"}},
		{"two uses of stdout", Spec{Command: []string{"true"}, ReadyLine: true, Stdout: &bytes.Buffer{}}, []string{"not both"}},
		{"log in no folder", Spec{Command: []string{"true"}, Log: "no/such/folder/log"}, []string{"opening its log"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Start(t.Context(), tt.spec)
			if err == nil {
				p.Stop(0)
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestExitErrorCarriesTheCode(t *testing.T) {
	s := shell("exit 2")
	s.ReadyLine = true
	_, err := Start(t.Context(), s)
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != 2 {
		t.Errorf("error %v holds no exit code 2", err)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "log")
	s := shell(`echo $$; exec sleep 1000`)
	s.ReadyLine, s.Log = true, file
	go func() {
		awaitText(t, file, "\n")
		cancel()
	}()
	if _, err := Start(ctx, s); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want cancelled", err)
	}
	if pid := firstNumber(t, file); syscall.Kill(pid, 0) != syscall.ESRCH {
		t.Errorf("process %d is still there", pid)
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		name, script string
		killed       bool
		code         int
		signal       syscall.Signal
	}{
		{"drains", `trap 'exit 0' TERM; echo '{}'; while :; do sleep 0.01; done`, false, 0, 0},
		{"has no handler", `echo '{}'; exec sleep 1000`, false, 0, 0},
		{"fails while draining", `trap 'exit 7' TERM; echo '{}'; while :; do sleep 0.01; done`, false, 7, 0},
		{"does not listen", `trap '' TERM; echo '{}'; while :; do sleep 0.01; done`, true, -1, syscall.SIGKILL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := shell(tt.script)
			s.ReadyLine = true
			p := start(t, s)
			grace := testTimeout
			if tt.killed {
				grace = 10 * time.Millisecond
			}
			err := p.Stop(grace)
			if errors.Is(err, ErrKilled) != tt.killed {
				t.Errorf("Stop returned %v, killed should be %v", err, tt.killed)
			}
			if again := p.Stop(0); (again == nil) != (err == nil) {
				t.Errorf("the second Stop returned %v", again)
			}
			var exit *ExitError
			if errors.As(p.Err(), &exit) != (tt.code != 0) || exit != nil && (exit.Code != tt.code || exit.Signal != tt.signal) {
				t.Errorf("Err() = %v, want code %d and signal %v", p.Err(), tt.code, tt.signal)
			}
		})
	}
}

// A process that exits on its own takes its group with it.
func TestGroupEndsWithItsLeader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	s := shell(`sleep 1000 & echo $!; exit 4`)
	s.Log = file
	p := start(t, s)
	ended(t, p)
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Code != 4 {
		t.Errorf("Err() = %v, want exit code 4", err)
	}
	awaitGone(t, firstNumber(t, file))
}

func TestJobsStdoutIsRaw(t *testing.T) {
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "log")
	s := shell(`printf 'a\0b'; echo aside >&2`)
	s.Stdout, s.Log = &out, file
	p := start(t, s)
	ended(t, p)
	if out.String() != "a\x00b" {
		t.Errorf("stdout was %q", out.String())
	}
	if got, _ := os.ReadFile(file); string(got) != "aside\n" {
		t.Errorf("the log holds %q", got)
	}
	if p.Err() != nil || p.Ready() != nil {
		t.Errorf("Err() = %v, Ready() = %v", p.Err(), p.Ready())
	}
}

// What a process printed before its end reaches a reader that begins long after it.
func TestOutputWaitsForItsReader(t *testing.T) {
	out := &lateReader{after: afterEnd * 3 / 2}
	s := shell(`i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done`)
	s.Stdout = out
	ended(t, start(t, s))
	if out.Len() != 2000*41 {
		t.Errorf("the reader received %d bytes, want %d", out.Len(), 2000*41)
	}
}

// lateReader takes its time before it reads for the first time.
type lateReader struct {
	bytes.Buffer
	after time.Duration
}

func (r *lateReader) Write(b []byte) (int, error) {
	time.Sleep(r.after)
	r.after = 0
	return r.Buffer.Write(b)
}

// A reader that stopped reading must not stop the process.
func TestJobOutlivesItsReader(t *testing.T) {
	s := shell(`i=0; while [ $i -lt 40000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; exit 5`)
	s.Stdout = brokenWriter{}
	p := start(t, s)
	ended(t, p)
	var exit *ExitError
	if !errors.As(p.Err(), &exit) || exit.Code != 5 {
		t.Errorf("Err() = %v, want exit code 5", p.Err())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestEnvAndDir(t *testing.T) {
	dir := t.TempDir()
	s := shell(`echo "$COLOUR in $(pwd -P), home $HOME"`)
	s.Env, s.Dir = []string{"COLOUR=green"}, dir
	t.Setenv("HOME", "/home/x")
	p := start(t, s)
	ended(t, p)
	real, _ := filepath.EvalSymlinks(dir)
	if want := "green in " + real + ", home /home/x"; p.LogTail(1) != want {
		t.Errorf("the process saw %q, want %q", p.LogTail(1), want)
	}
}
