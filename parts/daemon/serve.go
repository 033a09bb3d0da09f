package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// serve runs the service until it is told to stop or fails.
func (s Service) serve(ctx context.Context, o options, stdout, stderr io.Writer) error {
	ctx, stopWatching := watchSignals(ctx, s.Name, stderr)
	defer stopWatching()
	p := s.process(o, stderr)
	defer p.close()
	env, err := p.openPublic(stdout, stderr)
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
	p.drains()
	ctx, cancel := context.WithTimeout(context.Background(), o.drainTimeout)
	defer cancel()
	err = p.drain(ctx, public, running)
	p.flush(ctx)
	return errors.Join(cause, err)
}

// openPublic takes the public address, too. Connections to it wait until the service has started.
func (p *process) openPublic(stdout, stderr io.Writer) (env *Env, err error) {
	if p.listener, err = Listen("listen", p.options.listen); err != nil {
		return nil, err
	}
	if env, err = p.open(); err == nil {
		env.Listen = p.public()
		env.Stdout, env.Stderr = stdout, stderr
	}
	return env, err
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
	return errors.Join(hung, p.await(ctx, drained))
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
