package orders

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/process"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/flood"
	"dyno/services/orders/auth"
	"dyno/services/orders/pgtest"
)

// Idle connections at any door leave files to the database's connections, and to the file of keys:
// a key that was removed meanwhile is no longer in force.
func TestFlood(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL for each assembly")
	bin := pgtest.Bin(t)
	program, err := process.Build(t.Context(), "", "dyno/services/cmd/ordersd", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(pgtest.Folder(t), "data")
			p := flood.Start(t, program, "serve", "--lame-duck=0s", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", data, "--postgres-bin", bin,
				"--assembly", name, "--set", "keys_reload=50ms")
			file := filepath.Join(data, auth.KeysFile)
			token, err := auth.Issue(file, "", auth.Claims{Account: "A1", Expiry: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			n, kept := 0, (*http.Client)(nil)
			submit := func(c *http.Client) (*http.Response, []byte, error) {
				n++
				return servicetest.Exchange(c, http.MethodPost, "http://"+p.Ready()["listen"]+"/api/v1/submit",
					fmt.Sprintf(`{"client_order_id":"o-%d","symbol":"ACME","side":"BUY","price":"1.25","qty":"10"}`, n),
					http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}})
			}
			flood.Doors(t, p, func(t *testing.T, c *http.Client) {
				t.Helper()
				if kept == nil {
					kept = c
				}
				if resp, text, err := submit(c); err != nil || resp.StatusCode >= 300 {
					t.Fatalf("%v %s, %v", resp, text, err)
				}
			}, p.Ready()["debug"])
			defer flood.Open(t, p.Ready()["listen"])()
			if err := os.WriteFile(file, []byte(otherKeys(t)), 0o600); err != nil {
				t.Fatal(err)
			}
			servicetest.Await(t, func() string { return "401 for a key that was removed" }, func() bool {
				resp, _, err := submit(kept)
				return err == nil && resp.StatusCode == http.StatusUnauthorized
			})
		})
	}
}

// otherKeys is a file of keys that has none of another's.
func otherKeys(t *testing.T) string {
	file := filepath.Join(t.TempDir(), auth.KeysFile)
	if err := auth.Create(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
