package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl"
)

const (
	// DefaultTimeout limits a request, from sending it to the last byte of the answer.
	DefaultTimeout = 8 * time.Second
	// DefaultMaxBody is several hundred times the size of a large ledger.
	DefaultMaxBody = 64 << 20 // bytes
	// DefaultInFlight stays below the 20 connections that Clio allows an address.
	DefaultInFlight = 16 // requests
)

// Config names the server and says how to ask it. Only URL is required.
type Config struct {
	// URL has the scheme http, https, ws or wss. Names, logs and errors never show its user info,
	// its query, nor keys in its path.
	URL     string
	Events  string        // ws or wss, for Subscribe; "": URL, with ws for http
	Decoder string        // a name of response.Decoders; "": scan
	Timeout time.Duration // time limit of a request; 0: DefaultTimeout
	Client  *http.Client  // nil: a client of its own
	TLS     *tls.Config   // for its own client; NextProtos without h2 keeps to HTTP/1.1
	MaxBody int64         // maximum size of an answer in bytes; 0: DefaultMaxBody
	// Maximum of concurrent requests: connections of HTTP/1.1, ids of WebSocket. 0:
	// DefaultInFlight.
	InFlight int
}

// Server is one server. Its methods may be called by several goroutines.
type Server struct {
	config    Config
	name      string
	events    string
	secrets   []string
	decoder   response.Decoder
	transport transport
	counts    counters
}

// transport sends a request and returns the answer's bytes.
type transport interface {
	call(ctx context.Context, r request) (*body, error)
	close() error
}

// Open checks the configuration and makes a client. It sends no request.
func Open(_ context.Context, c Config) (*Server, error) {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxBody <= 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.InFlight <= 0 {
		c.InFlight = DefaultInFlight
	}
	decoder, err := response.NewDecoder(c.Decoder)
	if err != nil {
		return nil, err
	}
	u, err := parseURL(c.URL, "http", "https", "ws", "wss")
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, name: nameOf(u), secrets: secretsOf(u), decoder: decoder}
	if s.events, err = s.eventsURL(u); err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "ws", "wss":
		s.transport = newSocket(s, u.String())
	default:
		s.transport = newHTTP(s, u.String())
	}
	return s, nil
}

func (s *Server) eventsURL(u *url.URL) (string, error) {
	if s.config.Events != "" {
		events, err := parseURL(s.config.Events, "ws", "wss")
		if err != nil {
			return "", err
		}
		s.secrets = append(s.secrets, secretsOf(events)...)
		return events.String(), nil
	}
	events := *u
	switch u.Scheme {
	case "http":
		events.Scheme = "ws"
	case "https":
		events.Scheme = "wss"
	}
	return events.String(), nil
}

// Name is the URL without user info and query; long path segments, which may be keys, are masked.
func (s *Server) Name() string { return s.name }

// InFlight is the maximum of concurrent requests.
func (s *Server) InFlight() int { return s.config.InFlight }

// Ledger requests a ledger with all its transactions, in binary. The error is an *Error, or that of
// ctx. An answer for another ledger than the requested one is no error: the caller must compare
// into.Index.
func (s *Server) Ledger(ctx context.Context, index uint32, into *response.Answer) error {
	return s.ledger(ctx, request{method: "ledger", index: index, transactions: true}, into)
}

// LedgerByHash is Ledger by the ledger's hash: a server may find by it what it does not find by its
// index.
func (s *Server) LedgerByHash(ctx context.Context, hash xrpl.Hash, into *response.Answer) error {
	return s.ledger(ctx, request{method: "ledger", hash: hash, transactions: true}, into)
}

// Header requests a ledger without its transactions.
func (s *Server) Header(ctx context.Context, index uint32, into *response.Answer) error {
	return s.ledger(ctx, request{method: "ledger", index: index}, into)
}

// HeaderByHash is Header by the ledger's hash.
func (s *Server) HeaderByHash(ctx context.Context, hash xrpl.Hash, into *response.Answer) error {
	return s.ledger(ctx, request{method: "ledger", hash: hash}, into)
}

func (s *Server) ledger(ctx context.Context, r request, into *response.Answer) error {
	b, err := s.call(ctx, r)
	if err != nil {
		return err
	}
	defer b.release()
	if err := s.decoder.Decode(b.bytes, into); err != nil {
		return s.asError(err, b)
	}
	return nil
}

// Info requests the server's ledgers and whether it is synced. The error is an *Error, or ctx's.
func (s *Server) Info(ctx context.Context) (response.Info, error) {
	b, err := s.call(ctx, request{method: "server_info"})
	if err != nil {
		return response.Info{}, err
	}
	defer b.release()
	info, err := response.DecodeInfo(b.bytes)
	if err != nil {
		return response.Info{}, s.asError(err, b)
	}
	return info, nil
}

// call sends a request once. Its error says whether ctx or the time limit ended it.
func (s *Server) call(ctx context.Context, r request) (*body, error) {
	limited, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	b, err := s.transport.call(limited, r)
	switch {
	case err == nil:
		return b, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, &response.Error{Code: response.Timeout, Server: s.name, Err: fmt.Errorf("no answer within %v", s.config.Timeout)}
	}
	return nil, s.asError(err, nil)
}

// asError makes an *Error for this server, without secrets.
func (s *Server) asError(err error, b *body) error {
	t := response.Error{Code: response.Gone, Err: err}
	if of := (*response.Error)(nil); errors.As(err, &of) {
		t = *of // a copy: callers of a broken connection share it
	}
	if b != nil {
		b.judge(&t)
	}
	t.Server, t.Err = s.name, s.redact(t.Err)
	return &t
}

// Close closes the connections, and waits for the goroutines that use them.
func (s *Server) Close() error { return s.transport.close() }
