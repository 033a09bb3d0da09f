package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxSaid is how much of the end of what initdb says is kept for an error, bytes.
const maxSaid = 2 << 10

// initTimeout bounds initdb, which takes a second or two on an idle machine.
const initTimeout = 3 * time.Minute

// initialize makes the data folder if there is none. It is made under another name, so that one
// that was interrupted is not mistaken for a whole one.
func (s *Server) initialize(ctx context.Context, held *os.File) error {
	if version, err := s.cluster.version(); err != nil || version != "" {
		return err
	}
	fresh := s.cluster.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	s.report.line("making a PostgreSQL %s cluster in %s", s.binaries.version, s.cluster.data())
	begun := time.Now()
	cmd := s.maker(ctx, fresh)
	s.cluster.as(cmd)
	cmd.ExtraFiles = []*os.File{held} // it may outlive a killed owner, and then the next start waits for it
	cmd.WaitDelay = time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, bytes.TrimSpace(said[max(0, len(said)-maxSaid):]))
	}
	s.report.line("made the cluster in %v", since(begun))
	return os.Rename(fresh, s.cluster.data())
}

// maker returns the command that makes the cluster in folder.
func (s *Server) maker(ctx context.Context, folder string) *exec.Cmd {
	if s.options.copyOf != nil {
		return s.copier(ctx, folder)
	}
	args := []string{"-D", folder, "-U", s.options.Database, "--pwfile=" + s.cluster.passwordFile(), "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"}
	if s.options.Settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	return exec.CommandContext(ctx, s.binaries.path("initdb"), args...)
}

// createDatabase makes the database unless it is there.
func (s *Server) createDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // it copies 8 MB of template1
	defer cancel()
	return s.connected(ctx, "postgres", func(conn *pgx.Conn) error {
		var there bool
		if err := conn.QueryRow(ctx, "select exists(select from pg_database where datname = $1)", s.options.Database).Scan(&there); err != nil || there {
			return err
		}
		if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{s.options.Database}.Sanitize()); err != nil {
			return fmt.Errorf("making database %q: %w", s.options.Database, err)
		}
		return nil
	})
}
