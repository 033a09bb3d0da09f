// Package guard refuses what another site's page makes a browser send. A page can send requests to any address
// that its user's machine reaches, and one whose name an attacker's DNS points here (DNS rebinding) reads the
// answers, too. So a request passes if its Host is known here and its Origin is the service's own or listed.
//
// What sends neither Origin nor Sec-Fetch-Site is no page: curl, another service, a probe. It passes with any
// content type, so a Host that is known is all it needs. Any IP address is known, since rebinding needs a name, and
// any name without a dot (localhost, that of a container or of a service beside it), since rebinding needs one of
// public DNS, where no name is without a dot but a few top-level domains themselves (RFC 7085). Of the others the
// machine's own, that of the listener's address, and those listed are known.
//
// Check takes strings, for servers that are not net/http, and allocates nothing for what passes; Wrap is for
// net/http. http.CrossOriginProtection is not inside, since it takes a *http.Request, lets every GET pass, which
// opens streams and WebSockets, and does not look at the Host; the tests hold that whatever it refuses is refused here.
//
// It is not for finding out who calls: that is a matter of keys and tokens. It starts no goroutines.
package guard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"dyno/parts/hostport"
)

// Options say what passes beside the defaults. Each string may be a list with commas.
type Options struct {
	Origins []string // whose pages may call: SCHEME://HOST[:PORT]
	Hosts   []string // names under which clients reach the service, without a port; "*": any
	Listen  []string // addresses that are listened on, as they were given: HOST:PORT
}

// Guard holds what passes. Its methods may be called from any goroutine.
type Guard struct {
	origins []string
	names   []string // in any case
	anyHost bool
	private bool
}

// New returns a Guard, or says which option is wrong.
func New(o Options) (*Guard, error) {
	g := &Guard{}
	for _, text := range list(o.Origins) {
		origin, err := parseOrigin(text)
		if err != nil {
			return nil, fmt.Errorf("--allow-origin %q: %w", text, err)
		}
		g.origins = append(g.origins, origin)
	}
	for _, text := range list(o.Hosts) {
		if text == "*" {
			g.anyHost = true
			continue
		}
		name := strings.TrimSuffix(text, ".")
		if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err != nil && !isName(name) {
			return nil, fmt.Errorf("--allow-host %q: give a name such as notify.example.com without scheme and port, or * for any", text)
		}
		g.names = append(g.names, name)
	}
	for _, address := range o.Listen {
		if host, _, err := net.SplitHostPort(address); err == nil && isName(host) {
			g.names = append(g.names, host)
		}
	}
	if machine, err := os.Hostname(); err == nil && isName(machine) {
		g.names = append(g.names, machine)
	}
	return g, nil
}

// Private returns a Guard of the same hosts for an address that no origin but its own may call, such as that of
// the debug pages.
func (g *Guard) Private() *Guard {
	return &Guard{names: g.names, anyHost: g.anyHost, private: true}
}

// Request is what of a request is looked at: header fields as they came, "" where there is none. The strings are
// only read during the call. The caller joins a field that came twice with a comma, and so it fits nothing.
type Request struct {
	Method string
	Host   string // or HTTP/2's :authority
	Origin string
	Site   string // Sec-Fetch-Site
	Dest   string // Sec-Fetch-Dest
}

// Refusal is why a request does not pass.
type Refusal struct {
	Status int    // 421 of an unknown Host, 403 of a foreign page
	Text   string // ASCII, for the answer; names the setting that would let it pass
}

// Check returns nil for a request that passes.
func (g *Guard) Check(r Request) *Refusal {
	if !g.knows(r.Host) {
		return &Refusal{http.StatusMisdirectedRequest,
			fmt.Sprintf("the host %+.100q is not known here; if clients use that name for this service, start it with --allow-host NAME", r.Host)}
	}
	if g.foreign(r) {
		return g.refuse(r)
	}
	return nil
}

// foreign reports whether a page of another origin, which is not listed, sent a request. The header fields are those
// of W3C Fetch Metadata and of the Fetch standard; scripts cannot set them.
func (g *Guard) foreign(r Request) bool {
	switch {
	case r.Origin == "null": // a sandboxed frame, a file, a redirect: any page can have one
		return true
	case r.Site == "same-origin": // also where a proxy has put its own Host
		return false
	case g.Listed(r.Origin):
		return false
	case r.Site == "" || r.Site == "none": // an older browser, or plain HTTP beyond loopback; an address that was typed
		host, ok := strings.CutPrefix(r.Origin, "https://") // a proxy may have taken TLS off, so either fits
		if !ok {
			host, ok = strings.CutPrefix(r.Origin, "http://")
		}
		return r.Origin != "" && !(ok && host == r.Host)
	}
	// A link may lead here, since the page that has it cannot see what it leads to. A frame, an image or a script may not.
	link := r.Origin == "" && r.Dest == "document" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	return !link
}

func (g *Guard) refuse(r Request) *Refusal {
	switch {
	case g.private:
		return &Refusal{http.StatusForbidden, "a page of another origin sent this request; this address answers its own pages only"}
	case r.Origin == "null":
		return &Refusal{http.StatusForbidden, "a page without an origin sent this request (Origin: null); serve it from an origin, and start this service with --allow-origin ORIGIN"}
	case r.Origin == "":
		return &Refusal{http.StatusForbidden, "a page of another origin sent this request and does not say which; requests in CORS mode do, and pass with --allow-origin ORIGIN"}
	}
	return &Refusal{http.StatusForbidden,
		fmt.Sprintf("a page of another origin, %+.100q, sent this request; if it may, start this service with --allow-origin ORIGIN", r.Origin)}
}

// knows reports whether a Host header names this service. One that is empty is HTTP/1.0's, and no browser's.
func (g *Guard) knows(host string) bool {
	if g.anyHost || host == "" {
		return true
	}
	name, ok := hostname(host)
	if !ok {
		return false
	}
	if strings.IndexByte(name, '.') < 0 && isName(name) {
		return true
	}
	for _, known := range g.names {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// hostname cuts the port off a Host header, and the brackets or the dot at the end.
func hostname(host string) (name string, ok bool) {
	name, port, _ := strings.Cut(host, ":")
	if strings.HasPrefix(host, "[") {
		var after string
		if name, after, ok = strings.Cut(host[1:], "]"); !ok || after != "" && after[0] != ':' {
			return "", false
		}
		port = strings.TrimPrefix(after, ":")
	}
	return strings.TrimSuffix(name, "."), strings.Trim(port, "0123456789") == ""
}

// isName reports whether a text can be a host's name, as DNS and those who configure it have them.
func isName(s string) bool {
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}

// parseOrigin reads an origin and writes it as browsers send it: in small letters, without the scheme's own port.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" ||
		strings.Contains(u.Host, "*") {
		return "", errors.New("give an origin such as https://shop.example.com or http://localhost:3000; any (*) and null cannot be allowed")
	}
	if err := hostport.CheckPort(u); err != nil {
		return "", err
	}
	if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + u.Host, nil
}

// list splits at commas and leaves out what is empty.
func list(texts []string) (out []string) {
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
