package web

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"unsafe"

	"dyno/parts/lameduck"

	"github.com/valyala/fasthttp"
)

// errFraming says that it is not sure where a request ends. To guess would let one client's request
// be read as a part of another's, where something stands between that guesses otherwise.
var errFraming = errors.New("a Transfer-Encoding that is not chunked, or beside a Content-Length, or in HTTP/1.0, or no empty line after the headers")

// readFast gives what net/http would give. The error says that it is no request.
func readFast(to *Request, from *fasthttp.Request, maxBody int) error {
	h := &from.Header
	*to = Request{Method: text(h.Method()), Body: from.Body()}
	if len(to.Body) > maxBody {
		to.Body, to.BodyErr = nil, ErrTooLarge
	}
	authority, err := to.target(text(h.RequestURI()))
	if err != nil {
		return err
	}
	if raw := h.RawHeaders(); len(raw) > 0 && !bytes.HasSuffix(raw, []byte("\r\n\r\n")) {
		return errFraming // with bare line feeds AllInOrder would give none of them
	}
	// As they came: of several Content-Types fasthttp knows the last, and it counts trailers among the
	// headers.
	for name, value := range h.AllInOrder() {
		if string(name) == fasthttp.HeaderTransferEncoding && (!h.IsHTTP11() || !strings.EqualFold(text(value), "chunked") || lameduck.HasLength(h.RawHeaders())) {
			return errFraming
		}
		to.add(text(name), text(value))
	}
	if authority != "" {
		to.Host = authority // RFC 9112, section 3.2.2: whatever the header says
	}
	return nil
}

// target splits what stands in a request's first line. fasthttp's own would make a/../b and //b
// into /b: which net/http does not. The authority is that of a whole URL, which clients send to
// proxies; "": there is none.
func (r *Request) target(uri string) (authority string, err error) {
	if strings.HasPrefix(uri, "/") && strings.IndexByte(uri, '%') < 0 {
		r.Path, r.Query, _ = strings.Cut(uri, "?")
		return "", nil
	}
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return "", err
	}
	r.Path, r.Query = u.Path, u.RawQuery
	return u.Host, nil
}

// text is b without a copy: good as long as b is, which is what Request promises.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func writeFast(to *fasthttp.Response, r *Response) {
	h := &to.Header
	to.SetStatusCode(r.Status)
	r.header(h.Set)
	for _, field := range r.Share {
		h.Add(field.Name, field.Value)
	}
	to.SetBody(r.Body)
	h.SetContentLength(len(r.Body)) // fasthttp forgets it where a HEAD's GET is empty
}
