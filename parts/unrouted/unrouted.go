// Package unrouted lets a service answer requests that no route of its http.ServeMux matches in its own form of error: 404,
// or 405 with Allow. A ServeMux answers them in plain text.
//
// It is not a router: the mux is. It starts no goroutines.
package unrouted

import (
	"fmt"
	"net/http"
	"strings"
)

// methods are those that a route may be for. A route for GET is one for HEAD, too.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// rest is the pattern that matches what no other does.
const rest = "/"

// Refuse gives a mux a route for all the others' rest: refuse writes the answer. Requests that have a route cost nothing
// more. The mux must not have a route "/".
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
