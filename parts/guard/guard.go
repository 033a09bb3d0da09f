// Package guard refuses requests that another site's page makes a browser send. A page can send
// requests to any address that its user's machine reaches, and a page whose DNS name an attacker
// points here (DNS rebinding) can also read the responses. A request therefore passes only if its
// Host is known here and its Origin is the service's own or a listed one.
//
// A request with neither Origin nor Sec-Fetch-Site does not come from a page: it comes from curl,
// another service or a probe. It passes with any content type as long as its Host is known. Known
// are any IP address, since rebinding needs a name, and any name without a dot (localhost, a
// container, a neighbouring service), since rebinding needs a public DNS name, and apart from a few
// top-level domains all of those have a dot (RFC 7085). Of the other names, those of the machine,
// of the listening address and of Options.Hosts are known.
//
// Check takes strings, for servers other than net/http, and does not allocate for a request that
// passes; Wrap is for net/http. It does not use http.CrossOriginProtection, which takes a
// *http.Request, lets every GET pass, which opens streams and WebSockets, and ignores the Host. The
// tests check that everything it refuses is refused here.
//
// A browser extension, such as a wallet, has an origin that pages cannot have, and could leave it
// out: a browser lets an extension that may reach an address change its requests. In some browsers
// the origin is made up at installation, so no list can name it. Options.Extensions lets them pass.
//
// The package is not for authentication: use keys and tokens. It starts no goroutines.
package guard

import (
	"cmp"
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

// Options extend the defaults. Each string may be a comma-separated list.
type Options struct {
	Origins []string // of pages that may call: SCHEME://HOST[:PORT]; "*", if AnyOrigin is set, means all
	Hosts   []string // names by which clients reach the service, without a port; "*" means any
	Listen  []string // listening addresses as configured: HOST:PORT

	AnyOrigin bool // Origins may be "*"
	Loopback  bool // pages of localhost and of loopback addresses may call, from any port

	Extensions bool // browser extensions may call

	// OriginFlag and HostFlag are what errors and refusals call the settings; "": --allow-origin and
	// --allow-host.
	OriginFlag, HostFlag string
}

// Guard decides on requests. Its methods may be called from any goroutine.
type Guard struct {
	origins    []string
	anyOrigin  bool
	loopback   bool
	extensions bool
	names      []string // in lower case
	anyHost    bool
	private    bool
	originFlag string
	hostFlag   string
}

// New returns a Guard, or an error that names the wrong option.
func New(o Options) (*Guard, error) {
	g := &Guard{loopback: o.Loopback, extensions: o.Extensions, originFlag: cmp.Or(o.OriginFlag, "--allow-origin"), hostFlag: cmp.Or(o.HostFlag, "--allow-host")}
	for _, text := range list(o.Origins) {
		if text == "*" && o.AnyOrigin {
			g.anyOrigin = true
			continue
		}
		origin, err := parseOrigin(text)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", g.originFlag, text, err)
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
			return nil, fmt.Errorf("%s %q: give a name such as notify.example.com without scheme and port, or * for any", g.hostFlag, text)
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

// Private returns a Guard with the same hosts for an address that only its own pages may call, such
// as that of the debug pages.
func (g *Guard) Private() *Guard {
	return &Guard{names: g.names, anyHost: g.anyHost, private: true, hostFlag: g.hostFlag}
}

// Request holds the parts of a request that Check reads: header fields as received, "" where
// absent. Check keeps none of the strings. When a field occurs twice, the caller joins the values
// with a comma, so that they match nothing.
type Request struct {
	Method string
	Host   string // Host, or :authority in HTTP/2
	Origin string
	Site   string // Sec-Fetch-Site
	Dest   string // Sec-Fetch-Dest
}

// Refusal is the reason why a request does not pass.
type Refusal struct {
	Status int    // 421 for an unknown Host, 403 for a foreign page
	Text   string // ASCII, for the response; names the setting that would permit the request
}

// Check returns nil for a permitted request.
func (g *Guard) Check(r Request) *Refusal {
	if !g.knows(r.Host) {
		return &Refusal{http.StatusMisdirectedRequest,
			fmt.Sprintf("the host %+.100q is not known here; if clients use that name for this service, start it with %s NAME", r.Host, g.hostFlag)}
	}
	if g.foreign(r) {
		return g.refuse(r)
	}
	return nil
}

// foreign reports whether a page of another, unlisted origin sent a request. It reads the header
// fields of W3C Fetch Metadata and of the Fetch standard, which scripts cannot set.
func (g *Guard) foreign(r Request) bool {
	switch {
	case g.anyOrigin && r.Origin != "":
		return false
	case r.Origin == "null": // a sandboxed frame, a file, a redirect: any page can have one
		return true
	case r.Site == "same-origin": // also behind a proxy that has set its own Host
		return false
	case g.Listed(r.Origin):
		return false
	case r.Site == "" || r.Site == "none": // an older browser, plain HTTP beyond loopback, or a typed address
		host, ok := strings.CutPrefix(r.Origin, "https://") // a proxy may have terminated TLS, so either scheme is accepted
		if !ok {
			host, ok = strings.CutPrefix(r.Origin, "http://")
		}
		return r.Origin != "" && !(ok && host == r.Host)
	}
	// A link may lead here, since its page cannot read the target. A frame, an image or a script may
	// not.
	link := r.Origin == "" && r.Dest == "document" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	return !link
}

func (g *Guard) refuse(r Request) *Refusal {
	switch {
	case g.private:
		return &Refusal{http.StatusForbidden, "a page of another origin sent this request; this address answers its own pages only"}
	case r.Origin == "null":
		return &Refusal{http.StatusForbidden, "a page without an origin sent this request (Origin: null); serve it from an origin, and start this service with " + g.originFlag + " ORIGIN"}
	case r.Origin == "":
		return &Refusal{http.StatusForbidden, "a page of another origin sent this request and does not say which; requests in CORS mode do, and pass with " + g.originFlag + " ORIGIN"}
	}
	return &Refusal{http.StatusForbidden,
		fmt.Sprintf("a page of another origin, %+.100q, sent this request; if it may, start this service with %s ORIGIN", r.Origin, g.originFlag)}
}

// knows reports whether a Host header names this service. An empty Host comes from HTTP/1.0, not
// from a browser.
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

// hostname removes the port, brackets and a final dot from a Host header.
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

// isName reports whether a text can be a host name, in DNS or in a local configuration.
func isName(s string) bool {
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}

// parseOrigin parses an origin and formats it without the scheme's default port, as browsers send
// it. A desktop program's pages may be of an origin without a host: file://, app://.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Scheme == "" || u.Hostname() == "" && (u.Host != "" || isWeb(u.Scheme) || !strings.Contains(text, "://")) || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" ||
		strings.Contains(u.Host, "*") {
		return "", errors.New("give an origin such as https://shop.example.com or http://localhost:3000; null, or a name with * in it, cannot be allowed")
	}
	if err := hostport.CheckPort(u); err != nil {
		return "", err
	}
	if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + u.Host, nil
}

// isWeb reports whether each origin of a scheme has a host.
func isWeb(scheme string) bool {
	return scheme == "http" || scheme == "https" || scheme == "ws" || scheme == "wss"
}

// extensionSchemes are of Chromium and its kin, of Firefox, of Safari, and of other browsers on
// WebKit. Their programs alone, no pages, have origins of these schemes.
var extensionSchemes = []string{"chrome-extension://", "moz-extension://", "safari-web-extension://", "webkit-extension://"}

// isExtension reports whether an origin is of a browser extension: its scheme, and an identifier
// of letters, digits and hyphens.
func isExtension(origin string) bool {
	for _, scheme := range extensionSchemes {
		if id, ok := strings.CutPrefix(origin, scheme); ok {
			return isName(id) && !strings.ContainsAny(id, "._")
		}
	}
	return false
}

// isLoopback reports whether an origin is of a page that this machine serves.
func isLoopback(origin string) bool {
	host, ok := strings.CutPrefix(origin, "http://")
	if !ok {
		host, ok = strings.CutPrefix(origin, "https://")
	}
	name, fine := hostname(host)
	if !ok || !fine {
		return false
	}
	address, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && address.IsLoopback()
}

// list splits at commas and drops empty elements.
func list(texts []string) (out []string) {
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
