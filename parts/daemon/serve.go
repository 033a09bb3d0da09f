package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"dyno/parts/lameduck"
)

// serve runs the service until it fails or the process receives a signal to stop.
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
			return nil // a signal stopped it before it was up
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
	if cause == nil && public != nil {
		cause = p.lameDuck(public, context.Cause(ctx))
	}
	p.drains()
	ctx, cancel := context.WithTimeout(context.Background(), o.drainTimeout)
	defer cancel()
	err = p.drain(ctx, public, running)
	p.flush(ctx)
	return errors.Join(cause, err)
}

// lameDuck continues to serve for --lame-duck while the process is no longer ready, so that clients
// and proxies have time to see that. It returns immediately after Ctrl-C, since that ends a program
// in front of its user.
func (p *process) lameDuck(public Front, stop error) (failure error) {
	p.phase.Store(draining)
	public.LameDuck()
	if p.options.lameDuck == 0 || errors.Is(stop, errInterrupted) {
		return nil
	}
	p.log.Info("lame duck: still answering, no longer ready", "for", p.options.lameDuck.String())
	window := time.NewTimer(p.options.lameDuck)
	defer window.Stop()
	select {
	case <-window.C:
		return nil
	case failure = <-p.failed:
		return failure
	}
}

// openPublic takes the public address, too. Connections to it wait until the service has started.
func (p *process) openPublic(stdout, stderr io.Writer) (env *Env, err error) {
	if p.listener, err = lameduck.Listen(p.options.listen); err != nil {
		return nil, listenError("listen", p.options.listen, err)
	}
	p.listener.Door.Log = p.log
	if env, err = p.open(); err == nil {
		env.Listen, env.Connections, env.TLS = p.public()
		env.Stdout, env.Stderr = stdout, stderr
	}
	return env, err
}

// goPublic serves the handler if the service has one, and announces that the service is ready. It
// returns the server of the public address; nil: the service serves it without a Front.
func (p *process) goPublic(l net.Listener, r Running, stdout io.Writer) (public Front, err error) {
	public = r.Front
	h, err := p.traced(r.Handler)
	if err != nil {
		return public, err
	}
	if h != nil {
		if p.service.Doors == nil {
			h = p.options.guard.Wrap(h, r.Refuse)
		}
		server := p.http(h, p.options.readTimeout)
		server.WriteTimeout = r.WriteTimeout
		ends := lameduck.NewServer(server, p.listener)
		p.start("listen", ends, l)
		public = ends
		if r.Front != nil {
			public = fronts{r.Front, ends}
		}
	}
	p.phase.Store(ready)
	return public, p.announce(stdout)
}

// fronts serve one address: the first hands connections over to the next.
type fronts []Front

func (all fronts) LameDuck() {
	for _, f := range all {
		f.LameDuck()
	}
}

// Drain drains all concurrently, so that each has the whole time.
func (all fronts) Drain(ctx context.Context) error {
	errs := make([]error, len(all))
	var drains sync.WaitGroup
	for i, f := range all {
		drains.Go(func() { errs[i] = f.Drain(ctx) })
	}
	drains.Wait()
	return errors.Join(errs...)
}

// drain stops accepting, waits for requests and lets the service finish, within --drain-timeout.
func (p *process) drain(ctx context.Context, public Front, running Running) error {
	var hung error
	if public != nil {
		// A quarter of the time is left for the service, however long its clients take, and what its front says last.
		words := min(lastWords, p.options.drainTimeout/4)
		requests, cancel := context.WithTimeout(ctx, p.options.drainTimeout*3/4-words)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- public.Drain(requests) }() // outlives this only with a request that the service does not complete
		hung = p.await(requests, ended, words, fmt.Errorf("requests were still under way when three quarters of --drain-timeout %v were over", p.options.drainTimeout))
	}
	if running.Drain == nil {
		return hung
	}
	p.endReadings() // of what Drain closes
	drained := make(chan error, 1)
	go func() { drained <- running.Drain(ctx) }() // outlives this only when the process is about to end
	return errors.Join(hung, p.await(ctx, drained, lastWords, p.late()))
}

// public returns the listener for the service, behind TLS if there is a certificate.
func (p *process) public() (net.Listener, *lameduck.Listener, *tls.Config) {
	if p.options.certificate == nil {
		return p.listener, p.listener, nil
	}
	p.options.certificate.log = p.log
	protocols := []string{"h2", "http/1.1"}
	if p.service.Protocols != nil {
		protocols = p.service.Protocols(p.options.choice)
	}
	config := &tls.Config{GetCertificate: p.options.certificate.current, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	return lameduck.TLS(p.listener, config), p.listener, config
}

// announce prints the ready line, which the process that started this one waits for.
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
