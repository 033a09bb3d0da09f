package web

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// HTTP makes a Handler net/http's. Bodies are read whole, up to maxBody bytes, before the Handler is called.
func HTTP(h Handler, maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := calls.Get().(*call)
		defer c.free()
		c.read(w, r, maxBody)
		h.Serve(r.Context(), &c.req, &c.resp)
		c.write(w)
	})
}

// call is what a request takes, used again for the next.
type call struct {
	req  Request
	resp Response
	body bytes.Buffer
}

var calls = sync.Pool{New: func() any { return new(call) }}

// maxKept bounds the memory that a call keeps for the next one.
const maxKept = 64 << 10

func (c *call) free() {
	if c.body.Cap() > maxKept || cap(c.resp.Body) > maxKept {
		return
	}
	c.req = Request{}
	c.resp.Reset()
	c.body.Reset()
	calls.Put(c)
}

func (c *call) read(w http.ResponseWriter, r *http.Request, maxBody int64) {
	c.req = Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Authorization:  joined(r.Header, "Authorization"),
		Accept:         joined(r.Header, "Accept"),
		AcceptEncoding: joined(r.Header, "Accept-Encoding"),
		CacheControl:   joined(r.Header, "Cache-Control"),
		ContentType:    joined(r.Header, "Content-Type"),
		IfNoneMatch:    joined(r.Header, "If-None-Match"),
		Traceparent:    joined(r.Header, "Traceparent"),
	}
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	_, err := c.body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		err = ErrTooLarge
	}
	c.req.Body, c.req.BodyErr = c.body.Bytes(), err
}

// joined gives all of a header's fields, as RFC 9110 says that they count: so a second Authorization makes both
// useless instead of one of them the winner.
func joined(h http.Header, name string) string {
	switch fields := h[name]; len(fields) {
	case 0:
		return ""
	case 1:
		return fields[0]
	default:
		return strings.Join(fields, ", ")
	}
}

func (c *call) write(w http.ResponseWriter) {
	h, r := w.Header(), &c.resp
	set := func(name, value string) {
		if value != "" {
			h[name] = []string{value}
		}
	}
	set("Content-Type", r.ContentType)
	set("Content-Encoding", r.ContentEncoding)
	set("Allow", r.Allow)
	set("Www-Authenticate", r.Challenge)
	set("Etag", r.ETag)
	set("Vary", r.Vary)
	set("Warning", r.Warning)
	if r.RetryAfter > 0 {
		set("Retry-After", seconds(r.RetryAfter))
	}
	if r.Status != http.StatusNotModified {
		set("Content-Length", strconv.Itoa(len(r.Body)))
	}
	w.WriteHeader(r.Status)
	w.Write(r.Body)
}

// seconds rounds up, as a client that comes a little late is answered and one that comes early is not.
func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }
