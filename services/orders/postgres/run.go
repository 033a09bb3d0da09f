package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"dyno/parts/freeport"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// run is one run of PostgreSQL.
type run struct {
	*process
	owner *os.File // the lock on the folder

	over  bool           // its end has been handled; guarded by Server.mu
	watch sync.WaitGroup // the goroutine that waits for its end
}

// release releases what a finished run held.
func (r *run) release() {
	r.over = true
	r.owner.Close()
}

// start makes the cluster if there is none, and runs PostgreSQL until it accepts connections.
// Server.mu is held.
func (s *Server) start(ctx context.Context, owner *os.File) (*run, error) {
	held, err := s.cluster.unused(ctx, s.report)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if err := s.cluster.give(s.cluster.serverLock()); err != nil {
		return nil, err
	}
	if err := s.install(ctx, held); err != nil {
		return nil, err
	}
	if err := freeport.Check(s.address.AddrPort); err != nil {
		return nil, fmt.Errorf("its address is taken: %w", err)
	}
	p, err := startKeeper(s.cluster.as, held, s.cluster.log(), s.binaries.path("postgres"), s.arguments()...)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx, p); err != nil {
		p.Stop(context.WithoutCancel(ctx)) // what it says is of no interest beside err
		return nil, err
	}
	r := &run{process: p, owner: owner}
	r.watch.Go(func() { s.await(r) })
	return r, nil
}

// install sees to the binaries, the password and the cluster; after the first start they are all
// there.
func (s *Server) install(ctx context.Context, held *os.File) (err error) {
	if s.binaries.folder == "" {
		made, err := s.cluster.version()
		if err != nil {
			return err
		}
		if s.binaries, err = s.source.choose(ctx, s.options.Bin, existing{folder: s.cluster.data(), major: made}); err != nil {
			return err
		}
	}
	if s.cluster.password == "" {
		if s.cluster.password, err = s.cluster.readPassword(s.options.Database, s.options.copyOf); err != nil {
			return err
		}
	}
	return s.initialize(ctx, held)
}

// ready waits until PostgreSQL accepts connections.
func (s *Server) ready(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var last error
	err := s.report.wait(ctx, "waiting for PostgreSQL to accept connections; after a crash it recovers first", func() (bool, error) {
		var conn *pgx.Conn
		if conn, last = pgx.Connect(ctx, s.dsn("postgres")); last == nil {
			return true, conn.Close(ctx)
		}
		select {
		case <-p.Done():
			return false, fmt.Errorf("it ended while it started: %w", p.Err())
		default:
		}
		if refused(last) {
			return false, last
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("it does not accept connections: %w (%w)", ctx.Err(), last)
	}
	return err
}

// refused reports whether the server refused for good, unlike one that is still starting.
func refused(err error) bool {
	const cannotConnectNow = "57P03" // it starts, recovers or shuts down
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code != cannotConnectNow
}
