package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"dyno/cmd/service"
	"dyno/lab/load/sessions"
	"dyno/parts/daemon"
	"dyno/services/arena"
	"dyno/services/arena/bots"
	"dyno/services/arena/wire"
)

// botsFlags are of the bots and of their run.
type botsFlags struct {
	bots.Options
	n                int
	warmup, duration time.Duration
	json, windows    bool
}

// botsCommand plays from outside.
func botsCommand() *cobra.Command {
	var f botsFlags
	cmd := &cobra.Command{
		Use:   "bots -n N --url URL",
		Short: "Play with bots from outside, and measure what they see",
		Long: `Bots connects N players, each with a socket of its own, which send inputs at fixed times. The latency of an input is the
time from when it should have been sent until a state acknowledges it, so that a stall of the server counts in all inputs
that fall into it.`,
		Example: `  arenad bots -n 50 --url http://127.0.0.1:8080
  arenad bots -n 500 --url http://127.0.0.1:8080 --motion random --duration 30s --json`,
		Args: service.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			driver, err := bots.New(f.Options)
			switch {
			case err != nil:
				return daemon.Usage(err)
			case f.n < 1 || f.n > 100_000:
				return daemon.Usage(fmt.Errorf("-n %d is not between 1 and 100000", f.n))
			case f.duration < time.Second || f.warmup < 0:
				return daemon.Usage(errors.New("--duration is at least 1s, and --warmup not below 0"))
			}
			c := sessions.Config{Name: "arenad bots", URL: f.URL, Driver: driver, Sessions: f.n, Rate: f.Rate, Warmup: f.warmup, Length: f.duration}
			return arena.Service().Interruptible(cmd.Context(), "bots", os.Stdin, cmd.ErrOrStderr(), func(ctx context.Context, _ io.Reader) error {
				return f.run(ctx, c, cmd.OutOrStdout())
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.n, "number", "n", 50, "how many bots")
	flags.StringVar(&f.URL, "url", "http://127.0.0.1:8080", "`URL` of the server")
	flags.StringVar(&f.Room, "room", "", "`ID` of the room that they join; without it any with a place")
	flags.StringVar(&f.Token, "token", "", "`TOKEN` with which they join (arenad token)")
	flags.StringVar(&f.Motion, "motion", bots.Keyboard, bots.Keyboard+" (keys that change twice a second) or "+bots.Random+" (another direction in each packet)")
	flags.StringVar(&f.Subprotocol, "subprotocol", wire.Bits, wire.Bits+" or "+wire.Proto)
	flags.Float64Var(&f.Rate, "rate", 30, "packets a second of each bot; they share 60 commands")
	flags.BoolVar(&f.Decode, "decode", false, "decode each state, check its hash and acknowledge it, which costs the bots CPU time")
	flags.DurationVar(&f.warmup, "warmup", 2*time.Second, "load that is not counted, after all have joined")
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "how long to measure")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON (dyno.load/1)")
	flags.BoolVar(&f.windows, "windows", false, "print windows of results, for the lab that started this process")
	cmd.MarkFlagsMutuallyExclusive("json", "windows")
	return cmd
}

var errNone = errors.New("no bot could join; the server's answer to one: arenad bots -n 1 --decode, or its log")

func (f *botsFlags) run(ctx context.Context, c sessions.Config, out io.Writer) error {
	if f.windows {
		return sessions.Windows(ctx, c, out)
	}
	result, err := sessions.Run(ctx, c)
	if err != nil && result.Totals.Sent == 0 {
		return err
	}
	if s := result.Totals.Sessions; s != nil && s.Opened == 0 {
		err = errors.Join(err, errNone)
	}
	if f.json {
		return errors.Join(err, result.WriteJSON(out))
	}
	t := result.Totals
	fmt.Fprintf(out, "%d bots at %v packets/s for %v\n", f.n, f.Rate, result.Length.Round(time.Millisecond))
	fmt.Fprintf(out, "inputs acknowledged  %.0f/s of %.0f/s; p50 %.1f ms, p99 %.1f ms\n", t.AchievedPerS, t.OfferedPerS, t.Response.P50, t.Response.P99)
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
