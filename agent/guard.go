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

// ErrRefused is what Guard's refusals wrap.
var ErrRefused = errors.New("refused")

// Guard decides who may use what changes the process or tells its secrets: a peer on loopback, or
// whoever sends the token as "Authorization: Bearer TOKEN". A browser that was sent here by another
// site's page is refused either way.
type Guard struct {
	digest  [sha256.Size]byte // of the token: compared in constant time whatever its length
	token   bool
	origins http.CrossOriginProtection
}

// NewGuard returns a Guard. With an empty token it lets loopback peers through and nobody else.
func NewGuard(token string) *Guard {
	return &Guard{digest: sha256.Sum256([]byte(token)), token: token != ""}
}

// Check returns nil when the request may go ahead, else an error that wraps ErrRefused and says what
// would help.
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
		// A name that an attacker's DNS points at 127.0.0.1 makes his page same-origin with us.
		return fmt.Errorf("%w: ask localhost or an IP address, not %q", ErrRefused, r.Host)
	}
	return nil
}

// Wrap answers what Check refuses with 403 and passes the rest on.
func (g *Guard) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.Check(r); err != nil {
			writeError(w, http.StatusForbidden, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// embedded reports whether another origin's page loads this as a part of itself (an image, a frame), rather
// than linking to it: CrossOriginProtection lets every GET pass, but a profile is started by one. The headers
// are those of W3C Fetch Metadata; who sends none is no browser of today.
func embedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // none: the user typed it
		return false
	}
	return r.Header.Get("Sec-Fetch-Dest") != "document"
}

// fromLoopback reports whether the request was sent on this machine. One that a proxy here passed on
// was not.
func fromLoopback(r *http.Request) bool {
	if r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// literalHost reports whether a Host header names localhost or an IP address, with or without a port.
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
