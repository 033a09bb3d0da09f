package corpus

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"dyno/lab/record/redact"
)

// Redirects reports whether a status redirects the client to another URL.
func Redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Redirected describes a redirect that does not count as a success.
func Redirected(status int, location string) string {
	location, _, _ = strings.Cut(redact.URL(cmp.Or(location, "no place")), "?") // a query may contain a token
	return fmt.Sprintf("%d, a redirect to %.200s; list the status in check.status if that is a success, or write follow: 1", status, location)
}
