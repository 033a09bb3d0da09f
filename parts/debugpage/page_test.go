package debugpage

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

var board = Board{
	Name: "<toy>", Figures: []Figure{{Title: "Requests", Kind: Rate, Metric: "toy_requests_total"}, {Title: "Share", Kind: Share, Metric: "toy_good_total", Of: "toy_requests_total"}},
	Tables: []Table{{Title: "Servers", Row: "Server", Label: "server", Columns: []Figure{{Title: "P99", Kind: P99, Metric: "toy_seconds", Unit: Seconds}}}},
}

func get(method, path, tag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	w := httptest.NewRecorder()
	board.Handler().ServeHTTP(w, r)
	return w
}

func TestHandler(t *testing.T) {
	w := get("GET", "/debug/toy/", "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s", w.Code, w.Header().Get("Content-Type"))
	}
	tag := w.Header().Get("ETag")
	for _, c := range []struct {
		method, path, tag string
		status            int
	}{
		{"GET", "/debug/toy/", tag, http.StatusNotModified},
		{"HEAD", "/debug/toy/", "", http.StatusOK},
		{"GET", "/debug/toy", "", http.StatusNotFound},
		{"POST", "/debug/toy/", "", http.StatusMethodNotAllowed},
	} {
		if got := get(c.method, c.path, c.tag); got.Code != c.status || c.method == "HEAD" && got.Body.Len() > 0 {
			t.Errorf("%s %s with tag %q: %d with %d bytes, want %d", c.method, c.path, c.tag, got.Code, got.Body.Len(), c.status)
		}
	}
}

// The policy names what is between the tags, and nothing in the page asks for anything else.
func TestPolicy(t *testing.T) {
	w := get("GET", "/", "")
	page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	for _, tag := range []string{"style", "script"} {
		inside := regexp.MustCompile(`(?s)<`+tag+`[^>]*>(.*?)</`+tag+`>`).FindAllStringSubmatch(page, -1)
		if len(inside) != 1 || len(inside[0][1]) < 1000 {
			t.Fatalf("%d elements %s, or an empty one", len(inside), tag)
		}
		if want := tag + "-src " + hash(inside[0][1]) + ";"; !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("the policy is lax: %s", policy)
	}
	if found := regexp.MustCompile(`(?i) (src|href|style|on[a-z]+)="[^#d][^"]*"|innerHTML|/\*(style|script)\*/`).FindAllString(page, -1); len(found) > 0 {
		t.Errorf("the page has %q", found)
	}
}

func TestMetrics(t *testing.T) {
	if got := strings.Join(board.Metrics(), " "); got != "toy_requests_total toy_good_total toy_seconds" {
		t.Error(got)
	}
}

// What a service is called does not become markup.
func TestName(t *testing.T) {
	if page := get("GET", "/", "").Body.String(); strings.Contains(page, "<toy>") || !strings.Contains(page, "<title>&lt;toy&gt;</title>") {
		t.Error("the name became markup")
	}
}
