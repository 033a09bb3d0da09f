// Package release tries a second version of the gateway on the requests of the first: as a shadow, which gets
// copies of reads and whose answers are compared and thrown away, or as a canary, which answers the requests of a
// share of the accounts, a larger one in each stage, until it has them all or is rolled back by rule.
//
// It is not a load balancer, and deploys nothing: it is told the second version's URL, and that is all it knows of
// it. Both versions work on the same database. When nothing is being released, a request costs one load more.
//
// New starts the goroutines that send copies and the one that ends periods; Close waits for them. A canary's
// requests run on their callers' goroutines.
package release

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"dyno/services/orders/web"
)

// Options configure a Release. The zero value is the documented default.
type Options struct {
	Client  *http.Client  // reaches second versions; its redirects are not followed; nil: one of its own
	Period  time.Duration // after which a canary is judged; 0: 10 s
	Timeout time.Duration // of a request to the second version, with its body; 0: 2 s
	Rules   Rules
	Log     *slog.Logger // nil: none
}

// Release is made by New.
type Release struct {
	client  *http.Client
	period  time.Duration
	timeout time.Duration
	rules   Rules
	log     *slog.Logger
	zstd    *zstd.Decoder

	course atomic.Pointer[course] // where requests go; nil: to the stable version
	room   chan struct{}          // holds one for each request that the second version is answering
	copies chan copied

	mu        sync.Mutex
	stage     Stage
	last      *course // also after it ended, for who asks
	latest    Period  // the last one that was over
	decisions []Decision

	began chan struct{} // holds one when a period is to begin anew
	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

const (
	shadowWorkers = 4    // copies sent at once: each waits for an answer, so this is also the load of a shadow
	shadowQueue   = 256  // copies that wait, of at most maxCopied bytes each: 16 MiB
	canaryRoom    = 1024 // requests that wait for a canary; beyond, the stable version answers
)

// course is where requests go, from one decision to the next.
type course struct {
	mode   Mode
	base   *url.URL
	share  float64
	stable arm
	second arm
	tally  *tally
}

// New starts one that passes everything to the stable version.
func New(o Options) (*Release, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxAnswer), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("preparing to read zstd: %w", err)
	}
	r := &Release{
		client:  newClient(o.Client),
		period:  positive(o.Period, 10*time.Second),
		timeout: positive(o.Timeout, 2*time.Second),
		rules:   o.Rules.withDefaults(),
		log:     o.Log,
		zstd:    decoder,
		room:    make(chan struct{}, canaryRoom),
		copies:  make(chan copied, shadowQueue),
		stage:   Stage{Mode: Off},
		began:   make(chan struct{}, 1),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	for range shadowWorkers {
		r.tasks.Go(r.sendCopies)
	}
	r.tasks.Go(r.periods)
	return r, nil
}

// Wrap returns a Handler that gives the second version its share, and the rest to next, the stable version.
func (r *Release) Wrap(next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		switch c := r.course.Load(); {
		case c == nil:
			next.Serve(ctx, req, resp)
		case c.mode == Shadow:
			r.shadow(ctx, c, next, req, resp)
		default:
			r.canary(ctx, c, next, req, resp)
		}
	})
}

// Idle reports whether nothing is being released: then Wrap's Handler does what the stable version does, and nothing
// more.
func (r *Release) Idle() bool { return r.course.Load() == nil }

// Close passes everything to the stable version again, and waits until no copy is under way.
func (r *Release) Close() {
	r.course.Store(nil)
	r.stop()
	r.tasks.Wait()
	r.zstd.Close()
	r.client.CloseIdleConnections()
}

var (
	errRunning = errors.New("a release is under way: roll it back first")
	errNone    = errors.New("no release is under way: start one")
	errLast    = errors.New("the release is in its last stage: replace the stable version, then roll back")
)

// Start begins a release: a shadow of a share of the reads, or a canary for a share of the accounts. 0: 0.01.
func (r *Release) Start(target string, mode Mode, share float64) error {
	base, err := parseTarget(target)
	if err != nil {
		return err
	}
	if mode != Shadow && mode != Canary {
		return fmt.Errorf("mode %.20q is neither %q nor %q", mode, Shadow, Canary)
	}
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("fraction %v is not between 0 and 1", share)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx.Err() != nil:
		return errors.New("the gateway is stopping")
	case r.stage.Mode != Off:
		return errRunning
	}
	r.last, r.latest = nil, Period{}
	r.turn(begin(mode, positive(share, stages[0])), base)
	r.decide(Start, "operator", "asked for")
	return nil
}

// Promote goes on to the next stage.
func (r *Release) Promote() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stage.Mode == Off {
		return errNone
	}
	next, a := promote(r.stage)
	if a == Complete {
		return errLast
	}
	r.turn(next, r.last.base)
	r.decide(a, "operator", "asked for")
	return nil
}

// Rollback gives everything to the stable version.
func (r *Release) Rollback() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stage.Mode == Off {
		return errNone
	}
	r.turn(Stage{Mode: Off}, nil)
	r.decide(Rollback, "operator", "asked for")
	return nil
}

// turn sends requests where a stage wants them, and begins a period.
func (r *Release) turn(s Stage, base *url.URL) {
	r.stage = s
	if s.Mode == Off {
		r.course.Store(nil)
		return
	}
	c := &course{mode: s.Mode, base: base, share: s.Share(), tally: new(tally)}
	if r.last != nil {
		c.tally = r.last.tally
	}
	c.stable.reset()
	c.second.reset()
	r.last = c
	r.course.Store(c)
	select {
	case r.began <- struct{}{}:
	default:
	}
}

// periods ends them.
func (r *Release) periods() {
	timer := time.NewTimer(r.period)
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.began:
		case <-timer.C:
			r.endPeriod()
		}
		timer.Reset(r.period)
	}
}

func (r *Release) endPeriod() {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.course.Load()
	if c == nil {
		return
	}
	p := Period{Stable: c.stable.sum(), Second: c.second.sum()}
	next, a, reason := r.rules.judge(r.stage, p)
	if a == More {
		return
	}
	r.latest = p
	c.stable.reset()
	c.second.reset()
	if a == Promote || a == Rollback {
		r.turn(next, c.base)
	} else {
		r.stage = next
	}
	if c.mode == Canary {
		r.decide(a, "rule", reason)
	}
}
