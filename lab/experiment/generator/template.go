package generator

import (
	"net/url"
	"strings"

	"dyno/lab/workload"
)

// shown returns a URL for the record, with its placeholders unescaped.
func shown(u *url.URL) string {
	path, err := workload.PathOf(u)
	if err != nil || !strings.Contains(u.RawPath, "${") {
		return u.String()
	}
	host := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	return host.String() + path
}
