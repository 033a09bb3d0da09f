package postgres

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"
)

// standbyName is what a standby calls itself at its primary.
const standbyName = "standby"

// Standby makes a copy of the cluster in o.Folder, unless there is one, and runs it as a
// synchronous standby: when it returns, a commit on s waits until the standby has it on disk, and
// goes on waiting when the standby is gone. It needs pg_basebackup beside the binaries, which those
// that are downloaded lack.
func (s *Server) Standby(ctx context.Context, o Options) (*Server, error) {
	if o.Bin == "" {
		o.Bin = s.binaries.folder
	}
	o.Database, o.copyOf = s.options.Database, s
	standby, err := Start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("standby: %w", err)
	}
	if err := s.synchronize(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("standby: %w", err), standby.Stop(context.WithoutCancel(ctx)))
	}
	return standby, nil
}

// copier returns the command that copies the cluster and leaves there how to follow it.
func (s *Server) copier(ctx context.Context, folder string) *exec.Cmd {
	from := s.options.copyOf.dsn("postgres") + "&application_name=" + standbyName
	return exec.CommandContext(ctx, s.binaries.path("pg_basebackup"), "-D", folder, "-d", from, "-R", "-X", "stream", "-c", "fast")
}

// synchronize has the commits of s wait for the standby, and waits until they do.
func (s *Server) synchronize(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return s.connected(ctx, "postgres", func(conn *pgx.Conn) error {
		for _, statement := range []string{"alter system set synchronous_standby_names = '" + standbyName + "'", "select pg_reload_conf()"} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
		var state string
		err := reporter{}.wait(ctx, "", func() (bool, error) {
			err := conn.QueryRow(ctx, "select coalesce(max(sync_state), 'not connected') from pg_stat_replication where application_name = $1", standbyName).Scan(&state)
			return state == "sync", err
		})
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("it does not become synchronous: %w; it is %s", err, state)
		}
		return err
	})
}

// Promote makes a standby a primary of its own, and returns when it accepts writes.
func (s *Server) Promote(ctx context.Context) error {
	var done bool
	err := s.connected(ctx, s.options.Database, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, "select pg_promote(true, 60)").Scan(&done) })
	if err != nil {
		return fmt.Errorf("promoting the standby in %s: %w", s.options.Folder, err)
	}
	if !done {
		return fmt.Errorf("promoting the standby in %s: not done after 60 s; its log is %s", s.options.Folder, s.cluster.log())
	}
	return nil
}
