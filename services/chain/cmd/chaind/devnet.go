package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"dyno/parts/daemon"
	"dyno/parts/doors"
	"dyno/services/chain/devnet"
)

// devnetCommand runs a network of nodes on this machine.
func devnetCommand() *cobra.Command {
	w := devnet.Network{}
	var control string
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
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			w.Flags = args
			if err := checkDevnet(cmd, w, control); err != nil {
				return daemon.Usage(err)
			}
			if w.Program, err = os.Executable(); err != nil {
				return err
			}
			l, err := daemon.Listen(control, doors.Private("control", nil))
			if err != nil {
				return err
			}
			return w.Run(cmd.Context(), l, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&w.Nodes, "nodes", 3, "the `NUMBER` of nodes; 1: a node alone")
	flags.StringVar(&w.Dir, "data", "chaind-devnet", "`FOLDER` of keys, logs and a folder for each node; made if missing")
	flags.StringVar(&w.Listen, "listen", "127.0.0.1:8545", "`ADDRESS` of the first node; the next have the ports after it, or any with port 0")
	flags.StringVar(&control, "control", "127.0.0.1:8540", "loopback `ADDRESS` for /kill and /slow")
	return cmd
}

func checkDevnet(cmd *cobra.Command, w devnet.Network, control string) error {
	if before := cmd.ArgsLenAtDash(); before > 0 || before < 0 && len(w.Flags) > 0 {
		return fmt.Errorf("%q: devnet takes no arguments; flags of serve follow --, as in chaind devnet -- --log-level warn", w.Flags[0])
	}
	if w.Nodes < 1 || w.Nodes > devnet.Most {
		return fmt.Errorf("--nodes %d: want 1 to %d", w.Nodes, devnet.Most)
	}
	if w.Dir == "" {
		return errors.New("--data is empty: name a folder")
	}
	if host, _, err := net.SplitHostPort(control); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("--control %q: want a loopback address, such as 127.0.0.1:8540", control)
	}
	return nil
}
