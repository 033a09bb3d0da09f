package httploop

import (
	"net/http"
	"strings"

	"dyno/parts/guard"
	"dyno/parts/httploop/wire"
)

// Screen says which requests a loop leaves to a server that supports more, by their headers. It
// lists what changes an answer. All else passes, since each proxy and client adds fields of its own
// (X-Forwarded-For, Via, traceparent, Sec-Fetch-Mode, Priority) that no handler reads. What a
// service's handlers read beyond it (Content-Type, Authorization) the service checks itself.
type Screen struct {
	Guard *guard.Guard // hosts that are known; nil means any

	// WebSockets are served beside the loop at the same target.
	WebSockets bool
}

// Denies returns why a request should not be served, as Options.Serves does: "" if nothing in its
// header speaks against it, ReasonHost, or the name of a header field.
func (s *Screen) Denies(r *Request) (reason string) {
	if s.Guard != nil && s.Guard.Check(guard.Request{Method: r.Method, Host: r.Host}) != nil {
		return ReasonHost
	}
	sites := 0
	for i := range r.Fields {
		f := &r.Fields[i]
		if reason = s.denies(f); reason != "" {
			return reason
		}
		if len(f.Name) == len(fieldSite) && f.Is(fieldSite) {
			sites++
		}
	}
	if sites > 1 { // together they are a value that no browser sends
		return fieldSite
	}
	return ""
}

// Header fields that are denied. Most names differ from them in length.
const (
	fieldOrigin  = "Origin"
	fieldUpgrade = "Upgrade"
	fieldSite    = "Sec-Fetch-Site"
)

// denies returns the name of a field that is denied.
func (s *Screen) denies(f *wire.Field) (name string) {
	switch len(f.Name) {
	case len(fieldOrigin): // a page sent it: the guard decides, and its answer has more fields
		if f.Is(fieldOrigin) {
			return fieldOrigin
		}
	case len(fieldSite):
		if f.Is(fieldSite) && f.Value != "none" && f.Value != "same-origin" {
			return fieldSite
		}
	case len(fieldUpgrade): // to h2c is ignored, as by net/http
		if s.WebSockets && f.Is(fieldUpgrade) && strings.EqualFold(f.Value, "websocket") {
			return fieldUpgrade
		}
	}
	return ""
}

// reasonOf names why bytes are no request that the loop serves.
func reasonOf(err *wire.Refusal) string {
	switch err.Status {
	case http.StatusRequestEntityTooLarge:
		return ReasonBody
	case http.StatusExpectationFailed:
		return "Expect"
	}
	return ReasonFraming
}
