// Package hostport checks the ports of URLs that url.Parse accepts and no client can connect to:
// http://example.com:0 and http://example.com:99999 are URLs, and would fail at every attempt
// instead of where they are configured. It is not for listening addresses, where 0 means any.
package hostport

import (
	"fmt"
	"net/url"
	"strconv"
)

// CheckPort returns an error for an invalid port of a URL; nil for a valid one or none.
func CheckPort(u *url.URL) error {
	port := u.Port()
	if port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("there is no port %.20s; ports are 1 to 65535", port)
	}
	return nil
}
