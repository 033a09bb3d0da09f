// Package mirror lets other services follow verified ledgers over gRPC: from an index on, in order, without a gap, and
// then on and on as ledgers are stored. The wire format is mirrorpb's.
//
//	m := mirror.New(mirror.Config{Store: s})
//	go m.Serve(listener)
//	m.Publish(ledger)  // after it was stored
//	m.Stop(ctx)
//
// A stream is a cursor: the next ledger comes from the few newest that are kept in memory, or else from the store, or is
// waited for. So a slow consumer costs no more memory than a fast one (it is fed from the store until it has caught up),
// and nothing can be left out. A subscriber has one stream: a new StartSync ends the one before and waits until it has
// sent its last.
//
// It is not for proving (what is in the store has been proved), not for queries (services/ledger/serve), and asks nobody
// who they are: whoever can reach it may follow, and may take another's stream by using its name.
//
// Each StartSync owns one goroutine beside gRPC's own. Stop ends them all and waits for them.
package mirror

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/mirror/mirrorpb"
)

// MaxMessage is the largest message that is sent, in bytes, for clients to allow: real ledgers have up to some MB, which
// is more than gRPC takes by default.
const MaxMessage = 64 << 20

// Store is where ledgers come from: services/ledger/store.
type Store interface {
	Stored() history.Set
	// Ledger reads a ledger into memory of its own. store.ErrMissing: it is not stored.
	Ledger(index uint32, into *xrpl.Ledger) error
}

// Config is how a mirror runs. The zero values are the documented defaults.
type Config struct {
	Store   Store
	Metrics prometheus.Registerer // nil: none

	Recent      int   // ledgers kept in memory; 0: 64, four minutes of the tip
	RecentBytes int64 // of these at most; 0: 32 MiB
	Subscribers int   // streams at once; 0: 64
}

func (c Config) withDefaults() Config {
	if c.Recent <= 0 {
		c.Recent = 64
	}
	if c.RecentBytes <= 0 {
		c.RecentBytes = 32 << 20
	}
	if c.Subscribers <= 0 {
		c.Subscribers = 64
	}
	return c
}

// How connections are kept. A peer that vanished is noticed after a minute and a half, and its stream ends.
const (
	pingAfter   = time.Minute      // of silence
	pingTimeout = 30 * time.Second // for the answer
	minPing     = 10 * time.Second // a client that pings more often is cut off
	streams     = 128              // on one connection
)

// Mirror is the gRPC server. New makes it.
type Mirror struct {
	mirrorpb.UnimplementedMirrorServer
	config  Config
	server  *grpc.Server
	health  *health.Server
	recent  *recent
	metrics *metrics

	mu        sync.Mutex
	followers map[string]*follower // by subscriber
	stopped   bool
	running   sync.WaitGroup // followers
}

// New makes a mirror that is not served yet. It starts nothing.
func New(c Config) *Mirror {
	c = c.withDefaults()
	m := &Mirror{config: c, health: health.NewServer(), recent: newRecent(c.Recent, c.RecentBytes), followers: map[string]*follower{}}
	calls := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
	m.metrics = newMetrics(m, calls, c.Metrics)
	m.server = grpc.NewServer(
		grpc.ChainUnaryInterceptor(calls.UnaryServerInterceptor()),
		grpc.ChainStreamInterceptor(calls.StreamServerInterceptor()),
		grpc.MaxSendMsgSize(MaxMessage),
		grpc.MaxRecvMsgSize(64<<10), // requests are a name and a number
		grpc.MaxConcurrentStreams(streams),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	mirrorpb.RegisterMirrorServer(m.server, m)
	healthpb.RegisterHealthServer(m.server, m.health)
	reflection.Register(m.server)
	calls.InitializeMetrics(m.server)
	m.health.SetServingStatus(mirrorpb.Mirror_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	return m
}

// Serve answers until Stop, and then returns nil. It closes the listener.
func (m *Mirror) Serve(l net.Listener) error {
	if err := m.server.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Publish says that ledgers have been stored; it is called after they are durable, in any order. Their bytes are copied
// where they are kept. It never waits for a subscriber.
func (m *Mirror) Publish(ledgers ...*xrpl.Ledger) {
	m.mu.Lock()
	keep := len(m.followers) > 0
	m.mu.Unlock()
	m.recent.publish(ledgers, keep)
}

// Stop ends every stream (UNAVAILABLE, so that clients try elsewhere or again) and the server, and waits for them. When
// ctx ends first it closes the connections, whatever is under way.
func (m *Mirror) Stop(ctx context.Context) {
	m.health.Shutdown()
	m.mu.Lock()
	m.stopped = true
	for _, f := range m.followers {
		f.end(errStopping)
	}
	m.mu.Unlock()
	forced := make(chan struct{})
	inTime := context.AfterFunc(ctx, func() { m.server.Stop(); close(forced) })
	m.server.GracefulStop()
	if !inTime() {
		<-forced
	}
	m.running.Wait()
}
