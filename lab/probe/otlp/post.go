package otlp

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	// An SDK sends 512 spans of some hundred bytes at a time. This is room for ten thousand.
	maxBody   = 4 << 20 // bytes of a body, both before and after decompression
	maxBodies = 4       // bodies that are read concurrently; further requests wait

	kindProtobuf = "application/x-protobuf"
	kindJSON     = "application/json"
)

// post serves POST /v1/traces. Answers use the encoding of the request, as the protocol requires.
func (r *Receiver) post(w http.ResponseWriter, req *http.Request) {
	select {
	case r.bodies <- struct{}{}:
		defer func() { <-r.bodies }()
	case <-req.Context().Done():
		return
	}
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	decode := decoders[kind]
	if decode == nil {
		r.refuse(w, kindJSON, http.StatusUnsupportedMediaType,
			fmt.Errorf("Content-Type %q is not supported; send %s or %s", kind, kindProtobuf, kindJSON))
		return
	}
	body, code, err := readBody(w, req)
	if err != nil {
		r.refuse(w, kind, code, err)
		return
	}
	var got batch
	if err := decode(body, &got); err != nil {
		r.refuse(w, kind, http.StatusBadRequest, fmt.Errorf("not an ExportTraceServiceRequest: %w", err))
		return
	}
	reply(w, kind, http.StatusOK, r.take(got))
}

// take keeps the spans and returns an answer with the number of rejected ones.
func (r *Receiver) take(got batch) response {
	r.mu.Lock()
	defer r.mu.Unlock()
	tooMany := r.traces.add(got.spans)
	r.losses.Malformed += got.malformed
	r.losses.TooMany += tooMany
	rejected := got.malformed + tooMany
	if rejected == 0 {
		return response{}
	}
	return response{&partialSuccess{rejected,
		fmt.Sprintf("%d spans without a 16-byte trace id, an 8-byte span id and times in order; %d beyond the %d kept of one trace",
			got.malformed, tooMany, maxTrace)}}
}

func (r *Receiver) refuse(w http.ResponseWriter, kind string, code int, err error) {
	r.mu.Lock()
	r.losses.Refused++
	r.mu.Unlock()
	reply(w, kind, code, status{strings.ToValidUTF8(err.Error(), "?")})
}

func readBody(w http.ResponseWriter, req *http.Request) (body []byte, code int, err error) {
	var in io.Reader = http.MaxBytesReader(w, req.Body, maxBody)
	switch encoding := req.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("the body is not gzip: %w", err)
		}
		in = zip
	default:
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("Content-Encoding %q is not supported; send gzip or none", encoding)
	}
	body, err = io.ReadAll(io.LimitReader(in, maxBody+1))
	switch {
	case len(body) > maxBody, errors.As(err, new(*http.MaxBytesError)):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("more than %d bytes; send fewer spans at a time", maxBody)
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("reading the body: %w", err)
	}
	return body, http.StatusOK, nil
}
