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
	"os/signal"
	"sync"
	"syscall"
	"time"

	"dyno/agent"
)

// Bounds of both HTTP servers. Bodies and answers are bounded by the handlers, who know them.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// errDrain says that the process ended before its work did.
var errDrain = errors.New("drain did not finish")

// process is one run of a service.
type process struct {
	service  Service
	options  options
	log      *slog.Logger
	phase    phase
	listener net.Listener
	debug    net.Listener
	env      *Env
	servers  sync.WaitGroup
	failed   chan error // the first reason to stop that is not a signal
}

// serve runs the service until it is told to stop or fails.
func (s Service) serve(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	ctx, stopSignals := watchSignals(ctx, s.Name, stderr)
	defer stopSignals()

	p := &process{service: s, options: o, log: newLog(stderr, o.logLevel), failed: make(chan error, 1)}
	p.phase.Store(starting)
	if p.listener, err = bind("listen", o.listen); err != nil {
		return err
	}
	defer p.listener.Close()
	if p.debug, err = bind("debug", o.debug); err != nil {
		return err
	}
	defer p.debug.Close()

	data := ""
	if s.Data != nil {
		lock, err := s.Data.open(o.data, s.Name)
		if err != nil {
			return err
		}
		defer lock.Close()
		data = o.data
	}

	a, err := s.newAgent(o)
	if err != nil {
		return err
	}
	drainBegins := make(chan struct{})
	p.env = &Env{Listen: p.public(), Debug: http.NewServeMux(), Agent: a, Data: data, Choice: o.choice,
		Log: p.log, Metrics: newMetrics(), Draining: drainBegins, Fail: p.fail}
	debugServer := p.http(debugHandler(p.env.Debug, a, o.debugToken, p.env.Metrics, &p.phase))
	p.start("debug", debugServer, p.debug)
	defer p.servers.Wait()
	defer debugServer.Close()
	defer a.Close() // ends the streams

	running, err := s.Start(ctx, p.env)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil // told to stop before it was up
		}
		return fmt.Errorf("starting: %w", err)
	}
	var public *http.Server
	if running.Handler != nil {
		public = p.http(running.Handler)
		p.start("listen", public, p.env.Listen)
	}
	p.phase.Store(ready)
	if err := p.announce(stdout); err != nil {
		p.fail(err)
	}

	var cause error
	select {
	case <-ctx.Done():
	case cause = <-p.failed:
	}
	p.phase.Store(draining)
	close(drainBegins)
	p.log.Info("draining", "timeout", o.drainTimeout.String())
	return errors.Join(cause, p.drain(public, running))
}

// drain stops accepting, waits for the requests under way and lets the service finish.
func (p *process) drain(public *http.Server, running Running) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.options.drainTimeout)
	defer cancel()
	var err error
	if public != nil {
		if err = public.Shutdown(ctx); err != nil {
			err = fmt.Errorf("requests were still under way: %w", err)
			public.Close()
		}
	}
	if running.Drain != nil {
		err = errors.Join(err, running.Drain(ctx))
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w within --drain-timeout %v: %w", errDrain, p.options.drainTimeout, err)
	}
	return fmt.Errorf("draining: %w", err)
}

// fail asks the process to stop with an error. Only the first counts.
func (p *process) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

func (p *process) http(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
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
	return tls.NewListener(p.listener, &tls.Config{
		Certificates: []tls.Certificate{*p.options.certificate},
		NextProtos:   []string{"h2", "http/1.1"},
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

func (s Service) newAgent(o options) (*agent.Agent, error) {
	choice, err := json.Marshal(o.choice)
	if err != nil {
		return nil, err
	}
	return agent.New(agent.Config{Service: s.Name, Assembly: choice, Token: o.debugToken}), nil
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

// watchSignals returns a context that the first SIGTERM or SIGINT ends. The second ends the process.
func watchSignals(ctx context.Context, name string, stderr io.Writer) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2) // the second must not be lost while the first is being handled
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for told := false; ; told = true {
			select {
			case <-quit:
				return
			case <-signals:
			}
			if told {
				fmt.Fprintf(stderr, "%s: second signal: leaving before the drain has finished\n", name)
				os.Exit(exitFailed)
			}
			cancel()
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(quit)
		watching.Wait()
		cancel()
	}
}
