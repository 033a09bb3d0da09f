package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/doors"
	"dyno/parts/redact"
	"dyno/services/orders"
	"dyno/services/orders/companion"
	"dyno/services/orders/database"
	"dyno/services/orders/postgres"
)

// postgresCommand runs the database alone.
func postgresCommand() *cobra.Command {
	var o postgres.Options
	var debug string
	var rows, accounts int
	cmd := &cobra.Command{
		Use:   "postgres",
		Short: "Run the embedded PostgreSQL alone, as a companion of trials",
		Long: `Postgres runs the embedded database of serve until SIGTERM or Ctrl-C, and prints its URL when it is
ready. On --debug, which is loopback only:
  POST /stop?for=2s   stop PostgreSQL in good order, start it again after that time (at most 10m), then answer
  POST /kill?for=2s   the same with SIGKILL to all its processes`,
		Example: `  ordersd postgres --data ./pg --rows 1000000 --accounts 1000 --debug 127.0.0.1:9101
  curl -X POST 'http://127.0.0.1:9101/kill'`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCompanion(o, debug, rows, accounts); err != nil {
				return daemon.Usage(err)
			}
			l, err := daemon.Listen(debug, doors.Private("debug", nil))
			if err != nil {
				return err
			}
			o.Progress = cmd.ErrOrStderr()
			o.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{ReplaceAttr: redact.Attr}))
			o.Database = orders.Database
			c := companion.Companion{Options: o, Service: "ordersd postgres"}
			if rows > 0 {
				c.Prepare = func(ctx context.Context, dsn string) error {
					if err := database.Prepare(ctx, dsn, rows, accounts); err != nil {
						return fmt.Errorf("--rows: %w", err)
					}
					return nil
				}
			}
			return c.Run(cmd.Context(), l, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Address, "listen", "127.0.0.1:0", "loopback address of PostgreSQL")
	flags.StringVar(&o.Folder, "data", "", "folder of the database; made if missing (required)")
	flags.StringVar(&o.Bin, "postgres-bin", "", "folder of initdb and postgres; without it they are downloaded, or found on the machine")
	flags.StringVar(&debug, "debug", "127.0.0.1:0", "loopback address for /stop and /kill")
	flags.StringToStringVar(&o.Settings, "set", nil, "settings of PostgreSQL, such as synchronous_commit=off")
	flags.IntVar(&rows, "rows", 0, "orders to have in the database; 0: leave it as it is")
	flags.IntVar(&accounts, "accounts", 1000, "accounts that the orders belong to, in turns")
	return cmd
}

func checkCompanion(o postgres.Options, debug string, rows, accounts int) error {
	switch {
	case o.Folder == "":
		return errors.New("--data is missing: the folder of the database")
	case rows < 0 || rows > 0 && accounts < 1:
		return fmt.Errorf("--rows %d --accounts %d: neither may be negative, and rows need an account", rows, accounts)
	}
	if err := postgres.CheckAddress(o.Address); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if host, _, err := net.SplitHostPort(debug); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("--debug %q: want a loopback address, such as 127.0.0.1:9101", debug)
	}
	return nil
}
