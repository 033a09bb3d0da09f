package guard

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Header fields of a response to a listed origin, as the Fetch standard (section 3.3) defines them.
// No other origin receives them. Clients send fields of their own, which change no answer: the last
// of allowedHeaders is any field but Authorization, in browsers since 2019.
const (
	allowedHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, If-None-Match, Traceparent, *"
	exposedHeaders = "ETag, Retry-After, Warning, WWW-Authenticate"
	allowedMethods = "GET, HEAD, POST, PATCH, DELETE"
	maxAge         = "600" // seconds for which a browser keeps the response to a preflight
)

// Listed reports whether Options permit an origin.
func (g *Guard) Listed(origin string) bool {
	if origin != "" && (g.anyOrigin || g.loopback && isLoopback(origin) || g.extensions && isExtension(origin)) {
		return true
	}
	for _, listed := range g.origins {
		if strings.EqualFold(origin, listed) { // browsers send lower case, except Safari of an extension
			return true
		}
	}
	return false
}

// Share calls set for each header field that lets a page of a listed origin read a response, and
// keeps caches from serving it to others. Call it for every response except refusals of Check.
func (g *Guard) Share(origin string, set func(name, value string)) {
	if !g.shares() {
		return
	}
	set("Vary", "Origin")
	if g.Listed(origin) {
		set("Access-Control-Allow-Origin", origin)
		set("Access-Control-Expose-Headers", exposedHeaders)
	}
}

// shares reports whether pages of some other origin may read responses.
func (g *Guard) shares() bool {
	return g.anyOrigin || g.loopback || g.extensions || len(g.origins) > 0
}

// Preflight reports whether a request that has passed Check is a CORS preflight, whose
// Access-Control-Request-Method is askedMethod. The response must be 204 with the fields of Share
// and PreflightHeaders, and the handler must not see the request: it carries no key.
func (g *Guard) Preflight(r Request, askedMethod string) bool {
	return r.Method == http.MethodOptions && askedMethod != "" && g.Listed(r.Origin)
}

// PreflightHeaders calls set for each header field of a preflight's response that Share does not
// set.
func PreflightHeaders(set func(name, value string)) {
	set("Access-Control-Allow-Methods", allowedMethods)
	set("Access-Control-Allow-Headers", allowedHeaders)
	set("Access-Control-Max-Age", maxAge)
}

// Refuse writes a refusal in the service's own format.
type Refuse func(w http.ResponseWriter, r *http.Request, no *Refusal)

// Wrap passes permitted requests to h, and answers preflights. A nil refuse answers {"error":TEXT}.
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
		if g.shares() { // otherwise skip allocating w.Header().Add
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
