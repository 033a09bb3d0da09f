// Package release tests a second version of the gateway with the requests of the first: as a
// shadow, which receives copies of reads and whose answers are compared and discarded, or as a
// canary, which answers the requests of a share of the accounts. The share grows in stages until it
// is all of them or a rule rolls the canary back.
//
// It is not a load balancer and deploys nothing: it only receives the second version's URL. Both
// versions use the same database. Without a release, a request costs one additional atomic load.
//
// New starts the goroutines that send copies and the one that ends periods; Close waits for them. A
// canary's requests run on their callers' goroutines.
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

// Options configure a Release.
type Options struct {
	Client  *http.Client  // for second versions; it follows no redirects; nil means a new one
	Timeout time.Duration // of a request to the second version, with its body
	Rules   Rules         // for plans without others
	Log     *slog.Logger
}

// Usual are the options of every gateway.
func Usual(log *slog.Logger) Options {
	return Options{Timeout: 2 * time.Second, Rules: usual, Log: log}
}

// Release passes requests to two versions. New creates it.
type Release struct {
	client  *http.Client
	timeout time.Duration
	usual   Rules
	log     *slog.Logger
	zstd    *zstd.Decoder

	rollout     atomic.Pointer[rollout] // the current one; nil: the stable version answers
	semaphore   chan struct{}           // holds one value per request that the second version is answering
	shadowQueue chan copied

	mu        sync.Mutex
	rules     Rules // of the current release, or of the last one
	stage     Stage
	last      *rollout // kept after its end, for Status
	latest    Period   // the last complete one
	decisions []Decision
	rolled    int // releases that a rule has rolled back

	began chan struct{} // holds one value when a new period must start
	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

const (
	shadowWorkers  = 4    // concurrent copies: each waits for an answer, so this limits the load of a shadow
	maxShadowQueue = 256  // waiting copies, of at most maxCopied bytes each: 16 MiB
	maxCanary      = 1024 // concurrent requests of a canary; above it, the stable version answers
)

// rollout says where requests go, from one decision to the next.
type rollout struct {
	mode   Mode
	base   *url.URL
	share  float64
	stable versionCounter
	second versionCounter
	tally  *tally
}

// New returns a Release that passes all requests to the stable version.
func New(o Options) (*Release, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxAnswer), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("preparing to read zstd: %w", err)
	}
	r := &Release{
		client:      newClient(o.Client),
		timeout:     o.Timeout,
		usual:       o.Rules,
		rules:       o.Rules,
		log:         o.Log,
		zstd:        decoder,
		semaphore:   make(chan struct{}, maxCanary),
		shadowQueue: make(chan copied, maxShadowQueue),
		stage:       Stage{Mode: Off},
		began:       make(chan struct{}, 1),
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	for range shadowWorkers {
		r.tasks.Go(r.sendCopies)
	}
	r.tasks.Go(r.periods)
	return r, nil
}

// Wrap returns a Handler that passes the second version its share, and the rest to next (stable).
func (r *Release) Wrap(next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		switch c := r.rollout.Load(); {
		case c == nil:
			next.Serve(ctx, req, resp)
		case c.mode == Shadow:
			r.shadow(ctx, c, next, req, resp)
		default:
			r.canary(ctx, c, next, req, resp)
		}
	})
}

// Idle reports whether there is no release: Wrap's Handler then only calls the stable version.
func (r *Release) Idle() bool { return r.rollout.Load() == nil }

// RolledBack returns the number of releases that a rule has rolled back.
func (r *Release) RolledBack() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rolled
}

// Close passes all requests to the stable version again, and waits until no copy is in progress.
func (r *Release) Close() {
	r.rollout.Store(nil)
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

// Promote continues with the next stage.
func (r *Release) Promote() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stage.Mode == Off {
		return errNone
	}
	next, a := r.rules.promote(r.stage)
	if a == Complete {
		return errLast
	}
	r.turn(next, r.last.base)
	r.decide(a, "operator", "asked for")
	return nil
}

// Rollback passes all requests to the stable version.
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

// turn applies a stage, and starts a period.
func (r *Release) turn(s Stage, base *url.URL) {
	r.stage = s
	if s.Mode == Off {
		r.rollout.Store(nil)
		return
	}
	c := &rollout{mode: s.Mode, base: base, share: s.Share(), tally: new(tally)}
	if r.last != nil {
		c.tally = r.last.tally
	}
	c.stable.reset()
	c.second.reset()
	r.last = c
	r.rollout.Store(c)
	select {
	case r.began <- struct{}{}:
	default:
	}
}

func (r *Release) periods() {
	timer := time.NewTimer(r.period())
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.began:
		case <-timer.C:
			r.endPeriod()
		}
		timer.Reset(r.period())
	}
}

func (r *Release) period() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rules.Period
}

func (r *Release) endPeriod() {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.rollout.Load()
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
		if a == Rollback {
			r.rolled++
		}
		r.decide(a, "rule", reason)
	}
}
