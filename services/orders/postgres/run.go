package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// run is one run of PostgreSQL, under its keeper.
type run struct {
	keeper *exec.Cmd
	orders *os.File // its end ends PostgreSQL
	said   tail     // by the keeper, when it ends with an error

	asked bool          // to end; guarded by Server.mu
	err   error         // set before done is closed
	done  chan struct{} // PostgreSQL and the keeper are gone
}

// defaults are the settings that Options.Settings goes over.
var defaults = map[string]string{
	"max_connections":            "100",
	"shared_buffers":             "128MB",
	"synchronous_commit":         "on",
	"wal_level":                  "logical", // for a cache that follows the log
	"max_replication_slots":      "10",
	"max_wal_senders":            "10",
	"unix_socket_directories":    "",    // TCP only: a socket in the data folder would soon have too long a name
	"timezone":                   "UTC", // of sessions that ask for none
	"log_timezone":               "UTC",
	"log_line_prefix":            "%m [%p] ",
	"lc_messages":                "C",
	"logging_collector":          "off", // the keeper writes the log, so that it is bounded
	"log_min_duration_statement": "-1",
}

// arguments returns postgres's command line.
func (s *Server) arguments() []string {
	settings := maps.Clone(defaults)
	maps.Copy(settings, s.options.Settings)
	settings["listen_addresses"] = s.address.Addr().String()
	settings["port"] = fmt.Sprint(s.address.Port())
	args := []string{"-D", s.cluster.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// start makes the cluster if there is none, and runs PostgreSQL until it accepts connections.
func (s *Server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return errors.New("it runs already")
	}
	held, err := s.cluster.unused(ctx, s.progress)
	if err != nil {
		return err
	}
	defer held.release()
	if err := s.cluster.initialize(ctx, s.binaries, s.progress, s.options.Settings["fsync"] != "off"); err != nil {
		return err
	}
	if err := s.choosePort(); err != nil {
		return err
	}
	r, err := s.launch(held)
	if err != nil {
		return err
	}
	if err := s.ready(ctx, r); err != nil {
		r.asked = true
		r.end(context.WithoutCancel(ctx))
		return err
	}
	s.run = r
	go s.watch(r)
	return nil
}

// choosePort looks for another port when the one chosen has been taken meanwhile.
func (s *Server) choosePort() (err error) {
	if err = s.address.free(); err != nil && s.address.chosen {
		s.address, err = freePort(s.address.Addr())
	}
	return err
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
	keeper.WaitDelay = time.Second
	if err := keeper.Start(); err != nil {
		write.Close()
		return nil, fmt.Errorf("executing this program once more to keep PostgreSQL: %w", err)
	}
	go func() {
		defer close(r.done)
		if err := keeper.Wait(); err != nil {
			r.err = fmt.Errorf("%w: %s", err, r.said.text)
		}
	}()
	return r, nil
}

// watch waits for the end of a run and tells the one that nobody asked for.
func (s *Server) watch(r *run) {
	<-r.done
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.asked {
		return
	}
	r.orders.Close()
	s.run = nil
	s.owner.release()
	select {
	case s.failed <- fmt.Errorf("PostgreSQL in %s ended by itself: %v", s.options.Folder, r.err):
	default: // one is waiting to be read
	}
}

// ready waits until PostgreSQL accepts connections.
func (s *Server) ready(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	wait := s.progress.begin("waiting for PostgreSQL to accept connections")
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
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("it does not accept connections: %w (%w)", ctx.Err(), err)
		}
	}
}

// refused tells an answer that waiting does not change from that of a server on its way up.
func refused(err error) bool {
	const cannotConnectNow = "57P03" // it starts up, recovers or shuts down
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code != cannotConnectNow
}

// Stop ends the sessions, has PostgreSQL write a checkpoint, and waits until it is gone. When ctx ends first, or 60 s
// have passed, it is stopped the hard way, and its next start recovers. Nil also when it was not running.
func (s *Server) Stop(ctx context.Context) error {
	return s.finish(func(r *run) error { return r.end(ctx) })
}

// Kill sends SIGKILL to the postmaster and its children and waits until they are gone. It is for tests and trials.
func (s *Server) Kill() error {
	return s.finish(func(r *run) error { return r.kill() })
}

func (s *Server) finish(end func(*run) error) error {
	s.mu.Lock()
	r := s.run
	if r == nil {
		s.mu.Unlock()
		return nil
	}
	r.asked = true
	s.mu.Unlock()
	err := end(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r {
		s.run = nil
		s.owner.release()
	}
	return err
}

// fastLimit bounds a fast shutdown when the caller does not: its checkpoint writes out shared_buffers.
const fastLimit = 60 * time.Second

// end stops PostgreSQL the softest way that works in time.
func (r *run) end(ctx context.Context) error {
	defer r.orders.Close()
	ctx, cancel := context.WithTimeout(ctx, fastLimit)
	defer cancel()
	r.orders.Write([]byte{orderFast}) // an error: the keeper is gone, and done tells
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), immediateGrace)
	defer cancel()
	r.orders.Write([]byte{orderImmediate})
	select {
	case <-r.done:
		return fmt.Errorf("stopping PostgreSQL: %w; it was stopped at once and recovers at its next start", ctx.Err())
	case <-hard.Done():
		return errors.Join(fmt.Errorf("stopping PostgreSQL: %w; it was killed and recovers at its next start", ctx.Err()), r.kill())
	}
}

// kill kills PostgreSQL, and the keeper when that does not do it.
func (r *run) kill() error {
	defer r.orders.Close()
	r.orders.Write([]byte{orderKill})
	timer := time.NewTimer(30 * time.Second) // the kernel frees the memory of a killed process before it reports it
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
