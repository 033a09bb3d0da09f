package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// simulator runs the command until the test ends, and returns its ready line and how it ends.
func simulator(t *testing.T, args ...string) (ready map[string]any, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := simCommand()
	cmd.SetArgs(args)
	cmd.SetOut(write)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.ExecuteContext(ctx)
		write.Close()
	}()
	if err := json.NewDecoder(read).Decode(&ready); err != nil {
		cancel()
		t.Fatalf("%v; the command says %v", err, <-ended)
	}
	return ready, func() error {
		defer read.Close()
		cancel()
		return <-ended
	}
}

func TestSim(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "cert.pem")
	ready, end := simulator(t, "--ledgers", "4", "--transactions", "2", "--first", "50", "--fault", "error=1",
		"--complete", "50-51,53", "--tls", "--tls-write", pem, "--limits", "clio", "--memory", "1", "--no-http2")
	if ready["ready"] != true || ready["complete_ledgers"] != "50-51,53" || ready["pid"] != float64(os.Getpid()) {
		t.Errorf("%v", ready)
	}
	if _, _, err := net.SplitHostPort(ready["listen"].(string)); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(pem); err != nil || !bytes.HasPrefix(b, []byte("-----BEGIN CERTIFICATE")) {
		t.Errorf("%s, %v", b, err)
	}
	if err := end(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

func TestSimWithoutTransactions(t *testing.T) {
	ready, end := simulator(t, "--ledgers", "1", "--transactions", "0", "--first", "50")
	ask := `{"method":"ledger","params":[{"ledger_index":50,"transactions":true,"expand":true,"binary":true}]}`
	a, err := http.Post(ready["url"].(string), "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if b, err := io.ReadAll(a.Body); err != nil || !bytes.Contains(b, []byte(`"transactions":[]`)) {
		t.Errorf("%s, %v", b, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestSimRefuses(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"--fault", "x"}, {"--complete", "5-1"}, {"--tls-max", "1.1"}, {"--tls-write", "f"},
		{"--tls-cert", "nowhere"}, {"--limits", "x"}, {"--ledgers", "-1"}, {"--delay", "-1s"}, {"--software", "x"},
		{"--ledgers", "0"}, {"--ledgers", "4194305"}, {"--transactions", "-1"}, {"--transactions", "1000000"}, {"--validators", "0"}, {"--first", "0"},
		{"--first", "4294967295"}, {"--distinct", "-1"}, {"--memory", "-1"}} {
		cmd := simCommand()
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
