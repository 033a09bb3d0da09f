package profiling

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"dyno/lab/record/redact"
)

// StatusError is an unexpected answer of a debug address.
type StatusError struct {
	Code int    // HTTP status
	text string // the request and the answer
}

func (e *StatusError) Error() string { return e.text }

// Refused reports whether err is the answer of an address that has the path, but refused this
// client, redirected it or failed. Any other answer means that the address does not have the path.
func Refused(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	c := status.Code
	return c == http.StatusUnauthorized || c == http.StatusForbidden || c >= 300 && c < 400 || c >= 500
}

// Unexpected describes an answer by its status and the beginning of its text. Where the fix is
// known, it names that.
func Unexpected(resp *http.Response, body []byte) *StatusError {
	what := "the answer"
	if resp.Request != nil {
		what = bare(resp.Request.URL)
	}
	said := resp.Status
	text := strings.TrimSpace(redact.Text(strings.ToValidUTF8(string(body[:min(len(body), maxComplaint)]), "")))
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch {
	case strings.EqualFold(media, "text/html") || strings.HasPrefix(text, "<"):
		said += " (an HTML page)"
	case resp.StatusCode == http.StatusOK && media != "":
		said += " (" + media + ")"
	case text != "" && resp.StatusCode != http.StatusOK:
		said += ": " + text
	}
	switch location, err := resp.Location(); {
	case err == nil && resp.StatusCode >= 300 && resp.StatusCode < 400:
		said += ", a redirect to " + bare(location) + ": name that as the debug address"
	case resp.StatusCode == http.StatusUnauthorized:
		said += "; the debug address may carry a user and a password before its host"
	case resp.StatusCode == http.StatusBadRequest && (strings.Contains(text, "HTTPS server") || strings.Contains(text, "HTTPS port")):
		said += "; it speaks TLS: write https://"
	}
	return &StatusError{resp.StatusCode, what + " answered " + said}
}

// bare returns a URL without the parts that may be secret.
func bare(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// unanswered returns the reason why a request had no answer, without the secrets of the URL.
func unanswered(u *url.URL, err error) error {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err // outer has the query in its text
	}
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		timeout     net.Error
	)
	host := u.Scheme + "://" + u.Host
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: %w", host, syscall.ECONNREFUSED)
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("%s: the name has no address (%s)", host, name.Err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s does not speak TLS: write http://", host)
	case u.Scheme == "http" && strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`):
		return fmt.Errorf("%s speaks TLS: write https://", host)
	case errors.As(err, &certificate):
		return fmt.Errorf("TLS with %s: %w; load.tls of the scenario holds for the debug address, too: insecure (-k) trusts any certificate, ca names an authority", host, certificate.Err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s did not answer in time: %w", host, err)
	}
	return fmt.Errorf("%s: %w", host, err)
}
