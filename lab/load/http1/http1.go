// Package http1 drives a target over plain HTTP/1.1 at the lowest cost per request that Go
// allows: it uses locked threads, non-blocking sockets and prebuilt bytes, and does not allocate
// during the load. Generator and target often share a few cores, where CPU time that the
// generator uses is missing in the target.
//
// The two back ends, epoll and io_uring, differ in the event loop only. io_uring submits sends in
// groups, and is the default where the kernel supports it. In the open model it also keeps the
// wake-ups of a thread apart (wakeDistance), and an answer's time is that of its arrival, from the
// kernel. bench/peers/raw measures both, with --backend.
//
// It speaks neither TLS nor HTTP/2 and runs on Linux only; package nethttp covers the rest. Drive
// owns one goroutine per sending thread, and all have ended when it returns.
package http1

import (
	"cmp"
	"fmt"
	"net/url"
	"runtime"
	"slices"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/http1/wire"
)

// Config says what to send and where. Plan.Connections is the number of connections.
type Config struct {
	// Target is the scheme, host and port: http://127.0.0.1:8080. A path is ignored; the corpus
	// has its own.
	Target string
	Corpus *corpus.Corpus
	// Threads is the number of sending threads. 0: one for every 4 cores, at least one.
	Threads int
	// Pipeline is the number of requests that may be in flight on one connection. 0: one, no
	// pipelining.
	Pipeline int
	// Backend is the kernel interface: "epoll", "uring", or "" for the better one that this
	// kernel supports.
	Backend string
	// Realtime requests real-time priority for the sending threads in the open model, if the
	// process may have it: a target on the same cores then cannot delay a send. In the closed
	// model Realtime is ignored, since there it costs CPU and gains nothing.
	Realtime bool
}

// Backends that Config.Backend can name.
const (
	BackendEpoll = "epoll"
	BackendUring = "uring"
)

// maxPipeline bounds Config.Pipeline: in a longer pipeline, requests only wait for one another.
const maxPipeline = 1024

// Driver is a load.Driver. It can drive several plans, one after the other.
type Driver struct {
	config   Config
	host     string // without port
	port     string
	requests []wire.Request
	backend  string
	refused  corpus.Refusals
}

// New builds the requests and chooses the back end. It does not connect yet.
func New(c Config) (*Driver, error) {
	d := &Driver{config: c}
	u, err := url.Parse(c.Target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	if u.Scheme != "http" || u.Hostname() == "" {
		return nil, fmt.Errorf("target %q: the raw engine speaks plain HTTP; write http://HOST:PORT, or use the std engine", c.Target)
	}
	if d.host, d.port = u.Hostname(), u.Port(); d.port == "" {
		d.port = "80"
	}
	if d.requests, err = wire.Encode(c.Corpus, u.Host); err != nil {
		return nil, err
	}
	if c.Threads < 0 || c.Pipeline < 0 || c.Pipeline > maxPipeline {
		return nil, fmt.Errorf("%d threads and a pipeline of %d: want no fewer than 0 of each and at most %d in the pipeline", c.Threads, c.Pipeline, maxPipeline)
	}
	if !slices.Contains([]string{"", BackendEpoll, BackendUring}, c.Backend) {
		return nil, fmt.Errorf("back end %q: there are %s and %s", c.Backend, BackendEpoll, BackendUring)
	}
	d.backend = chooseBackend(c.Backend)
	return d, nil
}

// Engine names the driver and its back end.
func (d *Driver) Engine() string { return "raw-" + d.backend }

// Notes returns how many answers failed, and the first of them.
func (d *Driver) Notes() []string { return d.refused.Notes() }

// Protocol returns the only protocol that the engine speaks.
func (d *Driver) Protocol() string { return "HTTP/1.1" }

// threads returns the number of sending threads for a number of connections.
func (d *Driver) threads(connections int) int {
	if d.config.Corpus.Supply != nil {
		return 1 // requests that are sent once are sent in order, which needs a single thread
	}
	return max(1, min(cmp.Or(d.config.Threads, runtime.NumCPU()/4), connections))
}

var _ load.Driver = (*Driver)(nil)
