package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/orders"
	"dyno/services/orders/database"
	"dyno/services/orders/postgres"

	"github.com/spf13/cobra"
)

// seeding is what the command "seed" was asked for.
type seeding struct {
	rows, accounts int
	dsns           []string
	data, bin      string
}

// seedCommand fills a database with made-up orders.
func seedCommand() *cobra.Command {
	var s seeding
	cmd := &cobra.Command{
		Use:   "seed --rows N",
		Short: "Fill the database with made-up orders",
		Long: `Seed adds made-up orders, the same ones in each database; run again, it goes on after the last. Row i belongs
to account A<i modulo --accounts, from 1 on>, and in an empty database it is order i.
Without --dsn they go into the PostgreSQL in the data folder: into that of the ordersd that runs on it, else seed
starts it for as long as it takes.`,
		Example: `  ordersd seed --rows 100000
  ordersd seed --rows 1000000 --dsn postgres://orders:secret@db.example:5432/orders`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return daemon.Usage(err)
			}
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&s.rows, "rows", 0, "how many orders to add")
	flags.IntVar(&s.accounts, "accounts", 1000, "how many accounts they belong to")
	flags.StringArrayVar(&s.dsns, "dsn", nil, "`URL` of the database; several are shards, as for serve")
	flags.StringVar(&s.data, "data", "ordersd-data", "the data folder `DIR`, where there is no --dsn")
	flags.StringVar(&s.bin, "postgres-bin", "", "folder `DIR` of PostgreSQL's binaries (default: as for serve)")
	cmd.MarkFlagsMutuallyExclusive("dsn", "data")
	return cmd
}

func (s seeding) check() error {
	switch {
	case s.rows < 1:
		return errors.New("--rows says how many orders to add, as in ordersd seed --rows 100000")
	case s.accounts < 1:
		return errors.New("--accounts must be at least 1")
	case s.rows < len(s.dsns):
		return errors.New("--rows must be at least the number of shards")
	}
	return nil
}

func (s seeding) run(ctx context.Context, out, progress io.Writer) (err error) {
	if len(s.dsns) == 0 {
		dsn, stop, err := s.embedded(ctx, progress)
		if err != nil {
			return err
		}
		s.dsns = []string{dsn}
		defer func() { err = errors.Join(err, stop()) }()
	}
	start := time.Now()
	added := 0
	if err := database.MigrateShards(ctx, s.dsns); err != nil {
		return err
	}
	for i, dsn := range s.dsns {
		rows := s.rows/len(s.dsns) + min(1, max(0, s.rows%len(s.dsns)-i))
		err := database.Seed(ctx, dsn, rows, s.accounts, func(done int) {
			fmt.Fprintf(progress, "\r%d of %d orders", added+done, s.rows)
		})
		if err != nil {
			fmt.Fprintln(progress)
			return err
		}
		added += rows
	}
	fmt.Fprintf(progress, "\n%d orders in %v\n", added, time.Since(start).Round(time.Millisecond))
	_, err = fmt.Fprintf(out, "A token:  TOKEN=$(ordersd token --sub A1)\nA query:  %s\n",
		`curl -H "Authorization: Bearer $TOKEN" 'http://127.0.0.1:8080/api/v1/orders?limit=3'`)
	return err
}

// embedded finds the PostgreSQL of the data folder or starts it.
func (s seeding) embedded(ctx context.Context, progress io.Writer) (dsn string, stop func() error, err error) {
	folder := filepath.Join(s.data, "postgres")
	if dsn, ok := postgres.Running(folder, orders.Database); ok {
		return dsn, func() error { return nil }, nil
	}
	pg, err := postgres.Start(ctx, postgres.Options{Folder: folder, Bin: s.bin, Database: orders.Database, Progress: progress})
	if err != nil {
		return "", nil, err
	}
	return pg.DSN(), func() error { return pg.Stop(context.WithoutCancel(ctx)) }, nil
}
