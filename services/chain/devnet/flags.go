package devnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/parts/doors"
)

// Flags is the command line of devnet, for each program that has the command. Its nodes are
// processes of the same program.
type Flags struct {
	network Network
	control string
}

// Declare declares the flags.
func (f *Flags) Declare(set *pflag.FlagSet) {
	set.IntVar(&f.network.Nodes, "nodes", 3, "the `NUMBER` of nodes; 1: a node alone")
	set.StringVar(&f.network.Dir, "data", "chaind-devnet", "`FOLDER` of keys, logs and a folder for each node; made if missing")
	set.StringVar(&f.network.Listen, "listen", "127.0.0.1:8545", "`ADDRESS` of the first node; the next have the ports after it, or any with port 0")
	set.StringVar(&f.control, "control", "127.0.0.1:8540", "loopback `ADDRESS` for /kill and /slow")
}

// Run runs the network that parsed flags describe, until ctx ends. What follows -- are flags of
// serve.
func (f *Flags) Run(ctx context.Context, parsed *pflag.FlagSet, stdout io.Writer) (err error) {
	w := f.network
	w.Flags = parsed.Args()
	if err := f.check(parsed.ArgsLenAtDash(), w.Flags); err != nil {
		return daemon.Usage(err)
	}
	if w.Program, err = os.Executable(); err != nil {
		return err
	}
	l, err := daemon.Listen(f.control, doors.Private("control", nil))
	if err != nil {
		return err
	}
	return w.Run(ctx, l, stdout)
}

func (f *Flags) check(before int, args []string) error {
	if before > 0 || before < 0 && len(args) > 0 {
		return fmt.Errorf("%q: devnet takes no arguments; flags of serve follow --, as in devnet -- --log-level warn", args[0])
	}
	if f.network.Nodes < 1 || f.network.Nodes > most {
		return fmt.Errorf("--nodes %d: want 1 to %d", f.network.Nodes, most)
	}
	if f.network.Dir == "" {
		return errors.New("--data is empty: name a folder")
	}
	if host, _, err := net.SplitHostPort(f.control); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("--control %q: want a loopback address, such as 127.0.0.1:8540", f.control)
	}
	return nil
}
