package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dyno/cmd/dyno/usage"
	"dyno/lab/load/agents"
	"dyno/lab/load/agents/natsbus"

	"github.com/spf13/cobra"
)

// newAgent returns the command dyno agent. permit decides whether load may be sent to a host
// other than loopback; allowed says that this command line permits it.
func newAgent(version string, permit func(host string, allowed bool) error) *cobra.Command {
	var (
		join, tokenFile, authority string
		allowed                    bool
	)
	cmd := &cobra.Command{
		Use:   "agent --join URL",
		Short: "Wait for a share of a load that another dyno coordinates, and send it",
		Long: `Agent joins a NATS server and waits. A measuring command with --agents or --agents-listen then sends its
load through all agents that have joined: one schedule, of which each agent sends its share from one agreed instant.
An agent needs the same version of dyno, and permission of its own to load a host beyond loopback. It serves one
command after the other until it is interrupted. Each client that may publish to its server can have it send requests:
to its own loopback, and to hosts that were permitted here.`,
		Example: `  dyno agent --join nats://127.0.0.1:4222 --token-file token
  dyno load http://127.0.0.1:8080/ -r 2000 --agents-listen 127.0.0.1:4222 --agents-expect 3 --token-file token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if join == "" {
				return usage.Errorf("agent needs --join URL, as in nats://127.0.0.1:4222")
			}
			token, err := tokenOf(tokenFile)
			if err != nil {
				return err
			}
			say := func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
			return serve(cmd.Context(), join, token, authority, &agents.Agent{Version: version, Say: say,
				Permit: func(host string) error { return permit(host, allowed) }})
		},
	}
	f := cmd.Flags()
	f.StringVar(&join, "join", "", "URL of the NATS server, as in nats://127.0.0.1:4222; several, separated by commas, for a cluster")
	f.StringVar(&tokenFile, "token-file", "", "file with the token that agents and coordinator share")
	f.StringVar(&authority, "tls-ca", "", "PEM file of the certificates that the server's TLS is checked against (default: the system's)")
	f.BoolVar(&allowed, "i-may-load-this-host", false, "permit the hosts beyond loopback that coordinators name; needed once for each host")
	return cmd
}

// serve serves coordinators until ctx is done, or until the server refuses the token.
func serve(ctx context.Context, join, token, authority string, a *agents.Agent) error {
	bus, err := natsbus.Await(ctx, join, token, authority, func() { a.Say("waiting for a NATS server at " + natsbus.Shown(join)) })
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	defer bus.Close()
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() {
		select {
		case <-ctx.Done():
		case <-bus.Closed():
			end(natsbus.ErrToken)
		}
	})
	a.Network = bus
	a.Say("joined; waiting for work")
	if err := a.Serve(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, natsbus.ErrToken) {
		return cause
	}
	return nil
}
