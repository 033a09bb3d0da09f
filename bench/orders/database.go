package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"dyno/lab/target"
	"dyno/parts/process"

	"github.com/jackc/pgx/v5"
)

// database is the one PostgreSQL that all sides ask.
type database struct {
	process  *process.Process
	dsn      string
	version  string
	settings string // those that say what a figure is worth
}

const (
	// fillTimeout is for a first start: a download, initdb, and the orders.
	fillTimeout = 5 * time.Minute
	// stopTimeout is for a shutdown that writes a checkpoint.
	stopTimeout = 30 * time.Second
)

// startDatabase starts PostgreSQL as ordersd does it for itself, with settings of its own alone.
func (b *bench) startDatabase(ctx context.Context) (*database, error) {
	args := []string{b.programs[ordersd], "postgres", "--data", filepath.Join(b.work, "postgres"),
		"--rows", strconv.Itoa(b.rows), "--accounts", strconv.Itoa(b.accounts)}
	if b.postgresBin != "" {
		args = append(args, "--postgres-bin", b.postgresBin)
	}
	p, err := target.Start(ctx, process.Spec{Name: "postgres", Command: args, ReadyLine: true, ReadyTimeout: fillTimeout})
	if err != nil {
		return nil, err
	}
	d := &database{process: p, dsn: p.Ready()["dsn"]}
	if err := d.settle(ctx); err != nil {
		d.stop()
		return nil, fmt.Errorf("preparing the database: %w", err)
	}
	return d, nil
}

// settle does what autovacuum and the checkpointer would else do some time during the measurements, and makes the
// database for pgbench.
func (d *database) settle(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	const about = `SELECT current_setting('server_version'),
		format('fsync=%s, synchronous_commit=%s, shared_buffers=%s', current_setting('fsync'), current_setting('synchronous_commit'), current_setting('shared_buffers'))`
	if err := conn.QueryRow(ctx, about).Scan(&d.version, &d.settings); err != nil {
		return err
	}
	for _, statement := range []string{"VACUUM (ANALYZE) orders", "CREATE DATABASE " + pgbenchDatabase, "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (d *database) stop() error { return d.process.Stop(stopTimeout) }

// beside returns the URL of another database of the same server.
func beside(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("ordersd postgres said that its URL is %q, which is none", dsn)
	}
	u.Path = "/" + name
	return u.String(), nil
}
