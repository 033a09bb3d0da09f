package importer

import (
	"errors"
	"regexp"
	"strings"
)

// urlScheme matches the scheme and slashes of a URL; curl accepts one to three slashes.
var urlScheme = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*):/{1,3}`)

// otherSchemes are the schemes that curl guesses by the first label of a host's name.
var otherSchemes = []string{"dict", "ftp", "imap", "ldap", "pop3", "smtp"}

// dotSegment matches an escaped dot in a path's segment of dots.
var dotSegment = regexp.MustCompile(`(?i)/(%2e|\.%2e|%2e\.|%2e%2e)(/|$)`)

// complete returns the URL that curl requests for an address, in which patterns are replaced
// already.
func (c *curlReader) complete(address, query string) (string, error) {
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", errors.New("curl refuses a URL with a space or a control character; write it as %20")
	}
	proto, rest := c.protocol, address
	if m := urlScheme.FindString(address); m != "" {
		proto, rest = strings.ToLower(strings.TrimRight(m, ":/")), address[len(m):]
	} else if proto == "" {
		proto = "http"
		for _, o := range otherSchemes {
			if len(rest) > len(o) && strings.EqualFold(rest[:len(o)+1], o+".") {
				proto = o
			}
		}
	}
	rest, _, _ = strings.Cut(rest, "#")
	authority, path, had := rest, "/", ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
		before, after, asked := strings.Cut(rest[i:], "?")
		if before != "" {
			path = before
		}
		if asked {
			had = "?" + after
		}
	}
	if !c.asIs {
		if dotSegment.MatchString(path) {
			return "", errors.New("versions of curl differ in a path's segment of %2e; write . instead, or give --path-as-is")
		}
		path = withoutDots(path)
	}
	switch {
	case query == "":
	case had == "":
		had = "?" + query
	case had == "?" || strings.HasSuffix(had, "&"):
		had += query
	default:
		had += "&" + query
	}
	if path += had; strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", errors.New("curl refuses data in a URL (-G) with a space or a control character; give --data-urlencode")
	}
	if c.target != "" {
		if path = c.target; !strings.HasPrefix(path, "/") {
			return "", errors.New("--request-target is no path from the root")
		}
	}
	return proto + "://" + authority + path, nil
}

// withoutDots removes the segments . and .. of a path (RFC 3986, 5.2.4).
func withoutDots(path string) string {
	segments := strings.Split(path, "/")[1:]
	var out []string
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case "..":
			out = out[:max(len(out)-1, 0)]
		case ".":
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}
