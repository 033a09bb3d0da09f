package profiling

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dyno/agent"
)

func answering(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

const secret = "open sesame"

var quiet = log.New(io.Discard, "", 0)

// guarded passes requests with the token to h.
func guarded(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "a token is needed", http.StatusUnauthorized)
			return
		}
		h(w, r)
	}
}

func TestControl(t *testing.T) {
	url := answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != agent.PathControl || string(body) != `{"gogc":800}` {
			t.Errorf("asked %s %s with %s", r.Method, r.URL.Path, body)
		}
		io.WriteString(w, `{"gogc":100}`)
	})
	for _, debug := range []string{url, url + "/", strings.TrimPrefix(url, "http://")} {
		before, err := Control(t.Context(), Address{URL: debug}, agent.Control{GOGC: new(800)})
		if err != nil || before.GOGC == nil || *before.GOGC != 100 || before.Procs != nil {
			t.Errorf("%s: %+v, %v", debug, before, err)
		}
	}
}

func TestControlFails(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"refused", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "needs a token", http.StatusForbidden) }, "403 Forbidden: needs a token"},
		{"no agent", http.NotFound, ErrNoAgent.Error()},
		{"no JSON", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") }, "not in the expected form"},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, "302"},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			w.Write(bytes.Repeat([]byte(" "), maxAnswer+10))
			io.WriteString(w, "{}")
		}, "not in the expected form"},
	}
	for _, tt := range tests {
		_, err := Control(t.Context(), Address{URL: answering(t, tt.answer)}, agent.Control{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, bad := range []string{"", "ftp://x", "http://", "://", "http://a b/"} {
		if _, err := Control(t.Context(), Address{URL: bad}, agent.Control{}); err == nil || !strings.Contains(err.Error(), "not a debug address") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestInfo(t *testing.T) {
	info := func(debug string) (*agent.Info, error) {
		c := New(Address{URL: debug})
		defer c.Close()
		return c.Info(t.Context())
	}
	url := answering(t, func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(agent.Info{Service: "ordersd", PID: 7, Assembly: json.RawMessage(`{"queue":"ring"}`)})
	})
	if info, err := info(url); err != nil || info.Service != "ordersd" || string(info.Assembly) != `{"queue":"ring"}` {
		t.Errorf("%+v, %v", info, err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"pprof alone": http.NotFound,
		"other JSON":  func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"hello":1}`) },
		"a page":      func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") },
	} {
		if _, err := info(answering(t, answer)); !errors.Is(err, ErrNoAgent) {
			t.Errorf("%s: %v, want no agent", name, err)
		}
	}
	if _, err := info("127.0.0.1:1"); err == nil || errors.Is(err, ErrNoAgent) {
		t.Errorf("no listener: %v", err)
	}
}
