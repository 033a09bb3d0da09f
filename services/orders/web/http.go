package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// HTTP makes a Handler net/http's. Bodies are read whole, up to maxBody bytes, before the Handler
// is called.
func HTTP(h Handler, maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := calls.Get().(*call)
		defer c.free()
		c.read(w, r, maxBody)
		if err := serve(r.Context(), h, &c.req, &c.resp); err != nil {
			logTo(r, err)
		}
		if !r.ProtoAtLeast(1, 1) { // net/http overlooks its Transfer-Encoding, and would take such a body for the next request
			w.Header()["Connection"] = []string{"close"}
		}
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

// serve lets h answer. A panic is answered too, whatever was written before it, and is the error:
// net/http would close the connection, and with the others the process would end.
func serve(ctx context.Context, h Handler, req *Request, resp *Response) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			*resp = Response{Status: http.StatusInternalServerError, ContentType: "application/json",
				Body: []byte(errorBody("this went wrong here; it has been logged"))}
		}
	}()
	h.Serve(ctx, req, resp)
	return nil
}

// errorBody is an error as the gateway's clients know it. The text is plain ASCII.
func errorBody(text string) string { return fmt.Sprintf("{\"error\":%q}\n", text) }

// logTo says it where the server that read a request says what went wrong.
func logTo(r *http.Request, err error) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		s.ErrorLog.Printf("http: %s: %v", r.URL.Path, err)
		return
	}
	log.Printf("http: %s: %v", r.URL.Path, err)
}

func (c *call) read(w http.ResponseWriter, r *http.Request, maxBody int64) {
	c.req = Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Host: r.Host}
	for name, values := range r.Header {
		if field := c.req.field(name); field != nil {
			*field = joined(values)
		}
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

// joined gives all of a header's fields, as RFC 9110 says that they count: so a second
// Authorization makes both useless instead of one of them the winner. One that is empty counts for
// nothing.
func joined(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" }), ", ")
}

func (c *call) write(w http.ResponseWriter) {
	h, r := w.Header(), &c.resp
	r.header(func(name, value string) {
		if guards := h.Get("Vary"); name == "Vary" && guards != "" {
			value += ", " + guards
		}
		h[name] = []string{value}
	})
	for _, field := range r.Share {
		h.Add(field.Name, field.Value)
	}
	if r.Status != http.StatusNotModified && r.Status != http.StatusNoContent {
		h["Content-Length"] = []string{strconv.Itoa(len(r.Body))}
	}
	w.WriteHeader(r.Status)
	w.Write(r.Body)
}
