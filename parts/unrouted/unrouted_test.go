package unrouted

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRefuse(t *testing.T) {
	mux := http.NewServeMux()
	served := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	for _, pattern := range []string{"POST /things", "GET /things", "GET /things/{id}", "DELETE /things/{id}", "POST /{$}", "/all/"} {
		mux.HandleFunc(pattern, served)
	}
	Refuse(mux, func(w http.ResponseWriter, status int, text string) {
		w.WriteHeader(status)
		w.Write([]byte(text))
	})
	for _, c := range []struct {
		method, path string
		status       int
		allow, text  string
	}{
		{"GET", "/things", 204, "", ""},
		{"HEAD", "/things/1", 204, "", ""},
		{"PUT", "/all/of/it", 204, "", ""},
		{"GET", "/nothing", 404, "", "there is nothing at /nothing"},
		{"GET", "/things/", 404, "", "there is nothing at /things/"},
		{"GET", "/things/1/2", 404, "", "there is nothing at /things/1/2"},
		{"OPTIONS", "/nothing", 404, "", "there is nothing at /nothing"},
		{"DELETE", "/things", 405, "GET, HEAD, POST", "DELETE is not allowed here; use GET, HEAD, POST"},
		{"POST", "/things/1", 405, "GET, HEAD, DELETE", "POST is not allowed here; use GET, HEAD, DELETE"},
		{"GET", "/", 405, "POST", "GET is not allowed here; use POST"},
		{"BREW", "/", 405, "POST", "BREW is not allowed here; use POST"},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status || w.Header().Get("Allow") != c.allow || w.Body.String() != c.text {
			t.Errorf("%s %s: %d, Allow %q, %q", c.method, c.path, w.Code, w.Header().Get("Allow"), w.Body)
		}
	}
}
