//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// A flood of connections, more than the process may have files, leaves files to the journal and the
// databases, and the clients that are connected are served.
func TestFlood(t *testing.T) {
	program, err := exec.LookPath("chaind") // this test's binary: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := process.Start(context.WithoutCancel(t.Context()), process.Spec{
				Command: []string{"sh", "-c", `ulimit -n 120 && exec "$0" "$@"`, program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0",
					"--data=" + t.TempDir(), "--lame-duck=0s", "--log-level=error", "--assembly=" + name},
				ReadyLine: true, ReadyTimeout: servicetest.Patience,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer processtest.Stop(t, p)
			from, refused := &chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}, 0
			client := &http.Client{Transport: &http.Transport{}, Timeout: servicetest.Patience}
			defer client.CloseIdleConnections()
			send := func() {
				t.Helper()
				body := `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["` + chaintest.Raw(from.Send(from.Address(), 1)) + `"]}`
				resp, text, err := servicetest.Exchange(client, http.MethodPost, "http://"+p.Ready()["listen"], body, http.Header{"Content-Type": {"application/json"}})
				if err != nil || !strings.Contains(string(text), `"result":"0x`) {
					t.Fatalf("%v, %s, %v", resp, text, err)
				}
			}
			send()
			var flood []net.Conn
			for range 300 {
				c, err := net.DialTimeout("tcp", p.Ready()["listen"], servicetest.Patience)
				if err != nil {
					t.Fatal(err)
				}
				flood = append(flood, c)
			}
			for _, c := range flood[150:] { // the process has seen those before
				if text, err := io.ReadAll(c); err != nil || len(text) == 0 || strings.Contains(string(text), " 503 ") {
					refused++
				}
			}
			for range 50 {
				send()
			}
			for _, c := range flood {
				c.Close()
			}
			servicetest.Await(t, func() string { return "an answer to a new client" }, func() bool {
				client.CloseIdleConnections()
				resp, err := client.Get("http://" + p.Ready()["listen"])
				if err != nil {
					return false
				}
				resp.Body.Close()
				return resp.StatusCode == http.StatusMethodNotAllowed
			})
			if refused < 100 {
				t.Errorf("%d of 150 connections beyond the bound were refused", refused)
			}
		})
	}
}
