// Package hostport checks what url.Parse lets pass and no connection can be made to:
// http://example.com:0 and http://example.com:99999 are URLs, and would fail at every attempt
// instead of where they are written. It is not for addresses to listen on, where 0 means any.
package hostport

import (
	"fmt"
	"net/url"
	"strconv"
)

// CheckPort says what is wrong with a URL's port; nil: nothing, or it has none.
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
