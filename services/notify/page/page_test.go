package page

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(method, path, tag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

func TestHandler(t *testing.T) {
	w := get("GET", "/debug/notify/", "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s", w.Code, w.Header().Get("Content-Type"))
	}
	tag := w.Header().Get("ETag")
	for _, c := range []struct {
		method, path, tag string
		status            int
	}{
		{"GET", "/debug/notify/", tag, http.StatusNotModified},
		{"HEAD", "/debug/notify/", "", http.StatusOK},
		{"GET", "/debug/notify", "", http.StatusNotFound},
		{"POST", "/debug/notify/", "", http.StatusMethodNotAllowed},
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
