//go:build unix

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/freeport"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/flood"
)

// Idle connections at any door leave files to new players.
func TestFlood(t *testing.T) {
	program, err := exec.LookPath("arenad") // this test's binary: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Loopback(2)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(name, func(t *testing.T) {
			cluster := ports[i].String()
			p := flood.Start(t, program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--data="+t.TempDir(), "--assembly="+name,
				"--node=n0", "--public-url=http://127.0.0.1:1", "--cluster", cluster, "--cluster-secret", secret)
			flood.Doors(t, p, func(t *testing.T, c *http.Client) {
				t.Helper()
				for path, body := range map[string]string{"/v1/rooms": "", "/api/heartbeat": `{}`} {
					method := http.MethodGet
					if body != "" {
						method = http.MethodPost
					}
					resp, text, err := servicetest.Exchange(c, method, "http://"+p.Ready()["listen"]+path, body, http.Header{"Content-Type": {"application/json"}})
					if err != nil || resp.StatusCode >= http.StatusInternalServerError {
						t.Fatalf("%s: %v %s, %v", path, resp, text, err)
					}
				}
			}, p.Ready()["debug"], cluster)
		})
	}
}
