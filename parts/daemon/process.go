package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/agent"
	"dyno/parts/debugpage"
	"dyno/parts/doors"
	"dyno/parts/lameduck"
	"dyno/parts/tracing"
)

// Bounds of both HTTP servers. The handlers bound the size of bodies and answers.
const (
	headerTimeout  = 10 * time.Second // or --read-timeout, if that is less
	defaultRead    = 30 * time.Second // of a whole request on the public address: 16 MiB at 4.5 Mbit/s
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// Time to end after the signal to stop: for a service to report why its drain was not finished,
	// and for a profile that is being written.
	lastWords = 500 * time.Millisecond
)

// process is one run of a service or of one of its jobs.
type process struct {
	service  Service
	options  options
	log      *slog.Logger
	phase    phase
	listener *lameduck.Listener // public, without TLS; nil: a job has none
	debug    net.Listener
	lock     io.Closer       // of the data folder; nil: none
	tracer   *tracing.Tracer // nil: without --otlp
	agent    *agent.Agent
	pages    *http.Server // on the debug address
	servers  sync.WaitGroup
	forget   context.CancelFunc // ends readings
	readings sync.WaitGroup     // what reads the figures of debug pages
	draining chan struct{}
	failed   chan error // the first reason to stop that is not a signal
}

func (s Service) process(o options, stderr io.Writer) *process {
	return &process{service: s, options: o, log: newLog(stderr, o.logLevel),
		draining: make(chan struct{}), failed: make(chan error, 1)}
}

// open binds the debug address, locks the data folder and serves the debug address, so that a slow
// start can be inspected.
func (p *process) open() (*Env, error) {
	p.phase.Store(starting)
	var err error
	if p.debug, err = Listen(p.options.debug, doors.Private("debug", p.log)); err != nil {
		return nil, err
	}
	if addr := p.debug.Addr().(*net.TCPAddr); !addr.IP.IsLoopback() && p.options.debugToken == "" {
		p.log.Warn("the debug address is open beyond loopback; without --debug-token it serves only health and metrics to other machines",
			"debug", addr.String())
	}
	if d := p.service.Data; d != nil {
		if p.lock, err = d.Open(p.options.data, p.service.Name); err != nil {
			return nil, err
		}
	}
	if err := p.startTracer(); err != nil {
		return nil, err
	}
	choice, err := json.Marshal(p.options.choice)
	if err != nil {
		return nil, err
	}
	p.agent = agent.New(agent.Config{Service: p.service.Name, Assembly: choice, Token: p.options.debugToken})
	reading, forget := context.WithCancel(context.Background())
	p.forget = forget
	env := &Env{Debug: http.NewServeMux(), Agent: p.agent, Data: p.options.data,
		Choice: p.options.choice, ReadTimeout: p.options.readTimeout, Log: p.log, Metrics: prometheus.NewRegistry(),
		Guard: p.options.guard, Sockets: p.options.sockets, Tracer: p.tracer, Draining: p.draining, Fail: p.fail,
		keep: func(r *debugpage.Recent) { p.readings.Go(func() { r.Run(reading) }) }}
	env.watch = p.watch(reading, env, pausedFor)
	if err := p.countSpans(env); err != nil {
		return nil, err
	}
	if err := p.startFlight(); err != nil { // from here on close ends it
		return nil, err
	}
	pages := debugHandler(env.Debug, p.agent, p.options.debugToken, env.Metrics, &p.phase)
	p.pages = p.http(p.options.guard.Private().Wrap(pages, nil), 0) // a profile outlasts it
	p.start("debug", p.pages, p.debug)
	return env, nil
}

// close releases what open acquired, and waits for the servers.
func (p *process) close() {
	p.endReadings()
	if p.pages != nil {
		p.agent.Close() // ends the streams, which the server would wait for
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		if p.pages.Shutdown(ctx) != nil {
			p.pages.Close()
		}
	}
	if p.listener != nil {
		p.listener.Close() // again, where a server had it
	}
	if p.debug != nil {
		p.debug.Close()
	}
	p.servers.Wait()
	p.flush(context.Background()) // where it did not come to a drain
	if p.lock != nil {
		p.lock.Close() // last: the next process may start from here on
	}
}

// endReadings stops reading the figures of debug pages. It waits for a reading in progress, but not
// for one that is stuck: a figure may wait for what the service never releases.
func (p *process) endReadings() {
	if p.forget == nil {
		return
	}
	p.forget()
	ended := make(chan struct{})
	go func() { p.readings.Wait(); close(ended) }() // outlives this only with a reading that is stuck
	select {
	case <-ended:
	case <-time.After(lastWords):
	}
}

// drains announces that the process ends, to clients of /readyz and in Env.Draining.
func (p *process) drains() {
	p.phase.Store(draining)
	close(p.draining)
	p.log.Info("draining", "timeout", p.options.drainTimeout.String())
}

// late is the error of work that was not finished within --drain-timeout.
func (p *process) late() error {
	return fmt.Errorf("the drain did not finish within --drain-timeout %v", p.options.drainTimeout)
}

// await waits until the work is finished, or until ctx and then words are over, and then returns late.
func (p *process) await(ctx context.Context, finished <-chan error, words time.Duration, late error) error {
	select {
	case err := <-finished:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-finished: // its own account of what it left
		return err
	case <-time.After(words):
		return late
	}
}

// fail asks the process to stop with an error. Only the first counts.
func (p *process) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// http returns a server. A read timeout of 0 means none but for the headers.
func (p *process) http(h http.Handler, readTimeout time.Duration) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: min(headerTimeout, p.options.readTimeout),
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
}

func (p *process) start(name string, server interface{ Serve(net.Listener) error }, l net.Listener) {
	p.servers.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.fail(fmt.Errorf("serving --%s: %w", name, err))
		}
	})
}

// Listen binds the address of a flag, whose name is the door's. A malformed address is a usage
// error.
func Listen(addr string, door *doors.Door) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, listenError(door.Name, addr, err)
	}
	return door.Limit(l), nil
}

func listenError(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--%s %s is taken by another process; choose another port, or 0 for a free one", flag, addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("--%s %s is not an address of this machine; 127.0.0.1 is this machine alone, and no host all of its addresses", flag, addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("--%s %s is a port that this user may not listen at; choose one from 1024, or grant CAP_NET_BIND_SERVICE", flag, addr)
	}
	host, port, _ := net.SplitHostPort(addr)
	if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) && host != "" && unknown.Name == host {
		return usageError{fmt.Errorf("--%s %s: %w; write an address of this machine, such as %s", flag, addr, unknown, net.JoinHostPort("127.0.0.1", port))}
	}
	return usageError{fmt.Errorf("--%s %q is no address: %w; write it as %s", flag, addr, err, address(addr))}
}

// address completes a text that was probably meant as an address.
func address(text string) string {
	const usual = "127.0.0.1:8080"
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text, _, _ = strings.Cut(rest, "/")
	}
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		return "127.0.0.1:" + text
	}
	host, port, err := net.SplitHostPort(text)
	if last := strings.LastIndexByte(text, ':'); err != nil && last > 0 && net.ParseIP(text[:last]) != nil {
		host, port = text[:last], text[last+1:] // IPv6 without brackets
	} else if err != nil {
		host, port = strings.Trim(text, "[]"), "8080"
	}
	_, err = strconv.ParseUint(port, 10, 16)
	if ip := net.ParseIP(host); err != nil || host == "" || ip == nil && strings.ContainsAny(host, ":/ ,") {
		return usual
	}
	return net.JoinHostPort(host, port)
}
