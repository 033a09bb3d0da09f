// Package web lets the gateway answer HTTP without knowing which server reads it: Request and
// Response are what all have in common; HTTP makes a Handler net/http's, Fast serves it with
// fasthttp, and Loop with event loops (parts/httploop), which let it begin many requests before any
// is answered.
//
// It is not a router and knows nothing of orders.
package web

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Request is what of an HTTP request the gateway looks at. Its strings and bytes are only good
// until Serve returns: who keeps one makes a copy.
type Request struct {
	Method string
	Path   string // decoded
	Query  string // as it came, without the question mark

	Authorization  string
	Accept         string
	AcceptEncoding string
	CacheControl   string
	ContentType    string
	IfNoneMatch    string
	Traceparent    string
	Tracestate     string
	Sampling       string // X-Trace-Sampling

	// Host to AskedMethod are for Guarded.
	Host        string
	Origin      string
	Site        string // Sec-Fetch-Site
	Dest        string // Sec-Fetch-Dest
	AskedMethod string // Access-Control-Request-Method

	Body    []byte
	BodyErr error // why there is no whole Body: ErrTooLarge, or reading it failed

	Account string // whose request it is; set by who finds that out
}

// field is where a header of this name, in any case, belongs; nil: no handler reads it.
func (r *Request) field(name string) (field *string) {
	is := func(other string) bool { return strings.EqualFold(name, other) }
	switch len(name) { // most of the names that nothing reads differ from these in length
	case len("Host"):
		if is("Host") {
			return &r.Host
		}
	case len("Accept"):
		if is("Accept") {
			return &r.Accept
		}
		if is("Origin") {
			return &r.Origin
		}
	case len("Tracestate"):
		if is("Tracestate") {
			return &r.Tracestate
		}
	case len("Traceparent"):
		if is("Traceparent") {
			return &r.Traceparent
		}
	case len("Content-Type"):
		if is("Content-Type") {
			return &r.ContentType
		}
	case len("Authorization"):
		if is("Authorization") {
			return &r.Authorization
		}
		if is("Cache-Control") {
			return &r.CacheControl
		}
		if is("If-None-Match") {
			return &r.IfNoneMatch
		}
	case len("Sec-Fetch-Site"):
		if is("Sec-Fetch-Site") {
			return &r.Site
		}
		if is("Sec-Fetch-Dest") {
			return &r.Dest
		}
	case len("Accept-Encoding"):
		if is("Accept-Encoding") {
			return &r.AcceptEncoding
		}
	case len("X-Trace-Sampling"):
		if is("X-Trace-Sampling") {
			return &r.Sampling
		}
	case len("Access-Control-Request-Method"):
		if is("Access-Control-Request-Method") {
			return &r.AskedMethod
		}
	}
	return nil
}

// Field returns the value of a header field by its name, in any case; "" if it is not there, or not
// one of those above.
func (r *Request) Field(name string) string {
	if field := r.field(name); field != nil {
		return *field
	}
	return ""
}

// add takes a header field in: of several of a name, all count, as a list.
func (r *Request) add(name, value string) {
	switch field := r.field(name); {
	case field == nil:
	case *field == "":
		*field = value
	case value != "":
		*field += ", " + value // of the bytes that a head may have in all
	}
}

// ErrTooLarge says that a body exceeds its bound.
var ErrTooLarge = errors.New("the body is too large")

// Response is the answer. Fields that are empty send no header. It is used again: a Handler appends
// to Body[:0].
type Response struct {
	Status          int
	ContentType     string
	ContentEncoding string
	Allow           string
	Challenge       string // WWW-Authenticate
	ETag            string
	RetryAfter      time.Duration // in whole seconds, rounded up
	Vary            string
	Warning         string
	Share           []Field // what lets a page of another origin read it
	Body            []byte

	Err error // why it is a refusal, for who is around the handler; not sent
}

// Field is one more header field.
type Field struct{ Name, Value string }

// header calls set for each header field but Share, in a fixed order.
func (r *Response) header(set func(name, value string)) {
	var retry string
	if r.RetryAfter > 0 { // rounded up: a client that comes a little late is answered, and one that comes early is not
		retry = strconv.Itoa(int((r.RetryAfter + time.Second - 1) / time.Second))
	}
	for _, field := range [...]Field{
		{"Content-Type", r.ContentType}, {"Content-Encoding", r.ContentEncoding}, {"Allow", r.Allow}, {"Www-Authenticate", r.Challenge},
		{"Etag", r.ETag}, {"Vary", r.Vary}, {"Warning", r.Warning}, {"Retry-After", retry},
	} {
		if field.Value != "" {
			set(field.Name, field.Value)
		}
	}
}

// Reset makes it empty and keeps Body's memory.
func (r *Response) Reset() { *r = Response{Body: r.Body[:0]} }

// Handler answers requests, concurrently.
type Handler interface {
	Serve(ctx context.Context, req *Request, resp *Response)
}

// HandlerFunc is a Handler.
type HandlerFunc func(ctx context.Context, req *Request, resp *Response)

// Serve calls f.
func (f HandlerFunc) Serve(ctx context.Context, req *Request, resp *Response) { f(ctx, req, resp) }
