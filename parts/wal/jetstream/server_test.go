package jetstream

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"dyno/parts/wal"
	"dyno/parts/wal/waltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that makes everything durable before it answers, in a folder.
func serve(t testing.TB, dir string, set ...func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: true,
		MaxPayload:      8 << 20,
		JetStreamLimits: server.JSLimitOpts{MaxBatchSize: 20_000},
	}
	for _, f := range set {
		f(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { shutdown(s) })
	return s
}

func shutdown(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func ready(t testing.TB, s *server.Server) *server.Server {
	t.Helper()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not come up")
	}
	return s
}

func mustOpen(t testing.TB, c Config) *store {
	t.Helper()
	if c.Stream == "" {
		c.Stream = "notices"
	}
	s, err := open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	s := ready(t, serve(t, t.TempDir()))
	streams := map[string]string{}
	waltest.Test(t, func(t testing.TB, dir string) wal.Backend {
		if streams[dir] == "" {
			streams[dir] = fmt.Sprintf("log-%d", len(streams))
		}
		return mustOpen(t, Config{URL: s.ClientURL(), Stream: streams[dir]})
	})
}
