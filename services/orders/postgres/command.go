package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"dyno/agent"
	"dyno/parts/daemon"

	"github.com/spf13/cobra"
)

// Prepare fills the database with rows that belong to so many accounts. The command calls it at each start with
// --rows, also when the rows are already there.
type Prepare func(ctx context.Context, dsn string, rows, accounts int) error

// Command returns the command "postgres", which runs the database alone. Prepare nil: there is no --rows.
func Command(prepare Prepare) *cobra.Command {
	var c companion
	cmd := &cobra.Command{
		Use:   "postgres",
		Short: "Run the embedded PostgreSQL alone, as a companion of trials",
		Long: `Postgres runs the database that serve would start by itself, until it is told to stop, and prints its URL when it is
ready. On --debug, which is loopback only:
  POST /stop?for=2s   stop PostgreSQL in good order, start it again after that time (at most 10m), then answer
  POST /kill?for=2s   the same with SIGKILL to all its processes`,
		Example: `  ordersd postgres --data ./pg --rows 1000000 --accounts 1000 --debug 127.0.0.1:9101
  curl -X POST 'http://127.0.0.1:9101/kill'`,
		Args: daemon.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.prepare = prepare
			c.options.Progress = cmd.ErrOrStderr()
			c.options.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			return c.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.options.Address, "listen", "127.0.0.1:0", "loopback address of PostgreSQL")
	flags.StringVar(&c.options.Folder, "data", "", "folder of the database; made if missing (required)")
	flags.StringVar(&c.options.Bin, "postgres-bin", "", "folder of initdb and postgres; without it they are downloaded, or found on the machine")
	flags.StringVar(&c.debug, "debug", "127.0.0.1:0", "loopback address for /stop and /kill")
	flags.StringToStringVar(&c.options.Settings, "set", nil, "settings of PostgreSQL, such as synchronous_commit=off")
	if prepare != nil {
		flags.IntVar(&c.rows, "rows", 0, "orders to have in the database; 0: leave it as it is")
		flags.IntVar(&c.accounts, "accounts", 1000, "accounts that the orders belong to, in turns")
	}
	return cmd
}

// companion is a run of the command.
type companion struct {
	options        Options
	debug          string
	prepare        Prepare
	rows, accounts int
}

func (c companion) check() error {
	switch {
	case c.options.Folder == "":
		return errors.New("--data is missing: the folder of the database")
	case c.rows < 0 || c.rows > 0 && c.accounts < 1:
		return fmt.Errorf("--rows %d --accounts %d: neither may be negative, and rows need an account", c.rows, c.accounts)
	}
	if _, err := chooseAddress(c.options.Address); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if host, _, err := net.SplitHostPort(c.debug); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("--debug %q: want a loopback address, such as 127.0.0.1:9101", c.debug)
	}
	return nil
}

// run serves until ctx ends or PostgreSQL ends by itself.
func (c companion) run(ctx context.Context, ready io.Writer) (err error) {
	if err := c.check(); err != nil {
		return daemon.Usage(err)
	}
	listener, err := daemon.Listen("debug", c.debug)
	if err != nil {
		return err
	}
	defer listener.Close()
	pg, err := Start(ctx, c.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pg.Stop(context.WithoutCancel(ctx))) }()
	if c.rows > 0 {
		if err := c.prepare(ctx, pg.DSN(), c.rows, c.accounts); err != nil {
			return fmt.Errorf("--rows: %w", err)
		}
	}
	o := &outages{pg: pg, ctx: ctx, turn: make(chan struct{}, 1), failed: make(chan error, 1)}
	server := &http.Server{Handler: agent.NewGuard("").Wrap(o.mux()), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		shutdown(server)
		<-served
	}()
	err = json.NewEncoder(ready).Encode(map[string]any{
		"ready": true, "service": "ordersd postgres", "listen": pg.Address(), "debug": listener.Addr().String(), "dsn": pg.DSN(), "pid": os.Getpid(),
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-pg.Failed():
		return err
	case err := <-o.failed:
		return err
	}
}

// shutdown ends the debug server. An outage under way ends with the command's context, so that 10 s are enough.
func shutdown(server *http.Server) {
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		server.Close()
	}
}
