package jetstream

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/quicktest"
	"dyno/services/notify/jetstream/natstest"
)

// A log with three replicas goes on when the server dies that leads its stream, and has everything.
func TestClusterLosesItsLeader(t *testing.T) {
	quicktest.Skip(t, "waits up to 10 s for an election among three servers")
	nodes := natstest.Cluster(t)
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.URL)
	}
	s := mustOpen(t, Config{URL: strings.Join(urls, ","), Replicas: 3, Timeout: time.Minute})
	mustWrite(t, s, 1, 100)
	mustWrite(t, s, 101, 1)

	info, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	led := slices.IndexFunc(nodes, func(n *natstest.Server) bool { return n.Name == info.Cluster.Leader })
	if led < 0 || info.Config.Replicas != 3 {
		t.Fatalf("%d replicas, led by %q", info.Config.Replicas, info.Cluster.Leader)
	}
	nodes[led].Stop()
	next := 102
	for range 20 {
		mustWrite(t, s, next, 5)
		mustWrite(t, s, next+5, 1)
		next += 6
	}
	mustHold(t, s, next)
	if err := s.Trim(50); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, next)
	standby := mustOpen(t, Config{URL: strings.Join(urls, ","), Replicas: 3, Timeout: time.Minute})
	mustHold(t, standby, next)
	mustWrite(t, standby, next, 1)
	if err := s.Write([][][]byte{batch(next, 1)}); err == nil || !strings.Contains(err.Error(), "another") {
		t.Fatalf("the first writer was not told: %v", err)
	}
}
