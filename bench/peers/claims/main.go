// Claims is ordersd with what is claimed to make it faster: a pool of workers that
// answers requests, behind a channel or a ring, counters that are a cache line each, and json/v2.
// The scenarios orders-claims and orders-claims-tuned compare its variants.
//
//	claims serve --dispatch ring --workers 256 --assembly tuned ...
//	claims serve --counters padded ...
//	claims serve --json v2 ...
//
// It takes the flags and settings of ordersd serve, too, and without its own flags it is ordersd.
// With a pool or counters all requests go through the chain of their route: event loops begin no
// queries by themselves. The counters count beside ordersd's own, so compare padded with packed. It
// is not for use: ordersd is.
//
// The command owns the pool's workers, which end after the service.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/pflag"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/postgres/keeper"
	"dyno/parts/refusal"
	"dyno/services/orders"
	"dyno/services/orders/encode"
	"dyno/services/orders/gateway"
	"dyno/services/orders/web"
)

func main() {
	keeper.Main()
	var c claims
	code := command.Run(context.Background(), c.service(), nil, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	c.close()
	os.Exit(code)
}

// claims is what ordersd is changed by.
type claims struct {
	dispatch, counting, json string
	workers                  int

	pool     *pool          // nil: the goroutine that read a request answers it
	counters counters       // nil: none
	encoder  encode.Encoder // nil: the seam json's
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
		if c.pool != nil || c.counters != nil {
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
	return next
}
