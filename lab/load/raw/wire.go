package raw

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"dyno/lab/load"
)

// request is one request of the corpus in its wire format.
type request struct {
	bytes   []byte
	ids     []int // offsets in bytes of the sequence number
	class   uint8
	toHead  bool // its answer has no body
	content bool // its check looks at the answer's content
}

// encode builds the bytes of every request, for one host.
func encode(c *load.Corpus, host string) ([]request, error) {
	if len(c.Requests) == 0 || len(c.Classes) == 0 {
		return nil, errors.New("the corpus is empty: it needs at least one request and one class")
	}
	out := make([]request, len(c.Requests))
	for i := range c.Requests {
		var err error
		if out[i], err = encodeOne(&c.Requests[i], c.Classes, host); err != nil {
			return nil, fmt.Errorf("request %d of the corpus: %w", i+1, err)
		}
	}
	return out, nil
}

func encodeOne(r *load.Request, classes []load.Class, host string) (request, error) {
	if int(r.Class) >= len(classes) {
		return request{}, fmt.Errorf("class %d of %d does not exist", r.Class, len(classes))
	}
	if !isToken([]byte(r.Method)) {
		return request{}, fmt.Errorf("%q is not a method", r.Method)
	}
	if r.Path == "" || r.Path[0] != '/' || bytes.ContainsAny([]byte(r.Path), " \t\r\n\x00\x7f") {
		return request{}, fmt.Errorf("path %q: it must begin with / and have blanks written as %%20", r.Path)
	}
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", r.Method, r.Path)
	if r.Header.Get("Host") == "" {
		b = fmt.Appendf(b, "Host: %s\r\n", host)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length", "Transfer-Encoding":
			return request{}, fmt.Errorf("header %s: leave it out, it follows from the body", name)
		}
		for _, value := range r.Header[name] {
			if !isToken([]byte(name)) || !isText([]byte(value)) {
				return request{}, fmt.Errorf("header %q: %q cannot be sent", name, value)
			}
			b = fmt.Appendf(b, "%s: %s\r\n", name, value)
		}
	}
	if len(r.Body) > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		b = append(b, "Content-Length: "+strconv.Itoa(len(r.Body))+"\r\n"...)
	}
	b = append(b, "\r\n"...)
	out := request{class: r.Class, toHead: r.Method == http.MethodHead, content: classes[r.Class].Check.NeedsContent()}
	for _, at := range r.IDs {
		if at < 0 || at+load.IDLength > len(r.Body) {
			return request{}, fmt.Errorf("a sequence number at %d does not fit into a body of %d bytes", at, len(r.Body))
		}
		out.ids = append(out.ids, len(b)+at)
	}
	out.bytes = append(b, r.Body...)
	return out, nil
}

// private returns a copy, so that each thread writes its own sequence numbers.
func private(requests []request) []request {
	out := slices.Clone(requests)
	for i := range out {
		if len(out[i].ids) > 0 {
			out[i].bytes = bytes.Clone(out[i].bytes)
		}
	}
	return out
}

// number writes an offer's sequence number into the request.
func (r *request) number(seq uint64) {
	for _, at := range r.ids {
		load.PutID(r.bytes[at:], seq)
	}
}
