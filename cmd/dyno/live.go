package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/live"

	"github.com/spf13/cobra"
)

func newLive() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "live [DIR]",
		Short: "Show the experiments of a folder in a browser, also while they run",
		Long: `Live serves a page with the experiments in a folder (default dyno-out), the report of each, and the current run of
one that is in progress. It only reads the folder: start it in another terminal than dyno run. Interrupt it to end it.

It listens on loopback unless --listen says otherwise; every client that reaches an address beyond it can read the folder.`,
		Example: `  dyno live
  dyno live --listen 127.0.0.1:8100 dyno-out`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := request.OutFolder // it may be created later
			if len(args) == 1 {
				dir = args[0]
				if at, err := os.Stat(dir); err != nil || !at.IsDir() {
					if _, err := strconv.ParseUint(dir, 10, 16); err == nil {
						return usage.Errorf("there is no folder %s; write --listen 127.0.0.1:%s if that is the port", dir, dir)
					}
					return usage.Errorf("there is no folder %s: name the folder of the experiments", dir)
				}
			}
			host, _, err := net.SplitHostPort(listen)
			if err != nil {
				return usage.Errorf("--listen takes HOST:PORT, not %q: write %s", listen, withPort(listen))
			}
			ln, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listening on %s: %w; port 0 picks a free one", listen, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", reachable(ln.Addr()))
			return live.New(live.Options{Dir: dir, Host: host}).Serve(cmd.Context(), ln)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to serve on; port 0 picks a free one")
	return cmd
}

// withPort completes an address that lacks its host or its port.
func withPort(listen string) string {
	if _, err := strconv.ParseUint(listen, 10, 16); err == nil {
		return "127.0.0.1:" + listen
	}
	return net.JoinHostPort(strings.Trim(listen, "[]"), "8100")
}

// reachable returns the address by which a browser on this machine reaches a listener.
func reachable(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", t.Port)
	}
	return a.String()
}
