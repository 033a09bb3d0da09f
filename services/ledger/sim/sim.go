// Package sim simulates servers of the XRP Ledger for clients that download history: a rippled or a
// Clio, with JSON-RPC and WebSocket, their limits, their faults, and the streams that announce new
// ledgers. It serves a chain (sim/chain) within limits (sim/limits), and counts each fault
// (sim/fault) that it has really sent, so that a test can compare a client's result with the truth.
//
// It is not a ledger: it executes no transactions and has no state, and of the many methods it has
// those that history needs. It is built to cost little, because it shares a machine with the client
// that is measured: answers are rendered in advance, and a request copies only the few bytes that
// differ.
//
// A Sim owns the goroutines that serve; Close waits for them.
package sim

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/refusal"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/sim/limits"
	"dyno/services/ledger/xrpl/history"
)

// Config says what to simulate. Its zero value is a faultless rippled without limits on loopback.
type Config struct {
	chain.Spec
	// Chain replaces the Sim's own, so that several servers agree. The Sim does not close it.
	Chain *chain.Chain

	Listen   string      // "": 127.0.0.1:0
	Software string      // Rippled or Clio, whose shapes differ; "": the one that Limits implies
	Limits   string      // name of limits.New; "": none
	Complete history.Set // ledgers that it has; nil: all of the chain

	Faults fault.Rates
	// Seed of the dice; 0: Seed. Servers of one chain with different seeds have different faults.
	FaultSeed uint64
	Delay     time.Duration // added to every answer, as distance does
	StallFor  time.Duration // duration of a stalled request; 0: 10 minutes

	TipEvery time.Duration // interval at which the chain grows by a ledger; 0: never

	Certificate *tls.Certificate // for TLS; nil: none, or a generated one if SelfSigned
	SelfSigned  bool
	MaxTLS      uint16 // highest version of TLS, such as tls.VersionTLS12; 0: no limit
	NoHTTP2     bool

	Now func() time.Time // clock of the limits; nil: time.Now
}

const DefaultStall = 10 * time.Minute

func (c *Config) complete() error {
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:0")
	if c.Software == "" {
		c.Software = Rippled
		if c.Limits == limits.Clio {
			c.Software = Clio
		}
	}
	c.FaultSeed = cmp.Or(c.FaultSeed, c.Seed)
	c.StallFor = cmp.Or(c.StallFor, DefaultStall)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Forged = cmp.Or(c.Faults[fault.Forged], c.Forged)
	switch {
	case c.Software != Rippled && c.Software != Clio:
		return refusal.Unknown("software", c.Software, Rippled, Clio)
	case c.Delay < 0 || c.StallFor < 0 || c.TipEvery < 0:
		return errors.New("a time is below zero")
	}
	return c.Faults.Check()
}

// Check returns an error when there can be no such server, which Start finds, too.
func (c Config) Check() error {
	if err := c.complete(); err != nil {
		return err
	}
	if _, err := limits.New(c.Limits, time.Now); err != nil {
		return err
	}
	return c.Spec.Check()
}

// Sim is one server.
type Sim struct {
	config      Config
	chain       *chain.Chain
	own         bool // the chain is its own
	dice        fault.Dice
	limiter     limits.Limiter
	grown       uint32 // index from which on ledgers are newer than the server
	synced      atomic.Bool
	attempts    attempts
	connections atomic.Uint32 // WebSockets so far
	tally       fault.Tally
	scratch     sync.Pool // *[]byte, for answers from the file

	listener net.Listener
	server   *http.Server
	scheme   string // "" or "s"
	trusted  *x509.CertPool
	pem      []byte
	ctx      context.Context // ends when the Sim does
	stop     context.CancelFunc
	work     sync.WaitGroup
	door     sync.Mutex
	closing  bool  // no handler may start any more
	served   error // why it stopped serving before Close; set before work is done
	streams  streams
}

// Start makes a chain, unless Config has one, and serves it. Requests for later ledgers wait.
func Start(c Config) (*Sim, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	limiter, err := limits.New(c.Limits, c.Now)
	if err != nil {
		return nil, err
	}
	s := &Sim{config: c, chain: c.Chain, limiter: limiter, dice: fault.Dice{Seed: c.FaultSeed, Rates: c.Faults}}
	s.scratch.New = func() any { return new([]byte) }
	s.synced.Store(true)
	if s.chain == nil {
		if s.chain, err = chain.New(c.Spec); err != nil {
			return nil, err
		}
		s.own = true
	}
	if err := s.listen(); err != nil {
		if s.own {
			err = errors.Join(err, s.chain.Close())
		}
		return nil, err
	}
	if all := s.chain.All(); len(all) > 0 {
		s.grown = all[len(all)-1].To + 1
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.serve()
	s.work.Go(func() { s.publish(s.ctx) })
	if c.TipEvery > 0 {
		s.work.Go(func() { s.tick(s.ctx) })
	}
	return s, nil
}

// URL is its address for JSON-RPC.
func (s *Sim) URL() string { return "http" + s.scheme + "://" + s.listener.Addr().String() }

// Addr is its listening address.
func (s *Sim) Addr() net.Addr { return s.listener.Addr() }

// PEM is the generated certificate; nil without SelfSigned.
func (s *Sim) PEM() []byte { return s.pem }

// WS is its address for WebSockets: the same port.
func (s *Sim) WS() string { return "ws" + s.scheme + "://" + s.listener.Addr().String() }

// Chain is the chain that it serves.
func (s *Sim) Chain() *chain.Chain { return s.chain }

// Made waits until all configured ledgers are made.
func (s *Sim) Made(ctx context.Context) error { return s.chain.Made(ctx) }

// Trusted are the certificates to trust; nil without TLS, or with a configured certificate.
func (s *Sim) Trusted() *x509.CertPool { return s.trusted }

// Injected returns the counts so far.
func (s *Sim) Injected() fault.Injected { return s.tally.Copy() }

// SetSynced makes the server lose the network, or find it again.
func (s *Sim) SetSynced(synced bool) { s.synced.Store(synced) }

// Close ends all connections and waits for their handlers. It closes the chain, too, if that is its
// own. It returns why the server had stopped before Close, if it had.
func (s *Sim) Close() error {
	s.door.Lock()
	s.closing = true
	s.door.Unlock()
	s.stop()
	s.server.Close()
	s.work.Wait()
	if s.own {
		return errors.Join(s.served, s.chain.Close())
	}
	return s.served
}

type attempts struct {
	mu    sync.Mutex
	count map[uint32]uint32
}

// maxAttempts bounds the number of ledgers whose attempts are counted. It is more than a chain has.
const maxAttempts = 2 * chain.MaxLedgers

// next is 0 for the first attempt.
func (a *attempts) next(index uint32) uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil || len(a.count) >= maxAttempts {
		a.count = map[uint32]uint32{}
	}
	n := a.count[index]
	a.count[index] = n + 1
	return n
}
