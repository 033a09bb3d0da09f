package subject

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
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
