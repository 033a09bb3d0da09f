package sim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"dyno/parts/daemon"
	"dyno/parts/doors"
	"dyno/parts/refusal"
	"dyno/services/ledger/sim/limits"
	"dyno/services/ledger/xrpl/answer"
)

// maxOpen bounds the number of connections; further ones wait.
const maxOpen = 10_000

// listen opens the listener, with TLS if configured.
func (s *Sim) listen() error {
	cert := s.config.Certificate
	if cert == nil && s.config.SelfSigned {
		var err error
		if cert, s.trusted, s.pem, err = selfSigned(); err != nil {
			return fmt.Errorf("making a certificate: %w", err)
		}
	}
	l, err := daemon.Listen(s.config.Listen, doors.Public("listen"))
	if err != nil {
		return err
	}
	s.listener = netutil.LimitListener(l, maxOpen)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /unl", s.serveUNL)
	mux.HandleFunc("GET /sim/injected", s.serveInjected)
	mux.HandleFunc("/", s.root)
	s.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnState:         s.connection,
		ErrorLog:          log.New(io.Discard, "", 0), // errors of clients that disconnect are expected
		Protocols:         new(http.Protocols),
	}
	s.server.Protocols.SetHTTP1(true)
	s.server.Protocols.SetHTTP2(!s.config.NoHTTP2)
	if cert != nil {
		s.scheme = "s"
		s.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12, MaxVersion: s.config.MaxTLS}
	}
	return nil
}

func (s *Sim) serve() {
	s.server.BaseContext = func(net.Listener) context.Context { return s.ctx }
	s.work.Go(func() {
		err := s.serveListener()
		if !errors.Is(err, http.ErrServerClosed) {
			s.served = fmt.Errorf("serving: %w", err)
		}
	})
}

func (s *Sim) serveListener() error {
	if s.scheme == "" {
		return s.server.Serve(s.listener)
	}
	return s.server.ServeTLS(s.listener, "", "")
}

// connection counts connections for the limiter. A WebSocket is counted until upgrade ends, because
// the HTTP server does not see a hijacked connection end.
func (s *Sim) connection(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.limiter.Opened(address(c.RemoteAddr().String()))
	case http.StateClosed:
		s.limiter.Closed(address(c.RemoteAddr().String()))
	}
}

func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// root serves JSON-RPC, and WebSockets on the same port.
func (s *Sim) root(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.work.Done()
	switch {
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		s.upgrade(w, r)
	case r.Method == http.MethodPost:
		s.post(w, r)
	default:
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!DOCTYPE html><html><head><title>ledgersync sim</title></head><body><p>JSON-RPC by POST, or WebSocket.</p></body></html>\n")
	}
}

// enter counts a handler, which Close waits for. It returns false once the Sim is being closed.
func (s *Sim) enter() bool {
	s.door.Lock()
	defer s.door.Unlock()
	if s.closing {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *Sim) post(w http.ResponseWriter, r *http.Request) {
	addr := address(r.RemoteAddr)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "Unable to parse request: "+err.Error(), http.StatusBadRequest)
		return
	}
	call, err := parsePost(body)
	if !s.limiter.Admit(addr) {
		s.tally.Refuse()
		s.reply(w, r, s.envelope(call, nil).overLimit(nil))
		return
	}
	var a *delivery
	var refused *refusal.Error
	switch {
	case errors.As(err, &refused):
		s.limiter.Spent(addr, limits.CostMalformed, 0)
		a = &delivery{status: http.StatusBadRequest, text: refused.Text}
	case err != nil:
		a = s.envelope(call, s.warner(addr, limits.CostMalformed)).fail(answer.ErrInvalidParams, call.raw())
	default:
		a = s.handle(r.Context(), call, s.warner(addr, limits.CostRequest))
	}
	s.reply(w, r, a)
}

func (s *Sim) warner(addr string, cost int) func(int) bool {
	return func(bytes int) bool { return s.limiter.Spent(addr, cost, bytes) }
}

func (s *Sim) reply(w http.ResponseWriter, r *http.Request, a *delivery) {
	defer s.release(a)
	if !s.pause(r.Context(), s.config.Delay+a.wait) {
		panic(http.ErrAbortHandler)
	}
	header := w.Header()
	switch {
	case a.act == stayQuiet:
		s.book(a, 1)
		s.pause(r.Context(), s.config.StallFor)
		panic(http.ErrAbortHandler) // no answer at all
	case a.text != "":
		header.Set("Content-Type", "text/plain; charset=utf-8")
		s.book(a, 1)
		w.WriteHeader(a.status)
		if _, err := io.WriteString(w, a.text); err != nil {
			s.book(a, -1)
		}
		return
	}
	header["Content-Type"] = contentJSON
	header["Content-Length"] = []string{strconv.Itoa(a.size())}
	half := -1
	if a.act == cutOff {
		half = a.size() / 2
	}
	s.book(a, 1)
	if s.write(w, a, half) != nil || http.NewResponseController(w).Flush() != nil {
		s.book(a, -1)
	}
	if a.act == cutOff {
		panic(http.ErrAbortHandler) // ends the connection, or the HTTP/2 stream
	}
}

var contentJSON = []string{"application/json; charset=utf-8"}

// write writes an answer's pieces, and at most most bytes of them unless that is negative.
func (s *Sim) write(w io.Writer, a *delivery, most int) error {
	for _, piece := range [][]byte{a.head, a.middle, a.tail} {
		if most >= 0 {
			piece = piece[:min(len(piece), most)]
			most -= len(piece)
		}
		if len(piece) == 0 {
			continue
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// book counts an answer: by 1 before it is sent, so that it is counted before the client can have
// read it, and by -1 if it could not be sent whole.
func (s *Sim) book(a *delivery, by int64) {
	if a.fault != "" {
		s.tally.Fault(a.fault, a.number, by)
	}
	if a.act == send {
		s.tally.Answer(a.size()+len(a.text), a.warned, by)
	}
}

func (s *Sim) release(a *delivery) {
	if a.keep != nil {
		s.scratch.Put(a.keep)
		a.keep = nil
	}
}

// pause waits, and returns whether it waited for the whole duration.
func (s *Sim) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.ctx.Done():
		return false
	}
}

func (s *Sim) serveInjected(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = contentJSON
	json.NewEncoder(w).Encode(s.Injected())
}

func (s *Sim) serveUNL(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = contentJSON
	w.Write(s.chain.UNL())
}
