package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// run is one run of PostgreSQL, under its keeper.
type run struct {
	owner  *lock // on the folder
	keeper *exec.Cmd
	orders *os.File // its end ends PostgreSQL
	said   tail     // by the keeper, when it ends with an error

	err  error         // set before done is closed
	done chan struct{} // closed when PostgreSQL and the keeper are gone

	over       bool // its end has been handled; guarded by Server.mu
	goroutines sync.WaitGroup
}

// start makes the cluster if there is none, and runs PostgreSQL until it accepts connections.
// Server.mu is held.
func (s *Server) start(ctx context.Context, owner *lock) (*run, error) {
	held, err := s.cluster.unused(ctx, s.progress)
	if err != nil {
		return nil, err
	}
	defer held.release()
	if err := s.cluster.give(s.cluster.serverLock()); err != nil {
		return nil, err
	}
	if err := s.install(ctx, held); err != nil {
		return nil, err
	}
	if err := s.address.free(); err != nil {
		return nil, fmt.Errorf("its address is taken: %w", err)
	}
	r, err := s.launch(held)
	if err != nil {
		return nil, err
	}
	r.goroutines.Go(r.wait)
	if err := s.ready(ctx, r); err != nil {
		r.stop(context.WithoutCancel(ctx)) // what it says is of no interest beside err
		r.goroutines.Wait()
		return nil, err
	}
	r.owner = owner
	r.goroutines.Go(func() { s.watch(r) })
	return r, nil
}

// install sees to the binaries, the password and the cluster; after the first start they are all
// there.
func (s *Server) install(ctx context.Context, held *lock) (err error) {
	if s.binaries.folder == "" {
		if s.binaries, err = s.source.choose(ctx, s.options.Bin); err != nil {
			return err
		}
	}
	if s.cluster.password == "" {
		if s.cluster.password, err = s.cluster.readPassword(s.options.copyOf); err != nil {
			return err
		}
	}
	return s.initialize(ctx, held)
}

// launch starts a keeper with PostgreSQL below it. Both, and all their children, inherit the lock.
func (s *Server) launch(held *lock) (*run, error) {
	args := append([]string{s.cluster.log(), s.binaries.path("postgres")}, s.arguments()...)
	keeper, err := helper("keep", args...)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	r := &run{keeper: s.cluster.as(keeper), orders: write, done: make(chan struct{})}
	keeper.Stdin, keeper.Stderr = read, &r.said
	keeper.ExtraFiles = []*os.File{held.file}
	keeper.WaitDelay = time.Second // for its stderr: no other process has it open
	if err := keeper.Start(); err != nil {
		write.Close()
		return nil, fmt.Errorf("executing this program once more to keep PostgreSQL: %w", err)
	}
	return r, nil
}

// wait waits for the keeper, which waits for PostgreSQL.
func (r *run) wait() {
	defer close(r.done)
	if err := r.keeper.Wait(); err != nil {
		r.err = fmt.Errorf("%w: %s", err, lastBytes(r.said.text, len(r.said.text)))
	}
}

// release releases what a finished run held.
func (r *run) release() {
	r.over = true
	r.orders.Close()
	r.owner.release()
}

// ready waits until PostgreSQL accepts connections.
func (s *Server) ready(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	wait := s.progress.begin("waiting for PostgreSQL to accept connections; after a crash it recovers first")
	defer wait.end()
	for {
		conn, err := pgx.Connect(ctx, s.dsn("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		if refused(err) {
			return err
		}
		wait.tick()
		select {
		case <-r.done:
			return fmt.Errorf("it ended while it started: %w", r.err)
		case <-time.After(poll):
		case <-ctx.Done():
			return fmt.Errorf("it does not accept connections: %w (%w)", ctx.Err(), err)
		}
	}
}

// poll is the time between two looks at something that takes from 0.1 s to minutes.
const poll = 20 * time.Millisecond

// refused reports whether the server refused for good, unlike one that is still starting.
func refused(err error) bool {
	const cannotConnectNow = "57P03" // it starts, recovers or shuts down
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code != cannotConnectNow
}

// fastLimit bounds a fast shutdown when the caller does not: its checkpoint writes out
// shared_buffers.
const fastLimit = 60 * time.Second

// stop ends PostgreSQL the softest way that works in time.
func (r *run) stop(ctx context.Context) error {
	defer r.orders.Close()
	ctx, cancel := context.WithTimeout(ctx, fastLimit)
	defer cancel()
	r.orders.Write([]byte{orderFast}) // an error: the keeper is gone, which done shows
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(immediateGrace)
	defer timer.Stop()
	r.orders.Write([]byte{orderImmediate})
	select {
	case <-r.done:
		return fmt.Errorf("stopping PostgreSQL: %w; it was stopped immediately and recovers at its next start", ctx.Err())
	case <-timer.C:
		return errors.Join(fmt.Errorf("stopping PostgreSQL: %w; it was killed and recovers at its next start", ctx.Err()), r.kill())
	}
}

// kill kills PostgreSQL, and the keeper when that does not do it.
func (r *run) kill() error {
	defer r.orders.Close()
	r.orders.Write([]byte{orderKill})
	timer := time.NewTimer(30 * time.Second) // a killed process is gone when the kernel has freed its memory
	defer timer.Stop()
	select {
	case <-r.done:
		return nil
	case <-timer.C:
	}
	r.keeper.Process.Kill()
	<-r.done
	return errors.New("the keeper did not kill PostgreSQL within 30 s, and was killed itself")
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-2*maxTail):]
	return len(text), nil
}
