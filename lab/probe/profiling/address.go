package profiling

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"dyno/lab/record/redact"
)

// Address is a target's debug address, with the credentials for it.
type Address struct {
	// URL is a base URL, as in http://ops:password@127.0.0.1:6060/internal?key=x: its user, path
	// and query are part of each request. The default scheme is http. The URL of the index itself
	// (http://host/debug/pprof/) names the same address. A path that ends in /pprof is that of the
	// profiles.
	URL   string
	Token string      // bearer token of a guarded address; empty: the client sends none
	TLS   *tls.Config // for https; nil: the system's certificate authorities
}

// String returns the address without its secrets.
func (a Address) String() string { return redact.URL(a.text()) }

// text returns the URL with a scheme.
func (a Address) text() string {
	if scheme, _, ok := strings.Cut(a.URL, "://"); !ok || strings.ContainsAny(scheme, "/?@:") {
		return "http://" + a.URL
	}
	return a.URL
}

// endpoint returns the URL of a path at the address. The path is a constant of this package or of
// package agent, and may have a query. Without a path it is the address as it is: that of one page.
func (a Address) endpoint(path string) (*url.URL, error) {
	u, err := url.Parse(a.text())
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not a debug address, as in http://127.0.0.1:6060", a)
	}
	if u.User != nil && a.Token != "" {
		return nil, fmt.Errorf("the debug address %s has a user, and there is a token (--token): give one of the two", a)
	}
	if path == "" {
		u.Fragment = ""
		return u, nil
	}
	path, query, _ := strings.Cut(path, "?")
	prefix, profiles := roots(u.EscapedPath())
	full := prefix + path
	if rest, ok := strings.CutPrefix(path, PathPprof); ok {
		full = profiles + rest
	}
	if u.Path, err = url.PathUnescape(full); err != nil {
		return nil, errors.New("the debug address has an invalid path")
	}
	u.RawPath, u.Fragment = full, ""
	u.RawQuery = strings.Trim(ownQuery(u.RawQuery)+"&"+query, "&")
	return u, nil
}

// roots returns, for the path of an address, the prefix of all debug paths, and the path of the
// profiles, which ends in a slash.
func roots(path string) (prefix, profiles string) {
	path = strings.TrimRight(path, "/")
	if i := strings.LastIndex(path+"/", "/pprof/"); i >= 0 {
		return strings.TrimSuffix(path[:i], "/debug"), path[:i] + "/pprof/"
	}
	if i := strings.LastIndex(path+"/", "/debug/dyno/"); i >= 0 {
		path = path[:i]
	}
	path = strings.TrimSuffix(path, "/debug")
	return path, path + PathPprof
}

// ownQuery returns an address's query without the parameters of net/http/pprof, which an address
// copied from a browser may have.
func ownQuery(query string) string {
	var own []string
	for pair := range strings.SplitSeq(query, "&") {
		switch name, _, _ := strings.Cut(pair, "="); name {
		case "seconds", "debug", "gc":
		default:
			own = append(own, pair)
		}
	}
	return strings.Join(own, "&")
}
