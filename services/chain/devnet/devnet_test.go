package devnet_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		builds.Remove()
		os.Exit(code)
	}))
}

// post sends a request, and returns the status and the body of its answer.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func height(t *testing.T, listen string) (int, string) {
	return post(t, "http://"+listen, `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`)
}

// A network has a leader when it is ready; a killed leader is replaced and comes back at its
// address, a slow node holds up no other, and the same folder is a network again.
func TestDevnet(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	dir := filepath.Join(t.TempDir(), "net")
	var p *process.Process
	run := func() (stop func(), listen, control string) {
		p = processtest.Start(t, builds.Program(t, "dyno/services/chain/cmd/chaind"), "devnet", "--data", dir, "--listen=127.0.0.1:0", "--control=127.0.0.1:0", "--", "--log-level=warn")
		return func() { processtest.Stop(t, p) }, p.Ready()["listen"], p.Ready()["control"]
	}
	stop, listen, control := run()
	if code, answer := height(t, listen); code != http.StatusOK || !strings.Contains(answer, `"result":"0x0"`) {
		t.Errorf("the leader answers %d %s", code, answer)
	}
	for _, tt := range []struct {
		path string
		code int
	}{
		{"/kill?of=9", http.StatusNotFound},
		{"/kill?of=leader&for=1h", http.StatusBadRequest},
		{"/slow?of=follower", http.StatusServiceUnavailable},
		{"/slow?of=follower&by=10ms", http.StatusOK},
		{"/kill?of=leader&for=1ms", http.StatusOK},
	} {
		code, answer := 0, ""
		servicetest.Await(t, func() string { return fmt.Sprintf("%s is answered with %d: %d %s", tt.path, tt.code, code, answer) }, func() bool {
			code, answer = post(t, "http://"+control+tt.path, "")
			return code == tt.code || code != http.StatusServiceUnavailable // on a busy machine there may be no leader for a while
		})
		if code != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.path, code, answer, tt.code)
		}
	}
	servicetest.Await(t, func() string { return "a leader" }, func() bool {
		code, _ := post(t, "http://"+control+"/kill?of=leader", "")
		return code == http.StatusOK || code == http.StatusServiceUnavailable // the slow one leads
	})
	stop()
	_, listen, _ = run()
	servicetest.Await(t, func() string { return fmt.Sprint("an answer at ", listen) }, func() bool {
		code, _ := height(t, listen)
		return code == http.StatusOK
	})
	if err := syscall.Kill(p.PID(), syscall.SIGINT); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	if <-p.Exited(); p.Err() != nil {
		t.Error("after Ctrl-C: ", p.Err())
	}
	if keys, err := filepath.Glob(filepath.Join(dir, "*.key")); err != nil || len(keys) != 3 {
		t.Errorf("keys: %v, %v", keys, err)
	}
}

// What cannot run says so, with the reason.
func TestWrongDevnet(t *testing.T) {
	for _, tt := range []struct {
		says string
		args []string
	}{
		{"unknown assembly", []string{"--", "--assembly=none"}},
		{"want 1 to 7", []string{"--nodes=0"}},
		{"want 1 to 7", []string{"--nodes=8"}},
		{"want a loopback address", []string{"--control=0.0.0.0:0"}},
		{"takes no arguments", []string{"stray"}},
	} {
		command := append([]string{"devnet", "--data", filepath.Join(t.TempDir(), "net"), "--listen=127.0.0.1:0"}, tt.args...)
		if out, err := exec.Command(builds.Program(t, "dyno/services/chain/cmd/chaind"), command...).CombinedOutput(); err == nil || !strings.Contains(string(out), tt.says) {
			t.Errorf("%v: %s, %v", tt.args, out, err)
		}
	}
}
