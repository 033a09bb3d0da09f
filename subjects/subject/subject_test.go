package subject

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"dyno/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout, in := io.Pipe()
	end := make(chan error, 1)
	go func() {
		end <- Serve(ctx, Flags{"127.0.0.1:0", "127.0.0.1:0"}, Subject{Name: "answer", Ready: map[string]any{"truth": 42},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })}, in)
		in.Close()
	}()
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Ready         bool
		Service       string
		Listen, Debug string
		PID, Truth    int
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	if !ready.Ready || ready.Service != "answer" || ready.PID != os.Getpid() || ready.Truth != 42 {
		t.Errorf("ready line %s", line)
	}
	if got := get(t, "http://"+ready.Listen); got != "hello" {
		t.Errorf("the subject answers %q", got)
	}
	var info agent.Info
	if err := json.Unmarshal([]byte(get(t, "http://"+ready.Debug+agent.PathInfo)), &info); err != nil || info.Service != "answer" {
		t.Errorf("the agent says %+v, %v", info, err)
	}
	get(t, "http://"+ready.Debug+"/debug/pprof/goroutine")
	get(t, "http://"+ready.Debug+"/readyz")

	cancel()
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("more on stdout: %q, %v", rest, err)
	}
	if err := <-end; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAddressThatIsTaken(t *testing.T) {
	stdout, in := io.Pipe()
	defer stdout.Close()
	if err := Serve(t.Context(), Flags{"256.0.0.1:0", "127.0.0.1:0"}, Subject{}, in); err == nil {
		t.Error("served on an address that is none")
	}
}

func TestHowMuchCanBeSeenInside(t *testing.T) {
	for inside, paths := range map[Inside]map[string]int{
		Agent: {agent.PathInfo: http.StatusOK, "/debug/pprof/goroutine": http.StatusOK, "/readyz": http.StatusOK},
		PProf: {agent.PathInfo: http.StatusNotFound, "/debug/pprof/goroutine": http.StatusOK, "/readyz": http.StatusOK},
		None:  nil,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		stdout, in := io.Pipe()
		accepted := 0
		end := make(chan error, 1)
		go func() {
			end <- Serve(ctx, Flags{"127.0.0.1:0", "127.0.0.1:0"}, Subject{Name: "answer", Inside: inside,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }),
				Accept:  func(l net.Listener) net.Listener { return counting{l, &accepted} }}, in)
		}()
		var ready struct{ Listen, Debug string }
		if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
			t.Fatal(err)
		}
		if (ready.Debug == "") != (paths == nil) {
			t.Errorf("%q: the debug address is %q", inside, ready.Debug)
		}
		for path, want := range paths {
			answer, err := http.Get("http://" + ready.Debug + path)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%q: %s answers %s", inside, path, answer.Status)
			}
		}
		get(t, "http://"+ready.Listen)
		cancel()
		if err := <-end; err != nil {
			t.Error(err)
		}
		if accepted != 1 {
			t.Errorf("%q: %d connections went through Accept", inside, accepted)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// counting counts the connections that it accepts.
type counting struct {
	net.Listener
	accepted *int
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		*c.accepted++
	}
	return conn, err
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, answer.StatusCode, err)
	}
	return string(body)
}
