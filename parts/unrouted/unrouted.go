// Package unrouted answers requests that match no route of an http.ServeMux in the service's own
// error format: 404, or 405 with Allow. A ServeMux answers them in plain text.
//
// It is not a router: the mux is. It starts no goroutines.
package unrouted

import (
	"fmt"
	"net/http"
	"strings"
)

// methods are those that a route can have. A route for GET also serves HEAD.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// rest is the pattern that matches all other requests.
const rest = "/"

// Refuse adds a route for all unmatched requests to a mux: refuse writes the response. Matched
// requests cost no more than before. The mux must not have a route "/".
func Refuse(mux *http.ServeMux, refuse func(w http.ResponseWriter, status int, text string)) {
	mux.HandleFunc(rest, func(w http.ResponseWriter, r *http.Request) {
		var allow []string
		for _, method := range methods {
			if _, pattern := mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host}); pattern != rest {
				allow = append(allow, method)
			}
		}
		if len(allow) == 0 {
			refuse(w, http.StatusNotFound, fmt.Sprintf("there is nothing at %s", r.URL.Path))
			return
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not allowed here; use %s", r.Method, strings.Join(allow, ", ")))
	})
}
