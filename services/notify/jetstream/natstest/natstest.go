// Package natstest starts real nats-server processes for tests. The server is the tool of the
// module dyno/bench, so that no module that a user builds requires it;
// where that module is missing, tests skip, unless DYNO_TESTS=all asks for all of them. It is not
// for measuring. A server ends with its test, and with the test's process however that ends.
package natstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dyno/parts/process"
	"dyno/parts/quicktest"
)

// Options are what a test may set; the zero value is a server of its own with nats-server's limits.
type Options struct {
	Dir        string   // of the streams; "": a temporary folder
	Port       int      // zero: any free one
	MaxPayload int      // bytes of a message; zero: the server's default
	MaxBatch   int      // messages of an atomic batch; zero: the server's default
	MaxStore   int      // bytes of all streams; zero: what the disk has
	Name       string   // of a server in a cluster
	Cluster    string   // address that the other servers connect to; "": none
	Routes     []string // addresses of all servers of the cluster
}

// Server is a running nats-server that syncs every message to disk before it answers.
type Server struct {
	URL     string
	Name    string
	process *process.Process
}

// Stop ends the server and waits until it has ended.
func (s *Server) Stop() { s.process.Stop(patience) } // how it ends is of no interest

// Port returns the port that the server has or had, for one in its place.
func (s *Server) Port(t testing.TB) int {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Start starts a server, which ends with the test, and waits until it takes connections.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	return launch(t, o).await(t)
}

// Cluster starts three servers that know one another.
func Cluster(t testing.TB) []*Server {
	t.Helper()
	routes := free(t, 3)
	var starting [3]*starting
	for i, address := range routes {
		starting[i] = launch(t, Options{Name: fmt.Sprintf("node-%d", i), Cluster: address, Routes: routes})
	}
	return []*Server{starting[0].await(t), starting[1].await(t), starting[2].await(t)}
}

// Leader returns the name of the server that leads a stream.
func Leader(t testing.TB, urls, stream string) string {
	t.Helper()
	nc, err := nats.Connect(urls)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Cluster.Leader
}

// loopback returns an address of this machine on which no other program listens or connects, so
// that a port which is chosen there stays free until its server listens. Where there is only one
// loopback address, as on macOS, it is that.
func loopback() string {
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "127.0.0.1"
	}
	l.Close()
	return host
}

// host is that of the servers' clients.
var host = sync.OnceValue(loopback)

// free returns n addresses on which nothing listens.
func free(t testing.TB, n int) (addresses []string) {
	t.Helper()
	host := loopback()
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // at the end, so that all differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

type starting struct {
	Options
	process *process.Process
	ports   string // file that the server writes when it takes connections
}

func launch(t testing.TB, o Options) *starting {
	t.Helper()
	path, err := binary()
	if err != nil {
		lacks(t, err)
	}
	work := t.TempDir()
	if o.Dir == "" {
		o.Dir = filepath.Join(work, "streams")
	}
	config := filepath.Join(work, "nats.conf")
	if err := os.WriteFile(config, []byte(o.config(work)), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Spec{Name: "nats-server", Command: []string{path, "-c", config}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(patience) })
	return &starting{o, p, filepath.Join(work, fmt.Sprintf("%s_%d.ports", filepath.Base(path), p.PID()))}
}

// patience bounds the wait for a server to start, and for it to end before it is killed.
const patience = 3 * time.Minute

// lacks ends a test because there is no server. A run that asks for every test must not pass
// without these.
func lacks(t testing.TB, err error) {
	t.Helper()
	if quicktest.All() {
		t.Fatalf("no nats-server, and %s=%s asks for every test: %v", quicktest.Variable, quicktest.Everything, err)
	}
	t.Skipf("no nats-server: %v", err)
}

// config is the server's configuration file.
func (o Options) config(work string) string {
	port := o.Port
	if port == 0 {
		port = -1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "host: %s\nport: %d\nports_file_dir: %q\n", host(), port, work)
	setting := func(name string, value int) {
		if value != 0 {
			fmt.Fprintf(&b, "%s: %d\n", name, value)
		}
	}
	setting("max_payload", o.MaxPayload)
	fmt.Fprintf(&b, "jetstream {\nstore_dir: %q\nsync_interval: always\n", o.Dir)
	setting("max_file_store", o.MaxStore)
	if o.MaxBatch != 0 {
		fmt.Fprintf(&b, "limits { batch { max_msgs: %d } }\n", o.MaxBatch)
	}
	b.WriteString("}\n")
	if o.Cluster != "" {
		routes := make([]string, len(o.Routes))
		for i, r := range o.Routes {
			routes[i] = strconv.Quote("nats://" + r)
		}
		fmt.Fprintf(&b, "server_name: %q\ncluster { name: three, listen: %q, routes: [%s] }\n", o.Name, o.Cluster, strings.Join(routes, ", "))
	}
	return b.String()
}

// await returns the server when it has written where it listens.
func (s *starting) await(t testing.TB) *Server {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		var ports struct{ NATS []string }
		if b, err := os.ReadFile(s.ports); err == nil && json.Unmarshal(b, &ports) == nil && len(ports.NATS) > 0 {
			return &Server{URL: ports.NATS[0], Name: s.Name, process: s.process}
		}
		select {
		case <-look.C:
		case <-s.process.Exited():
			t.Fatalf("nats-server ended; it said:\n%s", s.process.LogTail(50))
		case <-deadline.C:
			t.Fatal("nats-server does not take connections in time")
		}
	}
}

// binary returns the path of nats-server as the module dyno/bench has it.
var binary = sync.OnceValues(func() (string, error) {
	module, err := output("", "go", "list", "-m", "-f", "{{.Dir}}", "dyno/bench")
	if err != nil {
		return "", err
	}
	return output(module, "go", "tool", "-n", "nats-server")
})

// output returns the first line that a command prints.
func output(dir, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir = dir
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command, err, failure.String())
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}
