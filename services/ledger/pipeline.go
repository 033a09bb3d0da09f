package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/progress"
	"dyno/services/ledger/backfill"
	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/signing"
	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl/history"
)

// home is a job's data folder, opened with the job's settings.
type home struct {
	env   *daemon.Env
	set   settings
	store *store.Store
}

func openHome(env *daemon.Env) (h home, err error) {
	h.env, h.set = env, assembly.Bind[settings](env.Choice)
	h.store, err = store.Open(env.Data, store.Options{Accounts: h.set.Accounts, Compression: h.set.Compression})
	return h, err
}

// pipeline is what sync and follow fill a store with: the servers, the store, and what is counted.
type pipeline struct {
	home
	request request
	servers []*servers.Server
	pool    *servers.Pool
	watch   *backfill.Watch
	config  backfill.Config // without Sink and Trusted
	writing store.WriterOptions
	windows *progress.Writer // nil: not asked for
	bar     *progress.Bar    // nil: none is shown
	bound   bottleneck
	waits   atomic.Pointer[string] // for what, when that is none of the limits; nil: for nothing

	trustSource string // source of trust in the hash that the range is linked to

	cancel context.CancelFunc // ends the asking for what servers have
	runs   sync.WaitGroup
}

// open opens the servers of a request, which is complete, to fill the store of a folder from them.
func (r *request) open(ctx context.Context, h home) (p *pipeline, err error) {
	p = &pipeline{home: h, request: *r, watch: backfill.NewWatch()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
			p = nil
		}
	}()
	level, err := trust.ParseLevel(r.level)
	if err != nil {
		return p, daemon.Usage(err)
	}
	for _, url := range r.servers {
		s, err := servers.Open(ctx, client(p.set, url))
		if err != nil {
			return p, daemon.Usage(fmt.Errorf("--server: %w", err))
		}
		p.servers = append(p.servers, s)
	}
	p.pool = servers.NewPool(servers.PoolConfig{Servers: p.servers})
	p.config = p.configure(level)
	asked := r.progress()
	asked.Sample = p.config.Sample
	p.writing = store.WriterOptions{Progress: asked.After(p.store.Progress()), Batch: p.set.StoreBatch}
	p.bound.begin(p)
	if err := p.measure(); err != nil { // from here on it may be looked at
		return p, err
	}
	refreshing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	p.runs.Go(func() { p.pool.Run(refreshing) })
	p.runs.Go(func() { p.bound.run(refreshing, p) })
	return p, nil
}

// client makes a server's settings of an assembly. Within a shard a request ends with the shard's
// time; the client's limit is for what belongs to none, and must not come before it.
func client(s settings, url string) servers.Config {
	return servers.Config{URL: url, Decoder: s.Decoder, InFlight: s.Connections, Timeout: max(s.Backfill.Timeout, servers.DefaultTimeout)}
}

// configure makes the pipeline's settings of an assembly.
func (p *pipeline) configure(level trust.Level) backfill.Config {
	c := p.set.Backfill
	_, c.Signatures = signing.FastestChecker()
	c.Servers, c.Inbox, c.Level, c.Watch, c.Wrong, c.Mark = p.pool, p.store, level, p.watch, p.wrong, p.mark
	return c
}

// discover asks the servers which ledgers they have, until one answers. The error is ctx's, or the
// last one of each server.
func (p *pipeline) discover(ctx context.Context) error {
	patience, cancel := context.WithTimeoutCause(ctx, p.config.StallTimeout, p.finder().Stalled())
	defer cancel()
	var last error
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := p.pool.Discover(patience)
		if err == nil {
			if id := p.pool.Network(); id != nil {
				p.store.SetNetwork(*id)
			}
			return nil
		}
		if patience.Err() == nil { // afterwards it says no more than that
			last = err
		}
		select {
		case <-time.After(wait):
		case <-patience.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("no server answers: %w", cmp.Or(last, context.Cause(patience)))
		}
	}
}

// wrong keeps a wrong answer as evidence.
func (p *pipeline) wrong(server string, a *response.Answer, reason error) {
	e := store.WrongAnswer{Time: time.Now(), Server: server, Index: a.Index, Reason: reason.Error(), Ledger: a.Ledger}
	if err := p.store.Evidence().Keep(e); err != nil {
		p.env.Log.Warn("a wrong answer could not be kept", "server", server, "ledger", a.Index, "error", err)
	}
}

// mark notes that a ledger has its hash and does not verify at L4.
func (p *pipeline) mark(index uint32, why error) error {
	p.env.Log.Warn("a ledger has its hash and does not verify at L4: it is stored and marked", "ledger", index, "error", why)
	return p.store.Mark(index, why.Error())
}

func (p *pipeline) close() error {
	var errs []error
	if p.bar != nil {
		p.bar.Close()
	}
	if p.pool != nil {
		p.cancel()
		p.runs.Wait()
		p.pool.Close()
	}
	for _, s := range p.servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// summary says how a sync went.
func (p *pipeline) summary(took time.Duration, span history.Range) (s summary, err error) {
	s = summary{
		Ledgers: p.watch.Ledgers.Load(), Bytes: p.watch.Bytes.Load(), Signatures: p.watch.Signatures.Load(), Refetched: p.watch.Refetched.Load(),
		Elapsed: took.Seconds(), P95: float64(p.watch.Quantile(0.95)) / 1e6, BoundBy: p.bound.whole(p).limitingResource(), Blamed: []blamed{}, Gaps: []string{}, Trusted: p.trustSource, Proved: p.store.Progress().Proof(),
	}
	if took > 0 {
		s.Rate = float64(s.Ledgers) / took.Seconds()
	}
	for _, standing := range p.pool.Report() {
		for reason, count := range standing.Faults {
			s.Blamed = append(s.Blamed, blamed{standing.Server, reason, uint64(count)})
		}
	}
	slices.SortFunc(s.Blamed, func(a, b blamed) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Reason, b.Reason))
	})
	for _, gap := range p.store.Stored().Missing(span) {
		s.Gaps = append(s.Gaps, gap.String())
	}
	s.Marks, err = p.store.Marks(span)
	s.Proved = s.But(s.Proved)
	return s, err
}
