package main

import (
	"github.com/spf13/cobra"

	"dyno/services/chain/devnet"
)

// devnetCommand runs a network of nodes on this machine.
func devnetCommand() *cobra.Command {
	var f devnet.Flags
	cmd := &cobra.Command{
		Use:   "devnet [--nodes N] [-- FLAGS OF SERVE]",
		Short: "Run a network of nodes on this machine, for development and trials",
		Long: `Devnet runs nodes that agree by raft, each as a process of its own, until SIGTERM or Ctrl-C. It makes their keys, and prints
one line when they have a leader: listen and debug are the leader's addresses, follower is one that forwards to it, and nodes
has all. What the folder has is used again. What follows -- are flags of serve, for all nodes. On --control, which is loopback
only:
  POST /kill?of=follower&for=2s     kill a node (SIGKILL), and start it again after that time; without it the node stays down
  POST /slow?of=follower&by=100ms   stop a node for that time, let it run as long, and so on until the network ends
where of is leader, follower or the number of a node.`,
		Example: `  chaind devnet
  chaind devnet --nodes 5 --data net -- --log-level warn
  curl -X POST 'http://127.0.0.1:8540/kill?of=leader&for=2s'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.Run(cmd.Context(), cmd.Flags(), cmd.OutOrStdout())
		},
	}
	f.Declare(cmd.Flags())
	return cmd
}
