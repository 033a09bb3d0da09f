//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/flood"
)

// Idle connections at any door leave files to the log, whose segments have few notices each here,
// and to webhooks.
func TestFlood(t *testing.T) {
	for _, name := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(name, func(t *testing.T) {
			var received atomic.Int64
			hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				received.Add(1)
			}))
			defer hooks.Close()
			p := flood.Start(t, builds.Program(t, "."), "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--data="+t.TempDir(),
				"--assembly="+name, "--allow-private-targets")
			url := "http://" + p.Ready()["listen"]
			if status, text, err := ask("POST", url+"/v1/subscriptions", "application/json", fmt.Sprintf(`{"url":%q}`, hooks.URL)); err != nil || status != http.StatusCreated {
				t.Fatalf("%d %s, %v", status, text, err)
			}
			sent, large := int64(0), `{"key":"k","type":"a.b","payload":"`+strings.Repeat("y", 60_000)+`"}`
			flood.Doors(t, p, func(t *testing.T, c *http.Client) {
				t.Helper()
				resp, text, err := servicetest.Exchange(c, http.MethodPost, url+"/v1/notices", large, http.Header{"Content-Type": {"application/json"}})
				if err != nil || resp.StatusCode != http.StatusAccepted {
					t.Fatalf("%v %s, %v", resp, text, err)
				}
				sent++
				servicetest.Await(t, func() string { return "its webhook" }, func() bool { return received.Load() == sent })
			}, p.Ready()["debug"])
		})
	}
}
