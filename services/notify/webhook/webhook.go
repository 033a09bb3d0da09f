// Package webhook makes, signs and posts one webhook: an HTTP request that carries one notice or
// several, by Standard Webhooks. The seam "client" is here. It is not for choosing
// what is sent when, and never sends twice: that is services/notify/dispatch. It starts no
// goroutines but those of net/http's transport, which Sender.Close ends when they are idle.
package webhook

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"dyno/parts/hostport"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// Target is where the webhooks of a subscription go, and what signs them. It does not change; a
// change of the subscription makes another.
type Target struct {
	url   *url.URL
	keys  *keyring
	wrong error // nothing is sent to its address, which an earlier version has stored
}

// ParseURL returns an address as webhooks are sent to it. One that an earlier version has stored
// may have a fragment, which was never sent, or a backslash, which was sent as %5C.
func ParseURL(address string) (*url.URL, error) {
	address, _, _ = strings.Cut(address, "#")
	normal, err := hostport.Normal(strings.ReplaceAll(address, `\`, "%5C"))
	if err != nil {
		return nil, err
	}
	return url.Parse(normal)
}

// NewTarget returns a target with these secrets, the newest first.
func NewTarget(address string, secrets []subscription.Secret) (*Target, error) {
	u, wrong := ParseURL(address)
	if wrong != nil {
		var err error
		if u, err = url.Parse(address); err != nil {
			return nil, err
		}
	}
	keys, err := newKeyring(secrets)
	if err != nil {
		return nil, err
	}
	return &Target{url: u, keys: keys, wrong: wrong}, nil
}

// URL is the target's address.
func (t *Target) URL() *url.URL { return t.url }

// Webhook is what one request is made of.
type Webhook struct {
	Target  *Target
	Notices []*notice.Notice
	Trace   trace.SpanContext // that the receiver may join; invalid means none
}

// Outcome is the result of an attempt.
type Outcome struct {
	Status     int           // of the answer; 0 means that there was none
	Err        string        // why there was none
	RetryAfter time.Duration // the receiver's Retry-After
}

// Delivered reports whether the receiver has taken the webhook.
func (o Outcome) Delivered() bool { return o.Status >= 200 && o.Status < 300 }

// Overloaded reports whether the receiver says that it has too much to do.
func (o Outcome) Overloaded() bool {
	switch o.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Reason says in words why an attempt failed.
func (o Outcome) Reason() string {
	if o.Status == 0 {
		return o.Err
	}
	return "answered " + strconv.Itoa(o.Status) + " " + http.StatusText(o.Status)
}
