package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/parts/doors"
	"dyno/services/ledger/mirror"
	"dyno/services/ledger/serve"
	"dyno/services/ledger/xrpl"
)

// server is ledgersync serve: queries over HTTP, ledgers over gRPC, optionally the tip.
type server struct {
	request
	grpc   string
	follow bool
	id     uint32 // --network-id
	flags  *pflag.FlagSet

	home
	http   *serve.Server
	mirror *mirror.Mirror // nil: no --grpc

	cancel context.CancelFunc // ends the goroutines of runs
	runs   sync.WaitGroup     // mirror, indexing and follower
}

func (s *server) declare(f *pflag.FlagSet) {
	s.flags = f
	f.StringVar(&s.grpc, "grpc", "", "address `HOST:PORT` of the gRPC stream of ledgers for other services; default: no stream")
	f.BoolVar(&s.follow, "follow", false, "follow the tip of the servers of --server, as the command follow does")
	f.Uint32Var(&s.id, "network-id", 0, "`ID` of the network for server_info, 0 for the main network; default: as the servers said that the ledgers are from")
	s.declareServers(f)
}

// network is the id of the network: the given one, or the one that the servers said.
func (s *server) network() *uint32 {
	if s.flags.Changed("network-id") {
		return &s.id
	}
	return s.store.Network()
}

func (s *server) start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	if err := s.open(ctx, running, env); err != nil {
		return daemon.Running{}, errors.Join(err, s.stop(ctx))
	}
	return daemon.Running{Handler: s.http, Refuse: s.http.Forbid, WriteTimeout: env.ReadTimeout, Ready: s.http.Ready, Drain: s.stop}, nil
}

func (s *server) open(ctx, running context.Context, env *daemon.Env) (err error) {
	if s.home, err = openHome(env); err != nil {
		return err
	}
	s.http = serve.New(serve.Config{Store: s.store, Network: s.network, Log: s.env.Log})
	if err := s.http.Warm(ctx); err != nil {
		return err
	}
	if s.grpc != "" {
		l, err := daemon.Listen(s.grpc, doors.Private("grpc", s.env.Log))
		if err != nil {
			return err
		}
		s.mirror = mirror.New(mirror.Config{Store: s.store, Metrics: s.env.Metrics})
		s.env.Log.Info("mirror", "grpc", l.Addr().String())
		s.runs.Go(func() {
			if err := s.mirror.Serve(l); err != nil {
				s.env.Fail(fmt.Errorf("--grpc: %w", err))
			}
		})
	}
	s.runs.Go(func() {
		if err := indexAccounts(running, s.env, s.store); err != nil && running.Err() == nil {
			s.env.Log.Error("account_tx does not find all stored ledgers", "error", err)
		}
	})
	if !s.follow {
		s.env.Board("/debug/ledger/", board)
		s.warn()
		return nil
	}
	p, err := s.openToFollow(ctx, s.home, s.flags.Changed)
	if err != nil {
		return err
	}
	p.writing.Stored = s.stored
	s.runs.Go(func() {
		if err := errors.Join(p.follow(running), p.close()); err != nil && running.Err() == nil {
			s.env.Fail(err)
		}
	})
	return nil
}

// warn logs what clients would miss.
func (s *server) warn() {
	if len(s.store.Stored()) > 0 && s.network() == nil {
		s.env.Log.Warn("the network's id is not known, so server_info lacks network_id, and some clients do not connect: give --network-id, 0 for the main network")
	}
	if len(s.store.Stored()) == 0 {
		s.env.Log.Warn("the folder has no ledgers yet, so there is nothing to serve: stop this process and fill the folder with ledgersync sync or ledgersync unpack, or serve with --follow", "data", s.env.Data)
	}
}

func (s *server) stored(ledgers []*xrpl.Ledger) {
	if err := s.http.Stored(ledgers...); err != nil {
		s.env.Log.Warn("rendering the newest ledgers", "error", err)
	}
	if s.mirror != nil {
		s.mirror.Publish(ledgers...)
	}
}

func (s *server) stop(ctx context.Context) error {
	s.cancel()
	if s.http != nil {
		s.http.Close(ctx)
	}
	if s.mirror != nil {
		s.mirror.Stop(ctx)
	}
	s.runs.Wait()
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
