package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"dyno/parts/hostport"
	"dyno/parts/seconds"
	"dyno/services/orders/web"
)

// maxAnswer is the maximum size of an answer's body, in bytes: ten times a page of 500 orders.
const maxAnswer = 1 << 20

func newClient(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{Transport: &http.Transport{ // no proxy: the second version is nearby
			DialContext:            (&net.Dialer{Timeout: time.Second}).DialContext,
			MaxIdleConnsPerHost:    maxCanary,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true, // the client's Accept-Encoding is passed on unchanged
			ForceAttemptHTTP2:      true,
		}}
	}
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // it would send the token to the redirect's target
	return &own
}

// parseTarget parses the second version's URL: its origin, and a path prefix.
func parseTarget(s string) (*url.URL, error) {
	if len(s) > 2048 {
		return nil, errors.New("the url is longer than 2048 bytes")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("the url cannot be read; give it as in http://127.0.0.1:8081") // an error of url.Parse would repeat it
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the url begins with neither http:// nor https://")
	case u.Hostname() == "":
		return nil, errors.New("the url names no host")
	case u.User != nil:
		return nil, errors.New("the url holds a user name or a password; leave them out: requests carry their own tokens")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("the url has a query or a fragment; give the origin, and a path if there is one")
	}
	if err := hostport.CheckPort(u); err != nil {
		return nil, fmt.Errorf("the url: %w", err)
	}
	return u, nil
}

// own copies a request, because a request is only valid until Serve returns.
func own(req *web.Request) *web.Request {
	return &web.Request{
		Method: strings.Clone(req.Method), Path: strings.Clone(req.Path), Query: strings.Clone(req.Query),
		Authorization:  strings.Clone(req.Authorization),
		Accept:         strings.Clone(req.Accept),
		AcceptEncoding: strings.Clone(req.AcceptEncoding),
		CacheControl:   strings.Clone(req.CacheControl),
		ContentType:    strings.Clone(req.ContentType),
		IfNoneMatch:    strings.Clone(req.IfNoneMatch),
		Traceparent:    strings.Clone(req.Traceparent),
		Body:           bytes.Clone(req.Body),
	}
}

// request builds a request to the second version from a copied one: a transport may read it after
// the answer. It returns an error if the client's request cannot be sent on.
func request(base *url.URL, req *web.Request) (*http.Request, error) {
	u := *base
	u.Path = strings.TrimSuffix(base.Path, "/") + req.Path
	u.RawPath, u.RawQuery = "", req.Query
	out, err := http.NewRequest(req.Method, u.String(), bytes.NewReader(req.Body))
	if err != nil {
		return nil, fmt.Errorf("sending the request on: %w", err)
	}
	for _, field := range []struct{ name, value string }{
		{"Authorization", req.Authorization}, {"Accept", req.Accept}, {"Accept-Encoding", req.AcceptEncoding},
		{"Cache-Control", req.CacheControl}, {"Content-Type", req.ContentType}, {"If-None-Match", req.IfNoneMatch},
		{"Traceparent", req.Traceparent},
	} {
		if !httpguts.ValidHeaderFieldValue(field.value) {
			return nil, fmt.Errorf("sending the request on: %s is malformed", field.name)
		}
		if field.value != "" {
			out.Header.Set(field.name, field.value)
		}
	}
	return out, nil
}

// send sends a request to the second version.
func (r *Release) send(ctx context.Context, out *http.Request) (*web.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	in, err := r.client.Do(out.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer in.Body.Close()
	return read(in)
}

// read converts an answer.
func read(in *http.Response) (*web.Response, error) {
	if in.StatusCode < 200 || in.StatusCode > 599 {
		return nil, fmt.Errorf("status %d is not one of an answer", in.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(in.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	h := in.Header
	return &web.Response{
		Status:          in.StatusCode,
		ContentType:     h.Get("Content-Type"),
		ContentEncoding: h.Get("Content-Encoding"),
		Allow:           h.Get("Allow"),
		Challenge:       h.Get("WWW-Authenticate"),
		ETag:            h.Get("ETag"),
		RetryAfter:      retryAfter(h.Get("Retry-After")),
		Vary:            h.Get("Vary"),
		Warning:         h.Get("Warning"),
		Body:            body,
	}, nil
}

// retryAfter reads what a gateway asks for, at most a day.
func retryAfter(text string) time.Duration {
	return min(seconds.RetryAfter(text, time.Now()), 24*time.Hour)
}

// unsent reports whether an error means that the second version cannot have received the request.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
