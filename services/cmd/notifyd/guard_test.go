package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/guard/guardtest"
)

// Neither address of the program answers pages of other sites, and the page at the debug address
// works.
func TestRefusesOtherSitesPages(t *testing.T) {
	p := serve(t, t.TempDir())
	guardtest.Refuses(t, client, "GET", p.api+"/v1/stats", "")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/notify/", "/debug/notify/v1/stats", "/debug/notify/v1/stream", "/debug/pprof/cmdline", "/debug/vars"} {
		guardtest.Refuses(t, client, "GET", p.debug+path, "")
	}
	guardtest.Refuses(t, client, "POST", p.debug+"/debug/notify/workers", "no JSON")
	p.stop()
}

// With API keys, requests without one are kept out in the same way, and a token is not logged,
// whatever becomes of it.
func TestStreamTokensAreNotLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.txt")
	key, line := issued(t, "shop")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	const listed = "https://shop.example"
	p := serve(t, t.TempDir(), "--api-keys="+file, "--log-level=debug", "--allow-origin="+listed)
	guardtest.Refuses(t, client, "POST", p.api+"/v1/stream-tokens", "")
	guardtest.Allows(t, client, "POST", p.api+"/v1/stream-tokens", "", listed)
	answer := with(t, key, "POST", p.api+"/v1/stream-tokens", "")
	var made struct{ Token string }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || answer.StatusCode != 201 || made.Token == "" {
		t.Fatalf("%s: %v", answer.Status, err)
	}
	guardtest.Allows(t, client, "GET", p.api+"/v1/stream?token="+made.Token, "", listed)
	for _, target := range []string{"/v1/stream?after=x&token=" + made.Token, "/v1/ws?token=" + made.Token, "/v1/stream?token=x" + made.Token, "/v1/stats?token=" + made.Token} {
		status, body, err := ask("GET", p.api+target, "", "")
		if err != nil || status < 400 || strings.Contains(string(body), made.Token) {
			t.Errorf("%s: %d %s, %v", target, status, body, err)
		}
	}
	p.stop()
	if strings.Contains(p.output(), made.Token) {
		t.Error("the token is logged")
	}
}
