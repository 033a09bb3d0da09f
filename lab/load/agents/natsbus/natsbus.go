// Package natsbus carries the messages of load agents over NATS: through a server inside the
// coordinator (Listen), or through servers that are already running (Connect).
//
// What the messages mean is defined in package agents. The client and the server own goroutines,
// which Close ends.
package natsbus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dyno/lab/load/agents"
	"dyno/lab/record/redact"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// retry is the pause between attempts to reach a server; connecting bounds one attempt.
	retry      = 500 * time.Millisecond
	connecting = 5 * time.Second
	// starting bounds the start of the server.
	starting = 20 * time.Second
	// leastToken and mostToken bound a token, in bytes.
	leastToken, mostToken = 16, 4096
	// maxPayload bounds a message, as NATS servers do by default.
	maxPayload = 1 << 20
)

// ErrToken means that the server does not accept the token.
var ErrToken = errors.New("the NATS server refuses the token: use the coordinator's token file")

// Bus is an agents.Network.
type Bus struct {
	conn   *nats.Conn
	server *server.Server // nil: the servers run elsewhere
	secure bool           // the server inside accepts TLS only
	closed chan struct{}
}

var _ agents.Network = (*Bus)(nil)

// ReadToken reads a token from the first line of a file.
func ReadToken(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the token file: %w", err)
	}
	token, rest, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if len(token) < leastToken || len(token) > mostToken || rest != "" {
		return "", fmt.Errorf("%s does not hold a token: one line of %d characters or more, as from: openssl rand -hex 32", file, leastToken)
	}
	return token, nil
}

// Connect connects to servers, whose URLs are separated by commas. Token may be empty if the URLs
// have other credentials. Authority is a file of certificates by which the servers' TLS is
// verified; empty: the system's authorities.
func Connect(urls, token, authority string) (*Bus, error) {
	if authority == "" {
		return connect(urls, token)
	}
	return connect(urls, token, nats.RootCAs(authority))
}

func connect(urls, token string, more ...nats.Option) (*Bus, error) {
	b := &Bus{closed: make(chan struct{})}
	options := append([]nats.Option{
		nats.Name("dyno"), nats.Timeout(connecting), nats.MaxReconnects(-1), nats.ReconnectWait(retry),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // requests report their own failures
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}, more...)
	if token != "" {
		options = append(options, nats.Token(token))
	}
	var err error
	if b.conn, err = nats.Connect(urls, options...); err != nil {
		return nil, failure(urls, err)
	}
	return b, nil
}

// Shown returns the URLs without their credentials.
func Shown(urls string) string {
	var out []string
	for u := range strings.SplitSeq(urls, ",") {
		out = append(out, redact.URL(strings.TrimSpace(u)))
	}
	return strings.Join(out, ", ")
}

func failure(urls string, err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return ErrToken
	}
	advice := ""
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		advice = "; dyno agent takes the file of its authority with --tls-ca, other commands with SSL_CERT_FILE in the environment"
	}
	return fmt.Errorf("connecting to NATS at %s: %w%s", Shown(urls), err, advice)
}

// absent are the errors of connecting where no server is, or not yet.
var absent = []error{nats.ErrNoServers, nats.ErrTimeout, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}

// Await connects as soon as a server can be reached. If none can be reached at first, it calls
// waiting once. A server that is just starting or ending may accept a connection and close it.
func Await(ctx context.Context, urls, token, authority string, waiting func()) (*Bus, error) {
	for first := true; ; first = false {
		b, err := Connect(urls, token, authority)
		if !slices.ContainsFunc(absent, func(e error) bool { return errors.Is(err, e) }) {
			return b, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retry):
		}
	}
}

// Listen starts a server at an address. The server accepts only clients that have the token and,
// if there is a certificate, only TLS.
func Listen(address, token string, certificate *tls.Certificate) (*Bus, error) {
	host, port, err := free(address)
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		Host: host, Port: port, Authorization: token, NoSigs: true, NoLog: true, NoSystemAccount: true,
		MaxPayload: maxPayload, MaxConn: agents.MostAgents + 16, MaxPending: 64 * maxPayload,
	}
	if certificate != nil {
		o.TLS, o.TLSTimeout = true, connecting.Seconds()
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("starting the NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(starting) {
		s.Shutdown()
		return nil, fmt.Errorf("the NATS server did not start at %s within %v", address, starting)
	}
	b, err := connect("", token, nats.InProcessServer(s))
	if err != nil {
		s.Shutdown()
		return nil, err
	}
	b.server, b.secure = s, certificate != nil
	return b, nil
}

// ReadCertificate reads a certificate and its key, both in PEM, from one file.
func ReadCertificate(file string) (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		return nil, fmt.Errorf("%s must hold a certificate and its key in PEM, as openssl req -x509 writes them: %w", file, err)
	}
	return &c, nil
}

// free returns the host and port of an address. It fails if the port is in use, which the NATS
// server would not report. A port of 0 is chosen by the server: another process could take one that is
// chosen here.
func free(address string) (host string, port int, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", 0, fmt.Errorf("listening for agents: %w", err)
	}
	defer l.Close()
	host, named, err := net.SplitHostPort(address)
	if named == "0" {
		return host, server.RANDOM_PORT, err
	}
	return host, l.Addr().(*net.TCPAddr).Port, err
}

// URL returns the URL of the server inside this process, with its port.
func (b *Bus) URL() string {
	a, scheme := b.server.Addr().(*net.TCPAddr), "nats"
	if b.secure {
		scheme = "tls"
	}
	return scheme + "://" + net.JoinHostPort(a.IP.String(), strconv.Itoa(a.Port))
}

// Closed returns a channel that is closed when the connection has ended for good, as it does when
// the server no longer accepts the token.
func (b *Bus) Closed() <-chan struct{} { return b.closed }

// Close closes the connection, and stops the server inside this process.
func (b *Bus) Close() {
	b.conn.FlushTimeout(time.Second)
	b.conn.Close()
	<-b.closed
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}

// Publish sends a message.
func (b *Bus) Publish(subject string, message []byte) error { return b.conn.Publish(subject, message) }

// Request sends a message and returns the answer.
func (b *Bus) Request(ctx context.Context, subject string, message []byte) ([]byte, error) {
	m, err := b.conn.RequestWithContext(ctx, subject, message)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, agents.ErrNoReceiver
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer came in time: %w", err)
	case err != nil:
		return nil, err
	}
	return m.Data, nil
}

// Subscribe calls take with each message.
func (b *Bus) Subscribe(subject string, take func(message []byte) []byte) (stop func(), err error) {
	s, err := b.conn.Subscribe(subject, func(m *nats.Msg) {
		if reply := take(m.Data); m.Reply != "" {
			m.Respond(reply)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := b.conn.FlushTimeout(connecting); err != nil { // wait until the server has registered the subscription, so that no message is missed
		return nil, err
	}
	return func() { s.Unsubscribe() }, nil
}
