package page

import (
	"bytes"
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
	tag := get("GET", "/", "").Header().Get("ETag")
	for _, c := range []struct {
		method, path, tag string
		status            int
		kind              string
	}{
		{"GET", "/", "", http.StatusOK, "text/html; charset=utf-8"},
		{"GET", "/main.js", "", http.StatusOK, "text/javascript; charset=utf-8"},
		{"GET", "/style.css", "", http.StatusOK, "text/css; charset=utf-8"},
		{"GET", "/icon.svg", "", http.StatusOK, "image/svg+xml"},
		{"HEAD", "/", "", http.StatusOK, "text/html; charset=utf-8"},
		{"GET", "/", tag, http.StatusNotModified, ""},
		{"GET", "/main.js", tag, http.StatusNotModified, ""},
		{"GET", "/", `"old"`, http.StatusOK, "text/html; charset=utf-8"},
		{"POST", "/", "", http.StatusMethodNotAllowed, ""},
		{"GET", "/web/main.js", "", http.StatusNotFound, ""},
		{"GET", "/../page.go", "", http.StatusNotFound, ""},
		{"GET", "/none", "", http.StatusNotFound, ""},
	} {
		w := get(c.method, c.path, c.tag)
		if w.Code != c.status || c.kind != "" && w.Header().Get("Content-Type") != c.kind || (w.Code == http.StatusOK && c.method == "GET") != (w.Body.Len() > 100) {
			t.Errorf("%s %s with tag %q: %d, %s, %d bytes", c.method, c.path, c.tag, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
		if w.Code == http.StatusOK && (w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("ETag") != tag || w.Header().Get("Content-Security-Policy") != policy) {
			t.Errorf("%s %s: headers %v", c.method, c.path, w.Header())
		}
	}
}

// The page needs what the policy allows and nothing else, and it stays small enough to be read.
func TestFiles(t *testing.T) {
	if strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("the policy is lax: %s", policy)
	}
	const mostLines, mostOfFile = 1250, 400 // of JavaScript
	total := 0
	for name, f := range load() {
		if f.kind == "" {
			t.Errorf("%s has no content type", name)
		}
		if found := regexp.MustCompile(`(?i)<script>|<style|\son[a-z]+="|\sstyle="|innerHTML|https?://[^w]`).FindAllString(f.text, -1); len(found) > 0 {
			t.Errorf("%s has %q", name, found)
		}
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		lines := bytes.Count([]byte(f.text), []byte("\n"))
		if total += lines; lines > mostOfFile {
			t.Errorf("%s has %d lines, more than %d", name, lines, mostOfFile)
		}
		for _, from := range regexp.MustCompile(`from '\./([^']+)'`).FindAllStringSubmatch(f.text, -1) {
			if get("GET", "/"+from[1], "").Code != http.StatusOK {
				t.Errorf("%s imports %s, which is not served", name, from[1])
			}
		}
	}
	if total > mostLines {
		t.Errorf("%d lines of JavaScript, more than %d", total, mostLines)
	}
}
