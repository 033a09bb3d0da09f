package generator

import (
	"cmp"
	"net/url"
	"strings"

	"dyno/lab/workload"
)

// pathOf returns the path and query of a URL as a template: what belongs to the load stays as it is
// written, and the rest is escaped.
func pathOf(u *url.URL) (string, error) {
	tokens, err := workload.Tokens(cmp.Or(u.RawPath, u.EscapedPath(), "/")) // RawPath is as written, Path without escapes
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, t := range tokens {
		if t.Name != "" || t.Text == "$$" {
			out.WriteString(t.Text)
			continue
		}
		plain, err := url.PathUnescape(t.Text)
		if err != nil {
			return "", err
		}
		out.WriteString((&url.URL{Path: plain, RawPath: t.Text}).EscapedPath())
	}
	if u.ForceQuery || u.RawQuery != "" {
		out.WriteString("?" + u.RawQuery)
	}
	return out.String(), nil
}

// shown returns a URL for the record, with its placeholders as they are written.
func shown(u *url.URL) string {
	path, err := pathOf(u)
	if err != nil || !strings.Contains(u.RawPath, "${") {
		return u.String()
	}
	host := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	return host.String() + path
}
