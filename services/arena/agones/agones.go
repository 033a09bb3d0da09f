// Package agones keeps Agones informed of this game server, so that Kubernetes neither ends it
// while players are in it nor keeps it when it hangs: over the HTTP interface of the SDK's sidecar,
// which runs beside the server in its pod.
//
// It is not for asking Kubernetes for a server: clients come by the fleet's own matchmaking.
// Nothing waits for the sidecar, and the game goes on without it. It starts no goroutines; Run
// blocks.
package agones

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
)

// Counter is the name of the counter of players, which the manifest declares (fleet.yaml).
const Counter = "players"

// Pace is that of every server.
const Pace = 2 * time.Second

const (
	retry   = 500 * time.Millisecond // after the first failure; it doubles
	goodbye = 5 * time.Second        // bounds the last request
)

// Options of Run.
type Options struct {
	SDK     *SDK
	Players func() (count, capacity int)
	Log     *slog.Logger
	Pace    time.Duration // from one report of health to the next, while the sidecar answers
}

// Declare adds the flag that asks for Run.
func Declare(set *pflag.FlagSet, on *bool) {
	set.BoolVar(on, "agones", false, "report readiness, health and players to the Agones sidecar at localhost:$AGONES_SDK_HTTP_PORT")
}

// Run reports until ctx ends, which is when the last player has gone, and then asks for the end of
// this game server. The caller begins it when clients can connect. It retries what fails and logs
// the first failure only.
func Run(ctx context.Context, o Options) {
	r := reporter{Options: o}
	wait := time.NewTimer(0)
	defer wait.Stop()
	backoff := retry
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
			defer cancel()
			_ = o.SDK.Shutdown(last) // without it Kubernetes notices the end of the process
			return
		case <-wait.C:
		}
		err := r.report(ctx)
		if ctx.Err() != nil {
			continue
		}
		r.note(err)
		if err == nil {
			wait.Reset(o.Pace)
			backoff = retry
			continue
		}
		wait.Reset(min(backoff, o.Pace)) // no longer, or Agones would miss the reports of health
		backoff *= 2
		r.sent = figures{} // the sidecar may have started anew
	}
}

// reporter knows what the sidecar knows.
type reporter struct {
	Options
	state  state
	sent   figures
	failed bool
}

// state is how Agones must treat the server.
type state int

const (
	starting state = iota
	ready          // it may be ended when fewer are needed
	busy           // it has players
)

type figures struct {
	known           bool
	count, capacity int
}

func (r *reporter) report(ctx context.Context) error {
	count, capacity := r.Players()
	want, move := ready, r.SDK.Ready
	if count > 0 && r.state != starting {
		want, move = busy, r.SDK.Allocate
	}
	if want != r.state {
		if err := move(ctx); err != nil {
			return err
		}
		r.state = want
	}
	if err := r.SDK.Health(ctx); err != nil {
		return err
	}
	now := figures{true, count, capacity}
	if now == r.sent {
		return nil
	}
	err := r.SDK.SetCounter(ctx, Counter, count, capacity)
	if err == nil {
		r.sent = now
	}
	return err
}

// note logs where failures begin and end.
func (r *reporter) note(err error) {
	switch {
	case err != nil && !r.failed:
		r.Log.Warn("the Agones sidecar does not take reports; they are sent again until it does", "error", err)
	case err == nil && r.failed:
		r.Log.Info("the Agones sidecar takes reports again")
	}
	r.failed = err != nil
}
