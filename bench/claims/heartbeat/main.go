// Heartbeat is arenad with what is claimed to make its heartbeats fast: JSON that is read and
// written by hand, a pool of workers, and an event loop in place of net/http (Linux, without TLS and
// traces). The scenario arena-heartbeat compares them.
//
//	heartbeat serve --beat hand ...
//
// It takes the flags and settings of arenad serve, too, and with --beat std, the default, it is
// arenad. It is not for use: arenad is.
//
// The command owns the goroutines of the event loop and of the workers, which end with the service.
package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/spf13/pflag"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/httploop"
	"dyno/parts/refusal"
	"dyno/services/arena"
)

func main() {
	os.Exit(command.Run(context.Background(), service(), nil, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}

// beats are what answers heartbeats, by the values of the flag.
var beats = map[string]arena.Exchange{
	"std":  func(b arena.Beats) (http.Handler, daemon.Front, error) { return b.Heartbeat, nil, nil },
	"hand": func(b arena.Beats) (http.Handler, daemon.Front, error) { return hand{b.Heartbeat}, nil, nil },
	"workers": func(b arena.Beats) (http.Handler, daemon.Front, error) {
		return newWorkers(hand{b.Heartbeat}), nil, nil
	},
	"loop": loop,
}

// service is arenad's with the flag of the exhibit.
func service() daemon.Service {
	var name string
	var with arena.Exchange
	var pool *workers // nil: there are none
	s := arena.ServiceWith(func(b arena.Beats) (http.Handler, daemon.Front, error) {
		h, front, err := with(b)
		pool, _ = h.(*workers)
		return h, front, err
	})
	declare, start := s.Flags, s.Start
	s.Flags = func(set *pflag.FlagSet) {
		declare(set)
		set.StringVar(&name, "beat", "std", "`WAY` in which heartbeats are answered: std, as arenad does; hand, JSON by hand; workers, as hand by a worker for each processor; loop, as hand in an event loop")
	}
	s.Start = func(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
		var err error
		if with, err = refusal.Pick("beat", beats, name); err != nil {
			return daemon.Running{}, daemon.Usage(err)
		}
		running, err := start(ctx, env)
		if pool != nil {
			if err != nil {
				pool.close()
				return running, err
			}
			drain := running.Drain
			running.Drain = func(ctx context.Context) error {
				defer pool.close()
				return drain(ctx)
			}
		}
		return running, err
	}
	return s
}

// loop answers heartbeats in an event loop if the listener permits it, and by hand elsewhere.
func loop(b arena.Beats) (http.Handler, daemon.Front, error) {
	h, env := hand{b.Heartbeat}, b.Env
	if env.Tracer != nil || env.Listen != net.Listener(env.Connections) {
		env.Log.Info("net/http reads all requests: the event loop speaks no TLS and makes no spans")
		return h, nil, nil
	}
	f, err := newFront(h, env.Connections, env.Guard, b.Check, env.ReadTimeout, env.Fail, env.Log)
	switch {
	case errors.Is(err, httploop.ErrUnsupported):
		env.Log.Info("net/http reads all requests: this system has no event loop")
		return h, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return h, f, nil
}
