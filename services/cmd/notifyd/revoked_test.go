package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// issued makes an API key, and returns it and its line of the file.
func issued(t *testing.T, name string) (key, line string) {
	t.Helper()
	cmd := exec.Command(builds.Program(t, "."), "apikey", name)
	var shown strings.Builder
	cmd.Stderr = &shown
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	key, _, _ = strings.Cut(shown.String(), "\n")
	return key, string(out)
}

// with sends a request with an API key.
func with(t *testing.T, key, method, url, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// A key that is taken out of the file takes its streams and those of its tokens with it, whichever
// server reads the requests, and whether requests come or not.
func TestStreamsEndWithTheirKey(t *testing.T) {
	for _, ingest := range []string{"handler", "loop"} {
		t.Run(ingest, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "keys.txt")
			old, oldLine := issued(t, "shop")
			kept, keptLine := issued(t, "billing")
			if err := os.WriteFile(file, []byte(oldLine+keptLine), 0o600); err != nil {
				t.Fatal(err)
			}
			p := serve(t, t.TempDir(), "--api-keys="+file, "--set=ingest="+ingest)
			var made struct{ Token string }
			if err := json.NewDecoder(with(t, old, "POST", p.api+"/v1/stream-tokens", "").Body).Decode(&made); err != nil {
				t.Fatal(err)
			}
			byKey := with(t, old, "GET", p.api+"/v1/stream", "")
			byToken, err := client.Get(p.api + "/v1/stream?token=" + made.Token)
			if err != nil {
				t.Fatal(err)
			}
			defer byToken.Body.Close()
			other := with(t, kept, "GET", p.api+"/v1/stream", "")
			if err := os.WriteFile(file, []byte(keptLine), 0o600); err != nil {
				t.Fatal(err)
			}
			for name, stream := range map[string]*http.Response{"key": byKey, "token": byToken} {
				lines, said := bufio.NewScanner(stream.Body), ""
				for lines.Scan() {
					said += lines.Text() + "\n"
				}
				if lines.Err() != nil || !strings.Contains(said, "event: unauthorized\ndata: {\"error\":\"the API key") {
					t.Errorf("%s: the stream ends with %v after %q", name, lines.Err(), said)
				}
			}
			if answer := with(t, old, "GET", p.api+"/v1/stream", ""); answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("another stream: %s", answer.Status)
			}
			if answer := with(t, kept, "POST", p.api+"/v1/notices", `{"key":"k","type":"after"}`); answer.StatusCode != http.StatusAccepted {
				t.Fatal(answer.Status)
			}
			lines := bufio.NewScanner(other.Body)
			for lines.Scan() && !strings.Contains(lines.Text(), "after") {
			}
			if lines.Err() != nil || !strings.Contains(lines.Text(), "after") {
				t.Errorf("the other key's stream ended: %v", lines.Err())
			}
			byKey.Body.Close()
			other.Body.Close()
			p.stop()
		})
	}
}
