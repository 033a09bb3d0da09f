// Package mirror streams verified ledgers to other services over gRPC: from an index on, in order,
// without a gap, and then each new ledger as it is stored. The wire format is mirrorpb's.
//
//	m := mirror.New(mirror.Config{Store: s})
//	go m.Serve(listener)
//	m.Publish(ledger)  // after it was stored
//	m.Stop(ctx)
//
// A stream is a cursor: the next ledger comes from the newest few, which are kept in memory, or
// else from the store, or the stream waits for it. So a slow consumer costs no more memory than a
// fast one (it is fed from the store until it has caught up), and no ledger can be left out. A
// subscriber has one stream: a new StartSync ends the one before and waits until that has sent its
// last ledger.
//
// It is not for proving (ledgers in the store are proved) nor for queries (services/ledger/serve),
// and authenticates no client: any client that reaches it may follow, and may take another's stream
// by using its name.
//
// Each StartSync owns one goroutine beside gRPC's own. Stop ends them all and waits for them.
package mirror

import (
	"cmp"
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

	"dyno/services/ledger/mirror/mirrorpb"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// MaxMessage is the largest message that is sent, in bytes; clients must allow it, because real
// ledgers have up to several MB, which is more than gRPC accepts by default.
const MaxMessage = 64 << 20

// Store is the source of ledgers: services/ledger/store.
type Store interface {
	Stored() history.Set
	// Ledger reads a ledger into its own memory. store.ErrMissing means that it is not stored.
	Ledger(index uint32, into *xrpl.Ledger) error
}

// Config configures a mirror. The zero values are the documented defaults.
type Config struct {
	Store   Store
	Metrics prometheus.Registerer // nil: none

	Recent      int   // ledgers kept in memory; 0: 64, four minutes of the tip
	RecentBytes int64 // maximum bytes of the ledgers kept in memory; 0: 32 MiB
	Subscribers int   // maximum of concurrent streams; 0: 64
}

func (c Config) withDefaults() Config {
	c.Recent, c.RecentBytes, c.Subscribers = cmp.Or(c.Recent, 64), cmp.Or(c.RecentBytes, 32<<20), cmp.Or(c.Subscribers, 64)
	return c
}

// Keepalive of connections. A vanished peer's stream ends after a minute and a half.
const (
	pingAfter   = time.Minute      // of silence
	pingTimeout = 30 * time.Second // for the reply
	minPing     = 10 * time.Second // a client that pings more often is disconnected
	streams     = 128              // per connection
	handshake   = 10 * time.Second // for a client to begin HTTP/2; it has a place of others meanwhile
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

// New makes a mirror. It starts no goroutine.
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
		grpc.ConnectionTimeout(handshake),
		grpc.MaxHeaderListSize(64<<10),
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

// Serve answers requests until Stop, and then returns nil. It closes the listener.
func (m *Mirror) Serve(l net.Listener) error {
	if err := m.server.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Publish says that ledgers have been stored; the caller calls it after they are durable, in any
// order. Publish copies the bytes it keeps, and never waits for a subscriber.
func (m *Mirror) Publish(ledgers ...*xrpl.Ledger) {
	m.mu.Lock()
	keep := len(m.followers) > 0
	m.mu.Unlock()
	m.recent.publish(ledgers, keep)
}

// Stop ends every stream (UNAVAILABLE, so that clients retry here or at another server) and the
// server, and waits for them. When ctx ends first it closes the connections, including those in
// use.
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
