package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dyno/parts/refusal"
	"dyno/services/orders/auth"
	"dyno/services/orders/batcher"
	"dyno/services/orders/encode"
	"dyno/services/orders/order"
	"dyno/services/orders/web"
)

var errNotAcceptable = &refusal.Error{Status: http.StatusNotAcceptable, Field: "Accept", Text: "answers are application/json or application/msgpack"}

const errorHere = "this went wrong here; it has been logged"

// retryAfter is when a caller may try again: by then a queue has moved on, or a database has
// restarted.
const retryAfter = time.Second

const vary = "Accept, Accept-Encoding"

// encoder is the one whose format the caller accepts.
func (g *Gateway) encoder(req *web.Request) (encode.Encoder, bool) {
	if req.Accept == "" {
		return g.json, true
	}
	format, ok := encode.Negotiate(req.Accept)
	if format == encode.AsMsgpack {
		return g.msgpack, ok
	}
	return g.json, ok
}

// answer completes an answer whose body is written.
func (g *Gateway) answer(req *web.Request, resp *web.Response, status int, enc encode.Encoder) {
	resp.Status, resp.ContentType, resp.Vary = status, enc.ContentType(), vary
	if req.AcceptEncoding != "" {
		if packed, ok := encode.Compress(nil, resp.Body, req.AcceptEncoding); ok {
			resp.Body, resp.ContentEncoding = packed, "zstd"
		}
	}
}

// refuse answers with an error.
func (g *Gateway) refuse(req *web.Request, resp *web.Response, err error) {
	enc, ok := g.encoder(req)
	if !ok {
		enc = g.json
	}
	status, field, text := g.explain(resp, err)
	resp.ETag, resp.Err = "", err
	resp.Body = enc.Error(resp.Body[:0], text, field)
	resp.Status, resp.ContentType, resp.Vary = status, enc.ContentType(), vary
	if status >= http.StatusInternalServerError {
		g.log.Debug("refused", "path", req.Path, "status", status, "error", err)
	}
}

// explain says what an error is to a caller, who learns nothing of what is behind the gateway.
func (g *Gateway) explain(resp *web.Response, err error) (status int, field, text string) {
	var refused *refusal.Error
	var rejected *auth.Rejection
	switch {
	case errors.As(err, &refused):
		return refused.Status, refused.Field, refused.Text
	case errors.As(err, &rejected):
		resp.Challenge = challenge(rejected)
		return http.StatusUnauthorized, "", rejected.Description
	case errors.Is(err, order.ErrNotFound):
		return http.StatusNotFound, "", "there is no such order"
	case errors.Is(err, order.ErrConflict):
		return http.StatusConflict, "client_order_id", "the account has used this client order id for another order; choose a new one"
	case errors.Is(err, batcher.ErrFull), errors.Is(err, order.ErrBusy):
		resp.RetryAfter = retryAfter
		return http.StatusServiceUnavailable, "", "too many requests wait here; try again later"
	case unavailable(err):
		resp.RetryAfter = retryAfter
		return http.StatusServiceUnavailable, "", "the database does not answer; try again later"
	}
	if err == order.ErrRefused { // the breaker's, which has let through and logged one a moment ago
		return http.StatusInternalServerError, "", errorHere
	}
	g.log.Error("a request failed for a reason that is not foreseen", "error", err)
	return http.StatusInternalServerError, "", errorHere
}

// unavailable reports whether an error says nothing but that there was no answer in time.
func unavailable(err error) bool {
	return errors.Is(err, order.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errOpen)
}

// challenge is the WWW-Authenticate of RFC 6750.
func challenge(r *auth.Rejection) string {
	if r.Missing {
		return "Bearer"
	}
	return fmt.Sprintf("Bearer error=\"invalid_token\", error_description=%q", r.Description)
}
