package fleet

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/time/rate"
)

const (
	// starting bounds the start of the NATS server.
	starting = 20 * time.Second

	// handshake is the time in which a program that connects has to prove that it has the secret, so
	// that others find a place.
	handshake = 2 * time.Second
)

// startServer starts a NATS server that only this process and other nodes can use: its ports are on
// loopback, of which that for clients, without which it would start no routes, takes one password,
// and at that for nodes they prove that they have the secret. Others are given the address
// advertised for it.
func startServer(ctx context.Context, o Options, known password, advertised string) (*server.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	secured, err := mutualTLS(o.Secret)
	if err != nil {
		return nil, err
	}
	routes := make([]*url.URL, len(o.Routes))
	for i, r := range o.Routes {
		routes[i] = &url.URL{Scheme: "nats-route", Host: r}
	}
	s, err := server.NewServer(&server.Options{
		ServerName: o.Node, Host: "127.0.0.1", Port: server.RANDOM_PORT, CustomClientAuthentication: known,
		NoSigs: true, NoSystemAccount: true,
		MaxPayload: maxPayload, MaxConn: 8, MaxPending: 16 * maxPayload,
		Cluster: server.ClusterOpts{
			Name: "arena", Host: "127.0.0.1", Port: server.RANDOM_PORT, Advertise: advertised,
			TLSConfig: secured, TLSTimeout: handshake.Seconds(),
			NoAdvertise: true, // of the port for clients
			PoolSize:    -1,   // one connection for each pair of nodes carries all
			// A machine that vanished is noticed about when the directory drops its rooms.
			PingInterval: beat, MaxPingsOut: silence,
		},
		Routes: routes,
	})
	if err != nil {
		return nil, err
	}
	log := &natsLog{log: o.Log, limit: rate.NewLimiter(rate.Every(10*time.Second), 20)}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	for !s.ReadyForConnections(100 * time.Millisecond) {
		err := ctx.Err()
		if fatal := log.fatal.Load(); fatal != nil {
			err = errors.New(*fatal)
		}
		if err != nil {
			s.Shutdown()
			s.WaitForShutdown()
			return nil, err
		}
	}
	return s, nil
}

// password admits this process to its own server.
type password string

// Check is of server.Authentication.
func (p password) Check(c server.ClientAuthentication) bool {
	return subtle.ConstantTimeCompare([]byte(c.GetOpts().Password), []byte(p)) == 1
}

// certified is the name in the certificate of all nodes.
const certified = "arena-fleet"

// mutualTLS derives from the secret one certificate, the same on each node, which is the only one
// that both ends of a connection accept. So a program without the secret neither joins nor listens.
func mutualTLS(secret []byte) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, certified, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: certified}, DNSNames: []string{certified},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: certified,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// natsLog passes on what NATS logs. A node that is away is no failure of this one, so its errors
// are warnings; and it is tried every second, so they are limited.
type natsLog struct {
	log   *slog.Logger
	limit *rate.Limiter
	fatal atomic.Pointer[string]
}

func (l *natsLog) Errorf(format string, v ...any) { l.Warnf(format, v...) }
func (l *natsLog) Warnf(format string, v ...any) {
	if l.limit.Allow() {
		l.log.Warn("nats: " + fmt.Sprintf(format, v...))
	}
}
func (l *natsLog) Noticef(format string, v ...any) { l.log.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (l *natsLog) Debugf(string, ...any)           {}
func (l *natsLog) Tracef(string, ...any)           {}

// Fatalf does not end the process: Start returns the error.
func (l *natsLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.fatal.Store(&text)
}
