// Faults is chaind with planted faults, which scenarios hold Dyno's diagnosis against: each
// proposal to the other nodes is an entry, an fsync and a message of its own (chain-unbatched), or
// each call over HTTP leaves a goroutine behind, which was to warn of a slow call (chain-leak).
//
//	faults devnet -- --unbatched
//	faults serve --watch leaking --set transport=net ...
//	faults serve --watch fixed --set transport=net ...
//
// It takes the flags and settings of chaind serve, too, and without its own flags it is chaind.
// Devnet is chaind's with nodes of this program. Event loops do not come through the handler that
// leaks, hence transport=net. It is not for use: chaind is.
//
// The handler owns the goroutines that are left, as leak.go says.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/ethereum/go-ethereum/log"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/refusal"
	"dyno/services/chain"
	"dyno/services/chain/devnet"
	"dyno/services/chain/raft"
)

func main() {
	// As chaind: go-ethereum ends the process when its state cannot be written.
	log.SetDefault(log.NewLogger(log.NewTerminalHandlerWithLevel(os.Stderr, log.LevelError, false)))
	command.Main(service(), network())
}

// service is chaind's with the faults that its flags ask for.
func service() daemon.Service {
	var unbatched bool
	var watch string
	s := chain.ServiceWith(func(c *chain.Config) {
		c.Raft = func(o *raft.Options) { o.Unbatched = unbatched }
	})
	declare, start := s.Flags, s.Start
	s.Flags = func(set *pflag.FlagSet) {
		declare(set)
		set.BoolVar(&unbatched, "unbatched", false, "a planted fault: each proposal to the other nodes is an entry, an fsync and a message of its own")
		set.StringVar(&watch, "watch", "none", "what a goroutine that watches each call `DOES` at its end: leaking, it is left behind, a planted fault; fixed, it ends; none, no call has one")
	}
	s.Start = func(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
		around, err := refusal.Pick("watch", watches, watch)
		if err == nil && around != nil && env.Choice.Get("transport") != "net" {
			err = errors.New("--watch " + watch + " needs --set transport=net: an event loop has no handler to leak in")
		}
		if err != nil {
			return daemon.Running{}, daemon.Usage(err)
		}
		running, err := start(ctx, env)
		if err == nil && around != nil {
			running.Handler = around(running.Handler, env.Log)
		}
		return running, err
	}
	return s
}

// network is chaind's devnet.
func network() *cobra.Command {
	var f devnet.Flags
	cmd := &cobra.Command{
		Use:   "devnet [--nodes N] [-- FLAGS OF SERVE]",
		Short: "Run a network of nodes of this program on this machine, as chaind devnet does",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.Run(cmd.Context(), cmd.Flags(), cmd.OutOrStdout())
		},
	}
	f.Declare(cmd.Flags())
	return cmd
}
