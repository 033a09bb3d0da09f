// Package postgres runs a real PostgreSQL for a program that wants a database and no administrator:
// it makes the cluster, starts it on a loopback port and takes it down again. Its programs are
// those that were downloaded before, those that are downloaded now, or those that a package manager
// has put on the machine. PostgreSQL never outlives its owner: it is the child of a keeper, which
// is the owner's program executed once more (see KeeperMain).
//
// PostgreSQL refuses to run as root; when root starts it, keeper and cluster belong to an
// unprivileged user.
//
// It is not a client (that is pgx), not for a PostgreSQL that other people administer (give its DSN
// to the program instead), and knows nothing of what is stored. Its errors advise the flags --data,
// --postgres-bin and --dsn, as a program that uses it should have.
//
// A Server owns two goroutines while PostgreSQL runs: one waits for the keeper and one for
// PostgreSQL's end. Stop and Kill wait for them.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"dyno/parts/freeport"
)

// startTimeout bounds the wait for PostgreSQL to accept connections: crash recovery replays at most
// max_wal_size (1 GB by default) of log, which takes a slow disk a minute or two.
const startTimeout = 5 * time.Minute

// Options says which PostgreSQL to run and where.
type Options struct {
	Folder   string            // holds the cluster, the password, the log; made if missing
	Bin      string            // folder of initdb and postgres; "": downloaded, or else one found on the machine
	Address  string            // loopback host:port; "" or port 0: a free port of 127.0.0.1
	Settings map[string]string // of postgresql.conf, over the defaults of this package
	Database string            // to have, and the name of its owner, a superuser; "": postgres
	Progress io.Writer         // lines for people about what takes long; nil: none
	Log      *slog.Logger      // warnings; nil: none

	copyOf *Server // what a standby is a copy of; nil: the cluster is new
}

// Server is a PostgreSQL that this process owns.
type Server struct {
	options  Options
	source   source
	cluster  cluster
	binaries binaries // set at the first start, as is the password
	address  address
	report   reporter
	failed   chan error // capacity 1: the first unexpected end

	mu  sync.Mutex // over start and stop, and what follows
	run *run       // the last one; nil: there was none
}

// Start runs a PostgreSQL in o.Folder and returns when it accepts connections and has the database.
// The first start makes the cluster. It waits, for at most 5 minutes, for crash recovery, and for
// half a minute for a PostgreSQL whose owner was killed a moment ago. The program must have called
// KeeperMain first thing.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := prepare(o)
	if err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL in %s: %w", o.Folder, err)
	}
	return s, nil
}

// prepare is what comes before the first start and needs no lock on the folder.
func prepare(o Options) (*Server, error) {
	if err := checkMain(); err != nil {
		return nil, err
	}
	o.Database, o.Log = cmp.Or(o.Database, "postgres"), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Server{options: o, report: reporter{to: o.Progress}, failed: make(chan error, 1)}
	var err error
	if s.address, err = chooseAddress(o.Address); err != nil {
		return nil, err
	}
	if s.cluster, err = openCluster(o.Folder); err != nil {
		return nil, err
	}
	s.source = newSource(s.cluster.user, s.cluster.downloads(), o.Log, s.report)
	return s, nil
}

// begin is the first start. A port that was chosen may be taken a moment later; then it is not the
// last choice.
func (s *Server) begin(ctx context.Context) error {
	err := s.Restart(ctx)
	for range 2 {
		if err == nil || !s.address.chosen || freeport.Check(s.address.AddrPort) == nil {
			break
		}
		if s.address, err = freePort(s.address.Addr()); err == nil {
			err = s.Restart(ctx)
		}
	}
	if err != nil {
		return err
	}
	if err := s.createDatabase(ctx); err != nil {
		return errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return nil
}

// DSN returns the URL of the database as its owner. It stays the same over Restart.
func (s *Server) DSN() string { return s.dsn(s.options.Database) }

func (s *Server) dsn(database string) string {
	return dsnOf(s.options.Database, s.cluster.password, s.address.String(), database)
}

func dsnOf(role, password, address, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, password), Host: address, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Address returns host:port that PostgreSQL listens on.
func (s *Server) Address() string { return s.address.String() }

// Bin returns the folder of the binaries in use.
func (s *Server) Bin() string { return s.binaries.folder }

// Failed delivers an error when PostgreSQL ended and neither Stop nor Kill was called.
func (s *Server) Failed() <-chan error { return s.failed }

// Restart starts PostgreSQL again, on the same address, after Stop, after Kill or after an
// unexpected end.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && !s.run.over {
		return errors.New("it runs already")
	}
	owner, err := s.cluster.own()
	if err != nil {
		return err
	}
	r, err := s.start(ctx, owner)
	if err != nil {
		owner.Close()
		return err
	}
	s.run = r
	return nil
}

// Stop ends the sessions, has PostgreSQL write a checkpoint, and waits until it is gone. When ctx
// ends first, or 60 s have passed, it is stopped immediately and recovers at its next start; the
// error says so. Nil when it was not running.
func (s *Server) Stop(ctx context.Context) error {
	return s.finish(func(r *run) error { return r.Stop(ctx) })
}

// Kill sends SIGKILL to the postmaster and its children and waits until they are gone. It is for
// tests and trials.
func (s *Server) Kill() error {
	return s.finish(func(r *run) error { return r.Kill() })
}

func (s *Server) finish(end func(*run) error) error {
	s.mu.Lock()
	r := s.run
	var err error
	if r != nil && !r.over {
		err = end(r)
		r.release()
	}
	s.mu.Unlock()
	if r != nil {
		r.watch.Wait()
	}
	return err
}

// await waits for the end of a run, and reports an unexpected one.
func (s *Server) await(r *run) {
	<-r.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.over {
		return
	}
	r.release()
	err := r.Err()
	if err == nil {
		err = errors.New("another process stopped it")
	}
	select {
	case s.failed <- fmt.Errorf("PostgreSQL in %s ended unexpectedly: %w", s.options.Folder, err):
	default: // an earlier one has not been read
	}
}
