package guard

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Header fields of an answer to a listed origin, as the Fetch standard (section 3.3) has them. None is sent to another.
const (
	allowedHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, If-None-Match, Traceparent"
	exposedHeaders = "ETag, Retry-After, Warning, WWW-Authenticate"
	allowedMethods = "GET, HEAD, POST, PATCH, DELETE"
	maxAge         = "600" // seconds for which a browser keeps the answer to a preflight
)

// Listed reports whether an origin is one of Options.Origins.
func (g *Guard) Listed(origin string) bool {
	for _, listed := range g.origins {
		if origin == listed {
			return true
		}
	}
	return false
}

// Share calls set for each header field that an answer needs so that a page of a listed origin can read it, and
// caches keep it apart from others. Call it for every answer but refusals of Check.
func (g *Guard) Share(origin string, set func(name, value string)) {
	if len(g.origins) == 0 {
		return
	}
	set("Vary", "Origin")
	if g.Listed(origin) {
		set("Access-Control-Allow-Origin", origin)
		set("Access-Control-Expose-Headers", exposedHeaders)
	}
}

// Preflight reports whether a request that has passed Check asks for permission on behalf of another, whose method is
// its Access-Control-Request-Method. The answer must be 204 with what Share and
// PreflightHeaders set, and the request goes no further: it carries no key.
func (g *Guard) Preflight(r Request, askedMethod string) bool {
	return r.Method == http.MethodOptions && askedMethod != "" && g.Listed(r.Origin)
}

// PreflightHeaders calls set for each header field of an answer to a preflight that Share does not set.
func PreflightHeaders(set func(name, value string)) {
	set("Access-Control-Allow-Methods", allowedMethods)
	set("Access-Control-Allow-Headers", allowedHeaders)
	set("Access-Control-Max-Age", maxAge)
}

// Refuse writes a refusal in a service's own form.
type Refuse func(w http.ResponseWriter, r *http.Request, no *Refusal)

// Wrap passes on to h what passes, and answers preflights. A nil refuse answers {"error":TEXT}.
func (g *Guard) Wrap(h http.Handler, refuse Refuse) http.Handler {
	if refuse == nil {
		refuse = refuseJSON
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := Request{Method: r.Method, Host: r.Host, Origin: joined(r.Header["Origin"]), Site: joined(r.Header["Sec-Fetch-Site"]), Dest: joined(r.Header["Sec-Fetch-Dest"])}
		if no := g.Check(seen); no != nil {
			refuse(w, r, no)
			return
		}
		if len(g.origins) > 0 { // else nothing is to be added, and w.Header().Add is not made for nothing
			g.Share(seen.Origin, w.Header().Add)
			if g.Preflight(seen, joined(r.Header["Access-Control-Request-Method"])) {
				PreflightHeaders(w.Header().Set)
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

func refuseJSON(w http.ResponseWriter, _ *http.Request, no *Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(no.Status)
	json.NewEncoder(w).Encode(map[string]string{"error": no.Text}) // an error means that the client has gone
}

func joined(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ", ")
}
