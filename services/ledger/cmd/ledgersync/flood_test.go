//go:build unix

package main

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"dyno/parts/freeport"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/flood"
)

// Idle connections at any door leave files to the store, which answers and still follows the tip.
func TestFlood(t *testing.T) {
	program, err := exec.LookPath("ledgersync") // this test's binary: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	s, data, mirror := start(t), t.TempDir(), ports[0].String()
	defer s.Close()
	if out, err := exec.Command(program, "sync", "--server", s.URL(), "--data", data, "--from", "1000", "--to", "1011").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := flood.Start(t, program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--data="+data, "--grpc", mirror)
	flood.Doors(t, p, func(t *testing.T, c *http.Client) {
		t.Helper()
		resp, text, err := servicetest.Exchange(c, http.MethodPost, "http://"+p.Ready()["listen"]+"/", `{"method":"ledger","params":[{"ledger_index":1005,"transactions":true,"expand":true}]}`,
			http.Header{"Content-Type": {"application/json"}})
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"success"`) {
			t.Fatalf("%v %.300s, %v", resp, text, err)
		}
	}, p.Ready()["debug"], mirror)
}
