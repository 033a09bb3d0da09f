package agent

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ErrRefused is wrapped by Guard's refusals.
var ErrRefused = errors.New("refused")

// Guard protects handlers that change the process or expose its secrets: it admits peers on
// loopback, and peers that send the token as "Authorization: Bearer TOKEN". It always refuses
// requests that another site's page makes a browser send.
type Guard struct {
	digest  [sha256.Size]byte // digest of the token, which is compared in constant time whatever its length
	token   bool
	origins http.CrossOriginProtection
}

// NewGuard returns a Guard. With an empty token it admits only loopback peers.
func NewGuard(token string) *Guard {
	return &Guard{digest: sha256.Sum256([]byte(token)), token: token != ""}
}

// Check returns nil if the request is admitted, else an error that wraps ErrRefused and names the
// fix.
func (g *Guard) Check(r *http.Request) error {
	if err := g.origins.Check(r); err != nil || embedded(r) {
		return fmt.Errorf("%w: a page of another site sent this request", ErrRefused)
	}
	if sent, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && g.token {
		digest := sha256.Sum256([]byte(sent))
		if subtle.ConstantTimeCompare(digest[:], g.digest[:]) == 1 {
			return nil
		}
		return fmt.Errorf("%w: that is not the token", ErrRefused)
	}
	switch {
	case !fromLoopback(r) && g.token:
		return fmt.Errorf("%w: from beyond loopback this needs the header Authorization: Bearer TOKEN", ErrRefused)
	case !fromLoopback(r):
		return fmt.Errorf("%w: from beyond loopback this needs a token, and the service was started without one", ErrRefused)
	case !literalHost(r.Host):
		// A name that an attacker's DNS points at 127.0.0.1 makes the attacker's page same-origin
		// with this server.
		return fmt.Errorf("%w: address it as localhost or by IP address, not as %q", ErrRefused, r.Host)
	}
	return nil
}

// Wrap answers refused requests with 403 and passes the others on.
func (g *Guard) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.Check(r); err != nil {
			writeError(w, http.StatusForbidden, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// embedded reports whether another origin's page loads this as a part of itself (an image, a
// frame), rather than linking to it: CrossOriginProtection admits every GET, but a GET starts a
// profile. The headers are those of W3C Fetch Metadata, which every current browser sends.
func embedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // none: the user typed it
		return false
	}
	return r.Header.Get("Sec-Fetch-Dest") != "document"
}

// fromLoopback reports whether the request was sent on this machine. A request that a proxy on
// this machine forwarded was not.
func fromLoopback(r *http.Request) bool {
	if r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// literalHost reports whether a Host header names localhost or an IP address, with or without a
// port.
func literalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
