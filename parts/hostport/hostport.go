// Package hostport checks addresses where they are configured, instead of at every attempt to send:
// ports that url.Parse accepts and no client can connect to, such as http://example.com:99999, and
// the addresses of receivers, which it puts into the form of RFC 3986. It is not for listening
// addresses, where port 0 means any.
package hostport

import (
	"fmt"
	"net/url"
	"strconv"
)

// CheckPort returns an error for an invalid port of a URL; nil for a valid one or none.
func CheckPort(u *url.URL) error {
	if u.Port() == "" {
		return nil
	}
	return checkPort(u.Port())
}

func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("there is no port %.20s; ports are 1 to 65535", port)
	}
	return nil
}
