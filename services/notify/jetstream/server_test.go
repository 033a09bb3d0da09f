package jetstream

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/wal"
	"dyno/parts/wal/waltest"
	"dyno/services/notify/jetstream/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that takes larger batches and messages than its defaults.
func serve(t testing.TB, dir string) *natstest.Server {
	t.Helper()
	return natstest.Start(t, natstest.Options{Dir: dir, MaxPayload: 8 << 20, MaxBatch: 20_000})
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
	s := serve(t, t.TempDir())
	streams := map[string]string{}
	waltest.Test(t, func(t testing.TB, dir string) wal.Backend {
		if streams[dir] == "" {
			streams[dir] = fmt.Sprintf("log-%d", len(streams))
		}
		return mustOpen(t, Config{URL: s.URL, Stream: streams[dir]})
	})
}
