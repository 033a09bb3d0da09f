// Package web lets the gateway answer HTTP without knowing which server reads it: Request and Response are what
// both have in common; HTTP makes a Handler net/http's, and Fast serves it with fasthttp.
//
// It is not a router and knows nothing of orders.
package web

import (
	"context"
	"errors"
	"time"
)

// Request is what of an HTTP request the gateway looks at. Its strings and bytes are only good until Serve
// returns: who keeps one makes a copy.
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

	Body    []byte
	BodyErr error // why there is no whole Body: ErrTooLarge, or reading it failed

	Account string // whose request it is; set by who finds that out
}

// field is where a header of this name (in its canonical form) belongs; nil: nobody looks at it.
func (r *Request) field(name string) *string {
	switch name {
	case "Authorization":
		return &r.Authorization
	case "Accept":
		return &r.Accept
	case "Accept-Encoding":
		return &r.AcceptEncoding
	case "Cache-Control":
		return &r.CacheControl
	case "Content-Type":
		return &r.ContentType
	case "If-None-Match":
		return &r.IfNoneMatch
	case "Traceparent":
		return &r.Traceparent
	}
	return nil
}

// ErrTooLarge says that a body exceeds its bound.
var ErrTooLarge = errors.New("the body is too large")

// Response is the answer. Fields that are empty send no header. It is used again: a Handler appends to
// Body[:0].
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
	Body            []byte

	Err error // why it is a refusal, for who is around the handler; not sent
}

// Reset makes it empty and keeps Body's memory.
func (r *Response) Reset() { *r = Response{Body: r.Body[:0]} }

// Handler answers requests; many at once.
type Handler interface {
	Serve(ctx context.Context, req *Request, resp *Response)
}

// HandlerFunc is a Handler.
type HandlerFunc func(ctx context.Context, req *Request, resp *Response)

// Serve calls f.
func (f HandlerFunc) Serve(ctx context.Context, req *Request, resp *Response) { f(ctx, req, resp) }
