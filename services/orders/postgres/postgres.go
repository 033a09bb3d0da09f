// Package postgres runs a real PostgreSQL for a program that wants a database and no administrator: it finds or
// downloads the binaries, makes the cluster, starts it on a loopback port and takes it down again.
//
// PostgreSQL never outlives its owner. It is the child of a keeper, which is this program executed once more (see
// Helper): the keeper holds the end of a pipe and stops PostgreSQL when the owner closes it, also by being killed.
// PostgreSQL refuses to run as root; there keeper and cluster belong to an unprivileged user.
//
// It is not a client (that is pgx), not for a PostgreSQL that somebody else administers (give its DSN to the
// service instead), and knows nothing of what is stored.
//
// A Server owns one goroutine while PostgreSQL runs, which waits for the keeper; Stop and Kill wait for it.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"time"
)

// Database is the name of the database and of its owner, the role that DSN names.
const Database = "orders"

// startTimeout bounds the wait for PostgreSQL to accept connections: crash recovery replays at most max_wal_size
// (1 GB by default) of log, which takes a slow disk a minute or two.
const startTimeout = 5 * time.Minute

// Options says which PostgreSQL to run and where.
type Options struct {
	Folder   string            // holds the cluster, the password, the log; made if missing
	Bin      string            // folder of initdb and postgres; "": downloaded, or else one found on the machine
	Address  string            // loopback host:port; "" or port 0: a free port of 127.0.0.1
	Settings map[string]string // of postgresql.conf, over the defaults of this package
	Progress io.Writer         // lines for people about what takes long; nil: none
	Log      *slog.Logger      // warnings; nil: none
}

// Server is a PostgreSQL that this process owns.
type Server struct {
	options  Options
	cluster  cluster
	binaries binaries
	address  address
	progress progress
	owner    *lock
	failed   chan error // capacity 1: the first end that nobody asked for

	mu  sync.Mutex // over the calls below, and run
	run *run       // nil: stopped
}

// Start runs a PostgreSQL in o.Folder and returns when it accepts connections and has the database. The first start
// makes the cluster. It waits, for at most 5 minutes, for crash recovery and for a PostgreSQL whose owner was killed
// a moment ago to finish. The program must have called Helper first thing.
func Start(ctx context.Context, o Options) (*Server, error) {
	if !helperCalled.Load() {
		return nil, errors.New("postgres: the program must call postgres.Helper() as the first line of main, or of TestMain")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, progress: progress{to: o.Progress}, failed: make(chan error, 1)}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("PostgreSQL in %s: %w", o.Folder, err)
	}
	return s, nil
}

// open does what Start does; it leaves nothing behind when it fails.
func (s *Server) open(ctx context.Context) (err error) {
	if s.address, err = chooseAddress(s.options.Address); err != nil {
		return err
	}
	if s.cluster, err = openCluster(s.options.Folder); err != nil {
		return err
	}
	if s.owner, err = s.cluster.own(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.owner.release()
		}
	}()
	if s.binaries, err = chooseBinaries(ctx, s.options, s.cluster, s.progress); err != nil {
		return err
	}
	if err = s.start(ctx); err != nil {
		return err
	}
	if err = s.createDatabase(ctx); err != nil {
		return errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return nil
}

// DSN returns the URL of the database "orders". It stays the same over Restart.
func (s *Server) DSN() string { return s.dsn(Database) }

func (s *Server) dsn(database string) string {
	return dsn(s.cluster.password, s.address.String(), database)
}

func dsn(password, address, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(Database, password), Host: address, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Address returns host:port that PostgreSQL listens on.
func (s *Server) Address() string { return s.address.String() }

// Bin returns the folder of the binaries in use.
func (s *Server) Bin() string { return s.binaries.folder }

// Failed delivers an error when PostgreSQL ended and neither Stop nor Kill was called.
func (s *Server) Failed() <-chan error { return s.failed }

// Restart starts PostgreSQL again, on the same address, after Stop, after Kill or after it ended by itself.
func (s *Server) Restart(ctx context.Context) error {
	owner, err := s.cluster.own()
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		owner.release()
		return fmt.Errorf("PostgreSQL in %s: %w", s.options.Folder, err)
	}
	s.mu.Lock()
	s.owner = owner
	s.mu.Unlock()
	return nil
}
