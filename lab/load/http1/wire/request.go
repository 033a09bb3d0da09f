package wire

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"dyno/lab/load/corpus"
)

// Request is one request of the corpus in its wire format.
type Request struct {
	Bytes   []byte
	ids     []int // offsets in Bytes of the sequence number
	Class   uint8
	ToHead  bool // its method is HEAD, so its answer has no body
	Content bool // a check or Corpus.Accepted needs the answer's content
}

// Encode builds the bytes of every request, for one host.
func Encode(c *corpus.Corpus, host string) ([]Request, error) {
	if err := c.Prepare(); err != nil {
		return nil, err
	}
	out := make([]Request, len(c.Requests))
	for i := range c.Requests {
		var err error
		if out[i], err = encodeOne(&c.Requests[i], c.Classes, host); err != nil {
			return nil, fmt.Errorf("request %d of the corpus: %w", i+1, err)
		}
		out[i].Content = out[i].Content || c.Accepted != nil
	}
	return out, nil
}

func encodeOne(r *corpus.Request, classes []corpus.Class, host string) (Request, error) {
	if !isToken([]byte(r.Method)) {
		return Request{}, fmt.Errorf("%q is not a method", r.Method)
	}
	if r.Path == "" || r.Path[0] != '/' || bytes.ContainsAny([]byte(r.Path), " \t\r\n\x00\x7f") {
		return Request{}, fmt.Errorf("path %q: it must begin with / and have blanks written as %%20", r.Path)
	}
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", r.Method, r.Path)
	if r.Header.Get("Host") == "" {
		b = fmt.Appendf(b, "Host: %s\r\n", host)
	}
	chunked := false
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length":
			return Request{}, fmt.Errorf("header %s: leave it out, it follows from the body", name)
		case "Transfer-Encoding":
			if !slices.Equal(r.Header[name], []string{"chunked"}) || len(r.Body) == 0 {
				return Request{}, fmt.Errorf("header %s: write chunked, which sends the body as one chunk, or leave it out; without a body there is none", name)
			}
			chunked = true
		}
		for _, value := range r.Header[name] {
			if !isToken([]byte(name)) || !isText([]byte(value)) {
				return Request{}, fmt.Errorf("header %q: %q cannot be sent", name, value)
			}
			b = fmt.Appendf(b, "%s: %s\r\n", name, value)
		}
	}
	if !chunked && (len(r.Body) > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch) {
		b = append(b, "Content-Length: "+strconv.Itoa(len(r.Body))+"\r\n"...)
	}
	b = append(b, "\r\n"...)
	if chunked {
		b = fmt.Appendf(b, "%x\r\n", len(r.Body))
	}
	out := Request{Class: r.Class, ToHead: r.Method == http.MethodHead, Content: classes[r.Class].Check.NeedsContent()}
	for _, at := range r.IDs {
		out.ids = append(out.ids, len(b)+at)
	}
	if out.Bytes = append(b, r.Body...); chunked {
		out.Bytes = append(out.Bytes, "\r\n0\r\n\r\n"...)
	}
	return out, nil
}

// Private returns a copy in which one thread can write its own sequence numbers.
func Private(requests []Request) []Request {
	out := slices.Clone(requests)
	for i := range out {
		if len(out[i].ids) > 0 {
			out[i].Bytes = bytes.Clone(out[i].Bytes)
		}
	}
	return out
}

// Number writes a sequence number into the request.
func (r *Request) Number(seq uint64) {
	for _, at := range r.ids {
		corpus.PutID(r.Bytes[at:], seq)
	}
}
