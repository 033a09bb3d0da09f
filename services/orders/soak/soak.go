// Package soak runs an order gateway under load and checks its guarantees: readers request orders
// over keep-alive connections that many accounts share, while writers change the same orders by SQL
// and senders submit others, and package history judges every answer. PostgreSQL can be killed and
// restarted meanwhile.
//
//	DYNO_TESTS=all go test ./services/orders/soak -run TestGateway -reads 1000000 -v
//
// It uses only the gateway's HTTP API and the database's tables, so it can test any program with
// that API. It is not for measuring: it only reports how soon a gateway recovers, and judges the
// answers, never their duration.
//
// Run owns every goroutine and connection that it starts, and has ended them when it returns.
package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"dyno/services/orders/soak/history"
)

// timeout limits every wait for a required event; it is reached only when there is a fault.
const timeout = 2 * time.Minute

// Config configures a soak. A zero field means the default given.
type Config struct {
	URL     string                      // of the gateway, http://HOST:PORT
	DSN     string                      // of its database, which has the schema
	Token   func(account string) string // returns a token valid for the whole run
	Foreign int                         // status of another account's order, 404 or 403; 0 means 404

	Reads    int    // minimum number of answered reads of single orders; 0 means 20,000
	Readers  int    // connections for reads, every other one pipelined; 0 means 12
	Writers  int    // connections to the database; 0 means 2
	Senders  int    // clients that submit orders; 0 means 2
	Listers  int    // clients that read lists; 0 means 1
	Accounts int    // 0 means 20
	Rows     int    // initial rows; 0 means 2,000
	Hot      int    // additional rows that all readers and writers use; 0 means 16
	Seed     uint64 // of all random choices; the timing still differs

	// Restart kills the database and returns when it is up again at the same DSN; nil means that it
	// stays up.
	Restart func(ctx context.Context) error
	// Connections is the gateway's maximum number of connections to the database when idle; 0 means
	// any.
	Connections int
	StopAtFirst bool                             // ends the run at the first violation
	Log         func(format string, args ...any) // nil means no progress
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value   *int
		instead int
	}{
		{&c.Foreign, http.StatusNotFound}, {&c.Reads, 20_000}, {&c.Readers, 12}, {&c.Writers, 2}, {&c.Senders, 2},
		{&c.Listers, 1}, {&c.Accounts, 20}, {&c.Rows, 2000}, {&c.Hot, 16},
	} {
		*d.value = cmp.Or(*d.value, d.instead)
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	return c
}

// run is the state of Run.
type run struct {
	Config
	history *history.History
	address string // of the gateway, HOST:PORT
	prefix  string // of this run's client order ids
	tokens  map[string]string
	http    *http.Client
	outage  *outage
	half    chan struct{} // closed after half of the reads

	reads     atomic.Int64
	keys      atomic.Int64 // used keys of the tail
	commits   atomic.Int64
	rollbacks atomic.Int64
	broken    atomic.Int64 // aborted connections and requests
	left      int          // the gateway's connections at the end
}

// Run soaks a gateway. The error describes the violations, or why they could not be determined; in
// the first case there is also a summary.
func Run(ctx context.Context, c Config) (*Summary, error) {
	r, err := newRun(c.withDefaults())
	if err != nil {
		return nil, err
	}
	defer r.http.CloseIdleConnections()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.work(ctx); err != nil {
		return nil, errors.Join(err, r.wrong())
	}
	if r.history.OK() || !r.StopAtFirst {
		if err := r.finish(ctx); err != nil {
			return nil, errors.Join(err, r.wrong())
		}
	}
	return r.summary(), r.wrong()
}

func newRun(c Config) (*run, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL such as http://127.0.0.1:8080", c.URL)
	}
	r := &run{Config: c, history: history.New(), address: u.Host, tokens: map[string]string{}, half: make(chan struct{}),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: timeout}}
	r.history.Foreign = c.Foreign
	for i := range c.Accounts {
		account := history.TailKey(i).Account(c.Accounts)
		r.tokens[account] = c.Token(account)
	}
	return r, nil
}

// wrong returns an error for the violations so far.
func (r *run) wrong() error {
	v := r.history.Verdict()
	return v.Error()
}

// work runs all clients until the reads are done, and restarts the database half-way.
func (r *run) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var clients, others sync.WaitGroup
	start := func(group *sync.WaitGroup, work func(context.Context) error) {
		group.Go(func() {
			if err := work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	r.outage = newOutage(r.Readers + r.Listers + r.Senders)
	serving, stop := context.WithCancel(ctx) // until the clients have ended
	defer stop()
	for i := range r.Writers {
		start(&others, func(ctx context.Context) error { return newWriter(r, i).work(ctx, serving.Done()) })
	}
	if r.Restart != nil {
		start(&others, func(context.Context) error { return r.restart(serving) })
	}
	for i := range r.Readers {
		start(&clients, newReader(r, i).work)
	}
	for i := range r.Listers {
		start(&clients, newLister(r, r.Readers+i).work)
	}
	for i := range r.Senders {
		start(&clients, newSender(r, r.Readers+r.Listers+i).work)
	}
	clients.Wait()
	stop()
	others.Wait()
	return context.Cause(ctx)
}

// done reports whether the clients must end.
func (r *run) done() bool {
	if r.StopAtFirst && !r.history.OK() {
		return true
	}
	return r.reads.Load() >= int64(r.Reads) && (r.Restart == nil || r.outage.over())
}

// count adds answered reads.
func (r *run) count(reads int) {
	before := r.reads.Add(int64(reads)) - int64(reads)
	after := before + int64(reads)
	if half := int64(r.Reads) / 2; before < half && after >= half {
		close(r.half)
	}
	if tenth := int64(r.Reads)/10 + 1; before/tenth != after/tenth {
		r.Log("%d of %d reads", after, r.Reads)
	}
}

// restart kills the database after half of the reads, and waits until all clients are served again.
func (r *run) restart(ctx context.Context) error {
	select {
	case <-r.half:
	case <-ctx.Done():
		return nil
	}
	if err := r.Restart(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return fmt.Errorf("restarting the database: %w", err)
	}
	r.outage.end()
	r.Log("the database is back")
	select {
	case <-r.outage.recovered:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("%d of the clients are not served again %v after the database came back", r.outage.waiting(), timeout)
	case <-ctx.Done():
		return nil
	}
}

// pause waits; the error means that ctx ended first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
