package jsonrpc

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dyno/parts/mediatype"
)

// route gives requests to the door of their kind. Each kind has its own list of origins.
func (s *Server) route() http.Handler {
	post := s.o.HTTP.Wrap(http.HandlerFunc(s.servePOST), nil)
	socket := s.o.Socket.Wrap(http.HandlerFunc(s.serveSocket), nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			socket.ServeHTTP(w, r)
			return
		}
		post.ServeHTTP(w, r)
	})
}

// ServeHTTP serves a POST or a WebSocket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) servePOST(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		s.refuse(w, http.StatusMethodNotAllowed, "calls are sent with POST, or over a WebSocket")
		return
	case !takes(r.Header["Content-Type"]):
		s.refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json, application/json-rpc or application/jsonrequest")
		return
	case compressed(r.Header["Content-Encoding"]):
		s.refuse(w, http.StatusUnsupportedMediaType, "the body must not be compressed")
		return
	case r.ContentLength > int64(s.bounds.MaxMessage):
		if r.Header.Get("Expect") == "" {
			s.discard(r.Body)
		}
		s.refuse(w, http.StatusRequestEntityTooLarge, s.tooLarge())
		return
	}
	x := s.exchange()
	defer s.release(x)
	if !s.read(w, r, x) {
		return
	}
	s.serve(r.Context(), x)
	if len(x.answer) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	write(w, http.StatusOK, x.answer)
}

// read reads the body. False means that it has answered.
func (s *Server) read(w http.ResponseWriter, r *http.Request, x *exchange) bool {
	if r.ContentLength > 0 {
		x.message.Grow(int(min(r.ContentLength, 64<<10)) + 512) // what was announced may never arrive
	}
	_, err := x.message.ReadFrom(http.MaxBytesReader(w, r.Body, int64(s.bounds.MaxMessage)))
	if err == nil {
		return true
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		s.discard(r.Body)
		s.refuse(w, http.StatusRequestEntityTooLarge, s.tooLarge())
		return false
	}
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		s.refuse(w, http.StatusRequestTimeout, "the body did not arrive in time")
		return false
	}
	s.refuse(w, http.StatusBadRequest, "the body did not arrive")
	return false
}

// discard reads more of a body that is too large, up to four times what is permitted: a client that
// sends all of it before it reads would not see the answer if the connection was closed meanwhile.
func (s *Server) discard(body io.Reader) {
	io.CopyN(io.Discard, body, 4*int64(s.bounds.MaxMessage)) // an error means that the client has gone
}

func (s *Server) tooLarge() string {
	return "the message is larger than " + strconv.Itoa(s.bounds.MaxMessage) + " bytes"
}

// refuse answers a request that is no message.
func (s *Server) refuse(w http.ResponseWriter, status int, text string) {
	s.o.Observe("", 0, InvalidRequest)
	write(w, status, appendWholeError(s.o.Codec, nil, &Error{Code: InvalidRequest, Message: text}))
}

var jsonType = []string{"application/json"}

func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has gone
}

// takes reports whether Content-Types are of calls.
func takes(contentTypes []string) bool {
	return len(contentTypes) > 0 && !slices.ContainsFunc(contentTypes, func(value string) bool { return !take(value) })
}

// take reports whether a Content-Type is of calls: one that go-ethereum takes, whatever its
// parameters say. The last two are of the draft "JSON-RPC over HTTP". A page of another site cannot
// send any of them without a preflight.
func take(contentType string) bool {
	switch mediatype.Of(contentType) {
	case "application/json", "application/json-rpc", "application/jsonrequest":
		return true
	}
	return false
}

// compressed reports whether Content-Encodings change the body.
func compressed(encodings []string) bool { return slices.ContainsFunc(encodings, encodes) }

func encodes(encoding string) bool { return encoding != "" && !strings.EqualFold(encoding, "identity") }
