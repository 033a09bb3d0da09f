package live

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard keeps other sites' pages from reading the server's content: a browser that runs their
// scripts reaches this machine's addresses as its user does.
type guard struct {
	name string // permitted name in addition to localhost and IP addresses; empty: none
}

// policy of every page except reports, which have their own: scripts and styles come from the
// server, none are inline, and no other origin is contacted.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// reportPolicy adds to a report's own policy the part that a page cannot declare itself.
const reportPolicy = "frame-ancestors 'none'"

func (g guard) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if why := g.refuses(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// refuses returns why a request is refused; empty: it is served.
func (g guard) refuses(r *http.Request) string {
	switch {
	case !g.knows(r.Host):
		// A name that an attacker's DNS points at 127.0.0.1 makes the attacker's page same-origin
		// with this one.
		return "use localhost or an IP address; to use another name, give it in --listen"
	case foreign(r):
		return "a page of another site sent this request"
	}
	return ""
}

// knows reports whether a Host header has localhost, an IP address or the permitted name.
func (g guard) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") || g.name != "" && strings.EqualFold(host, g.name) {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// foreign reports whether another origin's page sends this request, rather than linking to it.
func foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err != nil || u.Host != r.Host
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate"
}
