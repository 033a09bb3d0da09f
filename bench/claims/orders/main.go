// Orders is ordersd with what is claimed to make it faster: a pool of workers that answers
// requests, behind a channel or a ring, counters that are a cache line each, json/v2, and
// admission by a fixed limit or one that adapts to the latency it sees. The scenarios
// orders-claims, orders-claims-tuned and orders-overload compare its variants.
//
//	orders serve --dispatch ring --workers 256 --assembly tuned ...
//	orders serve --counters padded ...
//	orders serve --json v2 ...
//	orders serve --admission aimd --admit 1024 --target 10ms --max-wait 10ms ...
//
// It takes the flags and settings of ordersd serve, too, and without its own flags it is ordersd.
// With a pool, counters or admission all requests go through the chain of their route: event loops
// begin no queries by themselves. The counters count beside ordersd's own, so compare padded with
// packed. It is not for use: ordersd is.
//
// The command owns the pool's workers, which end after the service.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"dyno/bench/claims/orders/limiter"
	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/refusal"
	"dyno/services/orders"
	"dyno/services/orders/encode"
	"dyno/services/orders/gateway"
	"dyno/services/orders/postgres"
	"dyno/services/orders/web"
)

func main() {
	postgres.KeeperMain()
	var c claims
	code := command.Run(context.Background(), c.service(), nil, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	c.close()
	os.Exit(code)
}

// claims is what ordersd is changed by.
type claims struct {
	dispatch, counting, json string
	workers                  int
	admission                admission

	pool     *pool                           // nil: the goroutine that read a request answers it
	counters counters                        // nil: none
	encoder  encode.Encoder                  // nil: the seam json's
	limiter  func(admission) limiter.Limiter // nil: no admission
}

// Implementations by the values of the flags; "direct", "none" and "seam" are ordersd's own.
var (
	pools    = map[string]string{"direct": "", "channel": "buffered", "ring": "ring"}
	counting = map[string]func() counters{
		"none":   func() counters { return nil },
		"packed": func() counters { return new(packed) },
		"padded": func() counters { return new(padded) },
	}
	encoders = map[string]encode.Encoder{"seam": nil, "v2": encode.Documents(appendV2)}
)

// service is ordersd's with the flags of claims.
func (c *claims) service() daemon.Service {
	s := orders.ServiceWith(func(o *gateway.Config) {
		if c.pool != nil || c.counters != nil || c.limiter != nil {
			o.Around = c.around
		}
		o.Encoder = c.encoder
	})
	declare, start := s.Flags, s.Start
	s.Flags = func(set *pflag.FlagSet) {
		declare(set)
		set.StringVar(&c.dispatch, "dispatch", "direct", "`QUEUE` of the pool of workers that answers requests: channel, ring, or direct for no pool")
		set.IntVar(&c.workers, "workers", 0, "workers of the pool, 1 to 10000; 0 means two for each core")
		set.StringVar(&c.counting, "counters", "none", "`LAYOUT` of further counters of requests: packed, padded or none")
		set.StringVar(&c.json, "json", "seam", "`LIBRARY` that writes answers in JSON: v2 (json/v2), or seam for that of the seam json")
		set.StringVar(&c.admission.kind, "admission", "none", "`LIMIT` of the concurrent requests of each route: fixed, aimd (adapts to their latency) or none")
		set.IntVar(&c.admission.most, "admit", 1024, "concurrent requests that --admission lets in at most")
		set.DurationVar(&c.admission.maxWait, "max-wait", 200*time.Millisecond, "wait of a request for --admission; above it 503")
		set.DurationVar(&c.admission.target, "target", 50*time.Millisecond, "latency above which --admission aimd lets in fewer")
	}
	s.Start = func(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
		if err := c.open(); err != nil {
			return daemon.Running{}, daemon.Usage(err)
		}
		return start(ctx, env)
	}
	return s
}

// open starts what the flags ask for.
func (c *claims) open() error {
	name, err := refusal.Pick("dispatch", pools, c.dispatch)
	if err != nil {
		return err
	}
	newCounters, err := refusal.Pick("counters", counting, c.counting)
	if err != nil {
		return err
	}
	if c.encoder, err = refusal.Pick("json", encoders, c.json); err != nil {
		return err
	}
	if c.limiter, err = refusal.Pick("admission", limiters, c.admission.kind); err != nil {
		return err
	}
	if err := c.admission.check(); err != nil && c.limiter != nil {
		return err
	}
	if c.workers < 0 || c.workers > 10_000 {
		return fmt.Errorf("--workers is %d; it is 0 to 10000", c.workers)
	}
	c.counters = newCounters()
	if name != "" {
		c.pool, err = newPool(name, cmp.Or(c.workers, 2*runtime.GOMAXPROCS(0)), room)
	}
	return err
}

func (c *claims) close() {
	if c.pool != nil {
		c.pool.close()
	}
}

// around is the middleware of each route.
func (c *claims) around(next web.Handler) web.Handler {
	if c.pool != nil {
		next = c.pool.dispatched(next)
	}
	if c.counters != nil {
		next = counted(c.counters, next)
	}
	if c.limiter != nil {
		next = admitted(c.limiter(c.admission), next)
	}
	return next
}
