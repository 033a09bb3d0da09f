//go:build linux

package notify

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/quicktest"
	"dyno/parts/wal"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/jetstream"
	"dyno/services/notify/jetstream/natstest"
)

// turnstile is a log whose writes take a token each.
type turnstile struct {
	wal.Limited
	writes atomic.Int64 // that have begun
	tokens chan struct{}
}

func (l *turnstile) Write(batches [][][]byte) error {
	l.writes.Add(1)
	<-l.tokens
	return l.Limited.Write(batches)
}

// While the servers are away, all clients of a front wait for two writes at most: that which is under
// way, and one for all of them. When the servers are back, so is the front.
func TestFrontOnJetStreamThatIsAway(t *testing.T) {
	quicktest.Skip(t, "waits 10 s for servers that are away")
	t.Parallel()
	dir := t.TempDir()
	server := natstest.Start(t, natstest.Options{Dir: dir})
	log := &turnstile{tokens: make(chan struct{}, 1000)}
	s := newFronted(t, "loop", func(c *Config) {
		c.testing.openBackend = func(_ dispatch.StoreOptions, name string) (wal.Backend, error) {
			b, err := jetstream.Open(t.Context(), jetstream.Config{URL: server.URL, Stream: name, Timeout: 5 * time.Second})
			if err == nil && name == dispatch.NoticesName {
				log.Limited = b.(wal.Limited)
				b = log
			}
			return b, err
		}
	})
	const n = 64
	var bodies []string
	for i := range n {
		bodies = append(bodies, postOf("Connection: close\r\n", fmt.Sprintf(`{"id":"n%d","key":"k","type":"t"}`, i)))
	}
	server.Stop()
	first := s.posts(t, bodies[0])
	for log.writes.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	rest := s.posts(t, bodies[1:]...)
	for s.queued() < n-1 {
		time.Sleep(time.Millisecond) // until all were read
	}
	log.tokens <- struct{}{}
	log.tokens <- struct{}{}
	if a, b := first(), rest(); a[503] != 1 || b[503] != n-1 {
		t.Errorf("statuses %v, then %v", a, b)
	}
	if writes := log.writes.Load(); writes != 2 {
		t.Errorf("%d writes", writes)
	}
	close(log.tokens)
	natstest.Start(t, natstest.Options{Dir: dir, Port: server.Port(t)})
	if got := s.posts(t, bodies...)(); got[202] != n {
		t.Errorf("statuses %v", got)
	}
}
