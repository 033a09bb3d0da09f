//go:build unix

package main

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/freeport"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/flood"
	"dyno/services/chain/chaintest"
)

// Idle connections at any door leave files to the journal and the databases, and the clients that
// are connected are served.
func TestFlood(t *testing.T) {
	program, err := exec.LookPath("chaind") // this test's binary: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Loopback(2)
	if err != nil {
		t.Fatal(err)
	}
	key, other := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "other")
	for _, file := range []string{key, other} {
		if out, err := exec.Command(program, "key", "new", "--node-key", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	id, err := exec.Command(program, "key", "show", "--node-key", other).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(name, func(t *testing.T) {
			peers := ports[i].String()
			p := flood.Start(t, program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data="+t.TempDir(), "--lame-duck=0s", "--assembly="+name,
				"--node-key", key, "--peer-listen", peers, "--peer-id", strings.TrimSpace(string(id)))
			from := &chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}
			flood.Doors(t, p, func(t *testing.T, c *http.Client) {
				t.Helper()
				body := `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["` + chaintest.Raw(from.Send(from.Address(), 1)) + `"]}`
				resp, text, err := servicetest.Exchange(c, http.MethodPost, "http://"+p.Ready()["listen"], body, http.Header{"Content-Type": {"application/json"}})
				if err != nil || !strings.Contains(string(text), `"result":"0x`) {
					t.Fatalf("%v, %s, %v", resp, text, err)
				}
			}, p.Ready()["debug"], peers)
		})
	}
}
