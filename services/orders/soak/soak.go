// Package soak keeps an order gateway busy and holds it to what it promises: readers ask for orders over
// keep-alive connections that many accounts share, while writers change the same orders by SQL and others are
// submitted, and package history judges every answer. A PostgreSQL can be killed and restarted meanwhile.
//
//	DYNO_TESTS=all go test ./services/orders/soak -run TestGateway -reads 1000000 -v
//
// It knows the gateway by its HTTP API and the database by its tables only, so any program with the API can be
// soaked. It measures nothing but, for the record, how soon a gateway recovers; what decides is what was answered,
// never how long it took.
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

// patience bounds every wait for what must come; it is reached only when something is wrong.
const patience = 2 * time.Minute

// Config says what is soaked and how. What is 0 is as the comment says.
type Config struct {
	URL     string                      // of the gateway, http://HOST:PORT
	DSN     string                      // of its database, whose schema is there
	Token   func(account string) string // makes a token that is good for the whole run
	Foreign int                         // status of another account's order, 404 or 403; 0: 404

	Reads    int    // of single orders, at least, that are answered; 0: 20,000
	Readers  int    // connections for them, of which every other one pipelines; 0: 12
	Writers  int    // connections to the database; 0: 2
	Senders  int    // that submit orders; 0: 2
	Listers  int    // 0: 1
	Accounts int    // 0: 20
	Rows     int    // that are there at the beginning; 0: 2,000
	Hot      int    // rows beside them that everybody reads and writes; 0: 16
	Seed     uint64 // of all that is random here; what the machine makes of it differs

	Restart     func(ctx context.Context) error  // kills the database and returns when it is back at the same DSN; nil: it stays up
	Connections int                              // that the gateway may have to the database once all is quiet; 0: any number
	StopAtFirst bool                             // ends the run when something is wrong
	Log         func(format string, args ...any) // nil: no progress
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

// run is one Run.
type run struct {
	Config
	history *history.History
	address string // of the gateway, HOST:PORT
	prefix  string // of the client order ids of this run
	tokens  map[string]string
	http    *http.Client
	outage  *outage
	half    chan struct{} // closed when half of the reads are done

	reads     atomic.Int64
	keys      atomic.Int64 // of the tail, given out
	commits   atomic.Int64
	rollbacks atomic.Int64
	broken    atomic.Int64 // connections and requests that broke off
	left      int          // connections of the gateway at the end
}

// Run soaks a gateway. The error says what is wrong with it, or why that could not be found out; in the first case
// there is a summary, too.
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
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: patience}}
	r.history.Foreign = c.Foreign
	for i := range c.Accounts {
		account := history.TailKey(i).Account(c.Accounts)
		r.tokens[account] = c.Token(account)
	}
	return r, nil
}

// wrong says what is wrong with the answers so far.
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
	serving, stop := context.WithCancel(ctx) // until the clients have come to an end
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

// done reports whether clients are to come to an end.
func (r *run) done() bool {
	if r.StopAtFirst && !r.history.OK() {
		return true
	}
	return r.reads.Load() >= int64(r.Reads) && (r.Restart == nil || r.outage.over())
}

// count adds reads that were answered.
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

// restart kills the database once half of the reads are done, and waits until all clients are served again.
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
	case <-time.After(patience):
		return fmt.Errorf("%d of the clients are not served again %v after the database came back", r.outage.waiting(), patience)
	case <-ctx.Done():
		return nil
	}
}

// pause waits; the error says that there is no time for that.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
