package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"dyno/agent"
	"dyno/parts/tracing"
)

// Bounds of both HTTP servers. The size of bodies and answers is bounded by the handlers, who know it.
const (
	headerTimeout  = 10 * time.Second // or --read-timeout, if that is less
	defaultRead    = 30 * time.Second // of a whole request on the public address: 16 MiB at 4.5 Mbit/s
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// How long what has been told to stop may take to do so: a service that says why its drain was not
	// finished, a profile that is being written.
	lastWords = 500 * time.Millisecond
)

// process is one run of a service.
type process struct {
	service  Service
	options  options
	log      *slog.Logger
	phase    phase
	listener net.Listener // public, without TLS
	debug    net.Listener
	lock     *os.File        // of the data folder; nil: none
	tracer   *tracing.Tracer // nil: without --otlp
	agent    *agent.Agent
	pages    *http.Server // on the debug address
	servers  sync.WaitGroup
	draining chan struct{}
	failed   chan error // the first reason to stop that is not a signal
}

// serve runs the service until it is told to stop or fails.
func (s Service) serve(ctx context.Context, o options, stdout, stderr io.Writer) error {
	ctx, stopWatching := watchSignals(ctx, s.Name, stderr)
	defer stopWatching()
	p := &process{service: s, options: o, log: newLog(stderr, o.logLevel),
		draining: make(chan struct{}), failed: make(chan error, 1)}
	defer p.close()
	env, err := p.open()
	if err != nil {
		return err
	}
	running, err := s.Start(ctx, env)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil // told to stop before it was up
		}
		return fmt.Errorf("starting: %w", err)
	}
	p.phase.needs.Store(&running.Ready)
	public, err := p.goPublic(env.Listen, running, stdout)
	if err != nil {
		p.fail(err)
	}
	var cause error
	select {
	case <-ctx.Done():
	case cause = <-p.failed:
	}
	p.phase.Store(draining)
	close(p.draining)
	p.log.Info("draining", "timeout", o.drainTimeout.String())
	ctx, cancel := context.WithTimeout(context.Background(), o.drainTimeout)
	defer cancel()
	err = p.drain(ctx, public, running)
	p.flush(ctx)
	return errors.Join(cause, err)
}

// goPublic serves the handler, if the service has left that to us, and says that it is ready.
func (p *process) goPublic(l net.Listener, r Running, stdout io.Writer) (public *http.Server, err error) {
	h, err := p.traced(r.Handler)
	if err != nil {
		return nil, err
	}
	if h != nil {
		public = p.http(h, p.options.readTimeout)
		public.WriteTimeout = r.WriteTimeout
		p.start("listen", public, l)
	}
	p.phase.Store(ready)
	return public, p.announce(stdout)
}

// open takes the addresses and the data folder and brings the debug address up, so that a service that
// takes long to start can be looked into. Connections to the public address wait until it has started.
func (p *process) open() (*Env, error) {
	p.phase.Store(starting)
	var err error
	if p.listener, err = bind("listen", p.options.listen); err != nil {
		return nil, err
	}
	if p.debug, err = bind("debug", p.options.debug); err != nil {
		return nil, err
	}
	if addr := p.debug.Addr().(*net.TCPAddr); !addr.IP.IsLoopback() && p.options.debugToken == "" {
		p.log.Warn("the debug address is open beyond loopback; without --debug-token it tells peers there health and metrics only",
			"debug", addr.String())
	}
	if d := p.service.Data; d != nil {
		if p.lock, err = d.open(p.options.data, p.service.Name); err != nil {
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
	env := &Env{Listen: p.public(), Debug: http.NewServeMux(), Agent: p.agent, Data: p.options.data,
		Choice: p.options.choice, ReadTimeout: p.options.readTimeout, Log: p.log, Metrics: newMetrics(), Tracer: p.tracer, Draining: p.draining, Fail: p.fail}
	p.countSpans(env.Metrics)
	p.pages = p.http(debugHandler(env.Debug, p.agent, p.options.debugToken, env.Metrics, &p.phase), 0) // a profile outlasts it
	p.start("debug", p.pages, p.debug)
	return env, nil
}

// close lets go of what open took, and waits for the servers.
func (p *process) close() {
	if p.pages != nil {
		p.agent.Close() // ends the streams, which the server would wait for
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		if p.pages.Shutdown(ctx) != nil {
			p.pages.Close()
		}
	}
	for _, l := range []net.Listener{p.listener, p.debug} {
		if l != nil {
			l.Close() // again, where a server had it
		}
	}
	p.servers.Wait()
	p.flush(context.Background()) // where it did not come to a drain
	if p.lock != nil {
		p.lock.Close() // last: the next process may start from here on
	}
}

// drain stops accepting, waits for the requests under way and lets the service finish, all before ctx ends
// (--drain-timeout).
func (p *process) drain(ctx context.Context, public *http.Server, running Running) error {
	limit := p.options.drainTimeout
	var hung error
	if public != nil {
		// A quarter of the time is left for the service, however long its clients take.
		requests, cancel := context.WithTimeout(ctx, limit*3/4)
		defer cancel()
		if err := public.Shutdown(requests); err != nil {
			hung = fmt.Errorf("requests were still under way after %v and were cut off", limit*3/4)
			public.Close()
		}
	}
	if running.Drain == nil {
		return hung
	}
	drained := make(chan error, 1)
	go func() { drained <- running.Drain(ctx) }() // outlives this only when the process is about to end
	select {
	case err := <-drained:
		return errors.Join(hung, err)
	case <-ctx.Done():
	}
	select {
	case err := <-drained: // the service's own account of what it left
		return errors.Join(hung, err)
	case <-time.After(lastWords):
		return errors.Join(hung, fmt.Errorf("the drain did not finish within --drain-timeout %v", limit))
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

func (p *process) start(name string, server *http.Server, l net.Listener) {
	p.servers.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.fail(fmt.Errorf("serving --%s: %w", name, err))
		}
	})
}

// public returns the listener for the service, behind TLS if there is a certificate.
func (p *process) public() net.Listener {
	if p.options.certificate == nil {
		return p.listener
	}
	protocols := []string{"h2", "http/1.1"}
	if p.service.Protocols != nil {
		protocols = p.service.Protocols(p.options.choice)
	}
	return tls.NewListener(p.listener, &tls.Config{
		Certificates: []tls.Certificate{*p.options.certificate},
		NextProtos:   protocols,
		MinVersion:   tls.VersionTLS12,
	})
}

// announce prints the line that whoever started the process waits for.
func (p *process) announce(stdout io.Writer) error {
	line, err := json.Marshal(struct {
		Ready   bool   `json:"ready"`
		Service string `json:"service"`
		Listen  string `json:"listen"`
		Debug   string `json:"debug"`
		PID     int    `json:"pid"`
	}{true, p.service.Name, p.listener.Addr().String(), p.debug.Addr().String(), os.Getpid()})
	if err != nil {
		return err
	}
	if _, err := stdout.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("printing the ready line: %w", err)
	}
	return nil
}

func bind(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--%s %s is taken by another process; choose another port, or 0 for a free one", flag, addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return nil, usageError{fmt.Errorf("--%s %q is no address such as 127.0.0.1:8080: %w", flag, addr, err)}
}
