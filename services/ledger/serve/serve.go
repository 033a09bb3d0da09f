// Package serve answers queries about stored ledgers over HTTP: JSON-RPC with the methods, shapes
// and errors of rippled (POST /), the same over WebSocket (GET /), and a few plain resources for
// curl (GET /api/...).
//
//	s := serve.New(serve.Config{Store: st})
//	err := s.Warm(ctx)    // before readiness
//	http.Serve(l, s)
//	s.Stored(ledgers...)  // after each batch that is durable
//	s.Close(ctx)          // after the HTTP server
//
// The methods are ledger, tx, account_tx, server_info and ping, in api_version 1 and 2. As rippled
// does, it answers errors with status 200 and result.error. Transactions are sent in binary, which
// is the form that can be proved, or decoded (services/ledger/xrpl/xrpljson), as the request asks.
//
// "validated" here means the newest stored ledger. All stored ledgers have been proved as far as
// the sync was asked to.
//
// The newest ledgers are kept rendered behind an atomic pointer, so that readers of the tip take no
// lock and read no disk. Other requests read the store, at most Config.Reads of them concurrently;
// the rest wait, or receive tooBusy. Bodies and pages are bounded.
//
// It is not for streams (services/ledger/mirror) and holds no keys. Its goroutines are those of
// WebSocket connections, which Close ends.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"dyno/parts/unrouted"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
	"dyno/services/ledger/xrpl/history"
)

// Store is the source of answers: *store.Store.
type Store interface {
	Stored() history.Set
	Indexed() history.Set // stored ledgers that AccountTransactions finds
	Ledger(index uint32, into *xrpl.Ledger) error
	ByHash(xrpl.Hash) (uint32, error)
	Transaction(id xrpl.Hash) (index.Place, error)
	AccountTransactions(account xrpl.AccountID, from, to uint32, marker *index.Place, limit int, forward bool) ([]index.Place, *index.Place, error)
}

// Config configures a server. The zero values are the documented defaults.
type Config struct {
	Store Store

	Hot      int            // ledgers kept rendered; 0: 32, two minutes of the tip
	HotBytes int64          // maximum bytes of rendered ledgers, except for the newest one; 0: 64 MiB
	Reads    int            // maximum of concurrent requests that read the store; 0: 64
	Network  func() *uint32 // id of the network, nil while it is not known; nil: it is not known
	Log      *slog.Logger   // log of internal errors; nil: discarded
	Now      func() time.Time
}

func (c Config) withDefaults() Config {
	c.Hot, c.HotBytes, c.Reads = cmp.Or(c.Hot, 32), cmp.Or(c.HotBytes, 64<<20), cmp.Or(c.Reads, 64)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Network == nil {
		c.Network = func() *uint32 { return nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Server is an http.Handler.
type Server struct {
	config  Config
	hot     *hot
	reads   chan struct{} // holds a token per request that reads the store
	started time.Time
	mux     *http.ServeMux
	sockets *sockets
}

// New makes a server. It is not ready before Warm.
func New(c Config) *Server {
	c = c.withDefaults()
	s := &Server{config: c, reads: make(chan struct{}, c.Reads), started: c.Now(), mux: http.NewServeMux(), sockets: newSockets()}
	s.hot = &hot{store: c.Store, count: c.Hot, bytes: c.HotBytes}
	s.hot.view.Store(&view{})
	s.mux.HandleFunc("POST /{$}", s.rpc)
	s.mux.HandleFunc("GET /{$}", s.root)
	s.mux.HandleFunc("GET /api/ledger/{ledger}", s.getLedger)
	s.mux.HandleFunc("GET /api/tx/{hash}", s.getTransaction)
	s.mux.HandleFunc("GET /api/accounts/{account}/transactions", s.getAccount)
	unrouted.Refuse(s.mux, func(w http.ResponseWriter, status int, text string) {
		f := answer.ErrUnknownMethod.Saying(text)
		f.Status = status
		s.refuse(w, f)
	})
	return s
}

// ServeHTTP answers.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Warm reads and renders the newest ledgers. Until then Ready returns an error.
func (s *Server) Warm(ctx context.Context) error {
	stored := s.config.Store.Stored()
	left := s.config.Hot
	for i := len(stored) - 1; i >= 0 && left > 0; i-- {
		for index := stored[i].To; index >= stored[i].From && left > 0; index, left = index-1, left-1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			var l xrpl.Ledger
			if err := s.config.Store.Ledger(index, &l); err != nil {
				return fmt.Errorf("rendering the newest ledgers: %w", err)
			}
			if err := s.hot.add(&l); err != nil {
				return fmt.Errorf("rendering the newest ledgers: %w", err)
			}
		}
	}
	s.hot.warmed()
	return nil
}

// Ready returns why requests should not be sent yet.
func (s *Server) Ready(context.Context) error {
	if !s.hot.view.Load().warm {
		return errors.New("the newest ledgers are still being rendered")
	}
	return nil
}

// Stored says that ledgers are durable, in any order. It copies what it keeps.
func (s *Server) Stored(ledgers ...*xrpl.Ledger) error { return s.hot.add(ledgers...) }

// maxReadWait is the longest wait of a request to read the store; then it gets tooBusy.
const maxReadWait = 5 * time.Second

// turn waits until a request may read the store; done ends its turn.
func (s *Server) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.reads <- struct{}{}:
		return func() { <-s.reads }, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, maxReadWait)
	defer cancel()
	select {
	case s.reads <- struct{}{}:
		return func() { <-s.reads }, nil
	case <-ctx.Done():
		return nil, answer.ErrTooBusy
	}
}

// page returns a ledger from the newest ones, or from the store.
func (s *Server) page(ctx context.Context, index uint32) (*answer.Page, error) {
	if p := s.hot.view.Load().pages[key{index: index}]; p != nil {
		return p, nil
	}
	done, err := s.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.read(index)
}

// read reads a ledger from the store. The caller must hold a turn.
func (s *Server) read(index uint32) (*answer.Page, error) {
	var l xrpl.Ledger
	if err := s.config.Store.Ledger(index, &l); err != nil {
		return nil, err
	}
	return answer.NewPage(l)
}

func (s *Server) pageByHash(ctx context.Context, h xrpl.Hash) (*answer.Page, error) {
	if p := s.hot.view.Load().pages[key{hash: h}]; p != nil {
		return p, nil
	}
	index, err := s.config.Store.ByHash(h)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, index)
}

// newest returns the newest ledger of a view.
func (s *Server) newest(ctx context.Context, v *view) (*answer.Page, error) {
	index := v.newest()
	if index == 0 {
		return nil, store.ErrMissing
	}
	return s.page(ctx, index)
}
