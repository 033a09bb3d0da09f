package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/arena"
	"dyno/services/arena/impair"
)

// impairCommand is a bad network.
func impairCommand() *cobra.Command {
	var o impair.Options
	cmd := &cobra.Command{
		Use:   "impair --listen ADDRESS --to ADDRESS",
		Short: "Be a proxy that makes TCP connections as bad as a network does",
		Long: `Impair passes connections on until SIGTERM or Ctrl-C: it delays, varies the delay, loses packets, caps the rate, lets
nothing pass for a while, and resets. Order is kept, as TCP keeps it: a lost packet is sent again, so it and all that follows
arrive later, and nothing is missing. When it listens it prints {"listen":ADDRESS}.`,
		Example: `  arenad impair --listen 127.0.0.1:9000 --to 127.0.0.1:8080 --delay 75ms
  arenad impair --listen 127.0.0.1:9000 --to 127.0.0.1:8080 --delay 100ms --jitter 30ms --seed 7
  arenad impair --listen 127.0.0.1:9000 --to 127.0.0.1:8080 --delay 30ms --loss 0.02
  arenad impair --listen 127.0.0.1:9000 --to 127.0.0.1:8080 --stall 5s@10s --rate 20000`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, address := range map[string]string{"listen": o.Listen, "to": o.To} {
				if _, _, err := net.SplitHostPort(address); err != nil {
					return daemon.Usage(fmt.Errorf("--%s %q is no address, such as 127.0.0.1:8080", flag, address))
				}
			}
			o.Ready = func(at net.Addr) { fmt.Fprintf(cmd.OutOrStdout(), "{\"listen\":%q}\n", at) }
			return arena.Service().Interruptible(cmd.Context(), "impair", os.Stdin, cmd.ErrOrStderr(), func(ctx context.Context, _ io.Reader) error {
				err := impair.Run(ctx, o)
				if errors.Is(err, context.Canceled) {
					return nil
				}
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Listen, "listen", "", "`ADDRESS` of the proxy; port 0 for a free one")
	flags.StringVar(&o.To, "to", "", "`ADDRESS` of the server")
	flags.DurationVar(&o.Delay, "delay", 0, "one way, applied in both directions, so that a round trip grows by twice as much")
	flags.DurationVar(&o.Jitter, "jitter", 0, "each delay is uniform between delay - jitter and delay + jitter; order is kept")
	flags.Float64Var(&o.Loss, "loss", 0, "`SHARE` of the packets of each direction that are lost, such as 0.02: sent again after two round trips, and if lost again, after a round trip and 200 ms, which doubles")
	flags.Uint64Var(&o.Seed, "seed", 1, "of jitter and losses")
	flags.Int64Var(&o.Rate, "rate", 0, "`BYTES` a second of each direction of each connection; 0: no cap")
	flags.Var(&o.Stall, "stall", "such as 5s@10s: nothing passes for 5 s, at 10 s after the start of a connection")
	flags.DurationVar(&o.Reset, "reset", 0, "how long after its start a connection is reset; 0: never")
	return cmd
}
