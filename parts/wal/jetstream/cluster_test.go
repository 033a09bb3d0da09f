package jetstream

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyno/parts/quicktest"

	"github.com/nats-io/nats-server/v2/server"
)

func portOf(t testing.TB, address string) int {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(p)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// cluster starts three servers that know one another.
func cluster(t *testing.T) []*server.Server {
	t.Helper()
	var routes []*url.URL
	var held []net.Listener // until all are chosen, so that they differ
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
	}
	var nodes []*server.Server
	for i, l := range held {
		l.Close()
		nodes = append(nodes, serve(t, t.TempDir(), func(o *server.Options) {
			o.ServerName = fmt.Sprintf("node-%d", i)
			o.Cluster = server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: portOf(t, l.Addr().String())}
			o.Routes = routes
		}))
	}
	for _, n := range nodes {
		ready(t, n)
	}
	return nodes
}

// A log with three replicas goes on when the server dies that leads its stream, and has everything.
func TestClusterLosesItsLeader(t *testing.T) {
	quicktest.Skip(t, "waits up to 10 s for an election among three servers")
	nodes := cluster(t)
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.ClientURL())
	}
	s := mustOpen(t, Config{URL: strings.Join(urls, ","), Replicas: 3, Timeout: time.Minute})
	mustWrite(t, s, 1, 100)
	mustWrite(t, s, 101, 1)

	info, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	led := slices.IndexFunc(nodes, func(n *server.Server) bool { return n.Name() == info.Cluster.Leader })
	if led < 0 || info.Config.Replicas != 3 {
		t.Fatalf("%d replicas, led by %q", info.Config.Replicas, info.Cluster.Leader)
	}
	shutdown(nodes[led])
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
