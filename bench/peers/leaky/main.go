// Leaky is chaind with a planted fault: each call over HTTP leaves a goroutine behind, which was to
// warn of a slow call. Scenario chain-leak holds Dyno against it.
//
//	leaky serve --set transport=net ...
//	leaky serve --fixed --set transport=net ...
//
// It takes the flags and settings of chaind serve, too. With --fixed the goroutine ends with its
// call. Event loops do not come through the handler that leaks, hence transport=net. It is not for
// use: chaind is.
//
// The handler owns the goroutines that are left; they end with the process. Above a limit further
// calls are refused, since a leak must be found and not take the machine down.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/chain"
)

func main() {
	os.Exit(command.Run(context.Background(), leaky(), nil, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}

// leaky is chaind's service with the handler around its own.
func leaky() daemon.Service {
	s := chain.Service()
	declare, start, fixed := s.Flags, s.Start, false
	s.Flags = func(set *pflag.FlagSet) {
		declare(set)
		set.BoolVar(&fixed, "fixed", false, "without the fault: what watches a call ends with it")
	}
	s.Start = func(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
		if env.Choice.Get("transport") != "net" {
			return daemon.Running{}, daemon.Usage(errors.New("leaky needs --set transport=net: an event loop has no handler to leak in"))
		}
		running, err := start(ctx, env)
		if err == nil {
			running.Handler = &watched{next: running.Handler, log: env.Log, fixed: fixed}
		}
		return running, err
	}
	return s
}

const (
	slow     = 10 * time.Second // a call that takes as long is warned of
	mostLeft = 1 << 17          // goroutines: some 400 MB
)

// watched is a handler whose slow calls are warned of.
type watched struct {
	next  http.Handler
	log   *slog.Logger
	fixed bool
	left  atomic.Int64 // goroutines
}

func (w *watched) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if w.left.Load() >= mostLeft {
		http.Error(to, "too many goroutines are left over", http.StatusServiceUnavailable)
		return
	}
	w.left.Add(1)
	answered := make(chan struct{})
	go w.watch(r.URL.Path, answered)
	w.next.ServeHTTP(to, r)
	if w.fixed {
		close(answered) // the planted fault: without it nothing ends the goroutine
	}
}

// watch warns of a call that is slow, and ends when it is answered.
func (w *watched) watch(path string, answered <-chan struct{}) {
	defer w.left.Add(-1)
	late := time.NewTimer(slow)
	defer late.Stop()
	for {
		select {
		case <-answered:
			return
		case <-late.C:
			w.log.Debug("a call is slow", "path", path)
		}
	}
}
