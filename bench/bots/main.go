// Command bots plays on an arenad from outside: N players, each with a socket of its own, send
// inputs at fixed times. The latency of an input is the time from when it should have been sent
// until a state acknowledges it, so that a stall of the server counts in all inputs that fall into
// it.
//
//	go run ./bench/bots -n 50 --url http://127.0.0.1:8080
//
// With --windows it is the driver of scenarios/arena.yaml. It is not for the players that a room
// adds itself (services/arena/game).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"dyno/bench/bots/player"
	"dyno/lab/load/sessions"
	"dyno/services/arena/wire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are of the bots and of their run.
type options struct {
	player           player.Options
	n                int
	warmup, duration time.Duration
	json, windows    bool
}

// run returns the exit code: 2 is a mistake in args.
func run(ctx context.Context, args []string, out, stderr io.Writer) int {
	o, err := parse(args, out)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "bots: %v (go run ./bench/bots --help has the flags)\n", err)
		return 2
	}
	if err := o.play(ctx, out); err != nil {
		fmt.Fprintln(stderr, "bots:", err)
		return 1
	}
	return 0
}

func parse(args []string, out io.Writer) (o options, err error) {
	flags := pflag.NewFlagSet("bots", pflag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, `Bots play on an arenad from outside, and what they see is measured. The latency of an input is the time from
when it should have been sent until a state acknowledges it.

  go run ./bench/bots -n 50 --url http://127.0.0.1:8080
  go run ./bench/bots -n 500 --url http://127.0.0.1:8080 --motion random --duration 30s --json

`+flags.FlagUsages())
	}
	flags.IntVarP(&o.n, "number", "n", 50, "how many bots")
	flags.StringVar(&o.player.URL, "url", "http://127.0.0.1:8080", "`URL` of the server")
	flags.StringVar(&o.player.Room, "room", "", "`ID` of the room that they join; without it any with a place")
	flags.StringVar(&o.player.Token, "token", "", "`TOKEN` with which they join (arenad token)")
	flags.StringVar(&o.player.Motion, "motion", player.Keyboard, player.Keyboard+" (keys that change twice a second) or "+player.Random+" (another direction in each packet)")
	flags.StringVar(&o.player.Subprotocol, "subprotocol", wire.Bits, wire.Bits+" or "+wire.Proto)
	flags.Float64Var(&o.player.Rate, "rate", 30, "packets a second of each bot; they share 60 commands")
	flags.BoolVar(&o.player.Decode, "decode", false, "decode each state, check its hash and acknowledge it, which costs the bots CPU time")
	flags.DurationVar(&o.warmup, "warmup", 2*time.Second, "load that is not counted, after all have joined")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "how long to measure")
	flags.BoolVar(&o.json, "json", false, "print the result as JSON (dyno.load/1)")
	flags.BoolVar(&o.windows, "windows", false, "print windows of results, for the lab that started this process")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.json && o.windows:
		return o, errors.New("--json and --windows exclude each other")
	case o.n < 1 || o.n > 100_000:
		return o, fmt.Errorf("-n %d is not between 1 and 100000", o.n)
	case o.duration < time.Second || o.warmup < 0:
		return o, errors.New("--duration is at least 1s, and --warmup not below 0")
	}
	return o, nil
}

var errNone = errors.New("no bot could join; what the server answers to one: go run ./bench/bots -n 1 --decode, or its log")

// play connects the bots, and prints what they saw.
func (o *options) play(ctx context.Context, out io.Writer) error {
	driver, err := player.New(o.player)
	if err != nil {
		return err
	}
	c := sessions.Config{Name: "bots", URL: o.player.URL, Driver: driver, Sessions: o.n, Rate: o.player.Rate, Warmup: o.warmup, Length: o.duration}
	if o.windows {
		return sessions.Windows(ctx, c, out)
	}
	result, err := sessions.Run(ctx, c)
	if err != nil && result.Totals.Sent == 0 {
		return err
	}
	if s := result.Totals.Sessions; s != nil && s.Opened == 0 {
		err = errors.Join(err, errNone)
	}
	if o.json {
		return errors.Join(err, result.WriteJSON(out))
	}
	t := result.Totals
	fmt.Fprintf(out, "%d bots at %v packets/s for %v\n", o.n, o.player.Rate, result.Length.Round(time.Millisecond))
	fmt.Fprintf(out, "inputs acknowledged  %.0f/s of %.0f/s; p50 %.1f ms, p99 %.1f ms\n", t.ThroughputPerS, t.OfferedPerS, t.Response.P50, t.Response.P99)
	if s := t.Sessions; s != nil {
		fmt.Fprintf(out, "states               %.2f/s a bot, at least %.2f/s; %.0f bytes/s a bot\n", s.FramesMean, s.FramesMin, s.BytesPerS)
		fmt.Fprintf(out, "sessions             %d of %d opened, %d lost\n", s.Opened, s.Planned, s.Lost)
	}
	for _, kind := range slices.Sorted(maps.Keys(t.Errors)) {
		if n := t.Errors[kind]; n > 0 {
			fmt.Fprintf(out, "errors               %d %s\n", n, kind)
		}
	}
	return err
}
