// Package standalone runs an HTTP service as a program of its own: flags for its addresses, a debug
// address with pprof, the lab's agent and /readyz, a ready line on standard output, the check of
// browsers' requests (parts/guard), and an end that loses no request (parts/lameduck). The plain
// programs of the services are run by it.
//
// It is not for services with assemblies and settings: those are run by parts/daemon. Run owns the
// servers' goroutines and has ended them when it returns.
package standalone

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // on http.DefaultServeMux, which the debug address serves
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"dyno/agent"
	"dyno/parts/debugpage"
	"dyno/parts/doors"
	"dyno/parts/guard"
	"dyno/parts/lameduck"
	"dyno/parts/redact"
)

// Service is what a program serves.
type Service struct {
	Server *http.Server                // of the public address; the guard wraps its handler
	Ready  func(context.Context) error // is it ready? nil: as soon as it serves
	Close  func()                      // after the last request
}

// drain bounds the time for requests under way after the lame-duck time.
const drain = 10 * time.Second

// Main is the main function of a program. start is called after the flags were parsed; it may add
// gauges to the agent. The program exits with 2 for wrong flags and with 1 when it fails.
func Main(name string, start func(context.Context, *agent.Agent) (Service, error)) {
	listen := flag.String("listen", "127.0.0.1:8080", "public `address`")
	debug := flag.String("debug", "127.0.0.1:0", "`address` of pprof, the agent and /readyz")
	origins := flag.String("allow-origin", "", "`ORIGINS` whose pages may call the public address, separated by commas")
	hosts := flag.String("allow-host", "", "`NAMES` by which clients call, separated by commas")
	lameDuck := flag.Duration("lame-duck", 2*time.Second, "`time` after SIGTERM in which it still accepts and answers, while /readyz says 503")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: redact.Attr})))
	g, err := guard.New(guard.Options{Origins: []string{*origins}, Hosts: []string{*hosts}, Listen: []string{*listen, *debug}})
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	if err := run(name, *listen, *debug, *lameDuck, g, start); err != nil {
		slog.Error(name+" ended", "error", err)
		os.Exit(1)
	}
}

func run(name, listen, debug string, lameDuck time.Duration, g *guard.Guard, start func(context.Context, *agent.Agent) (Service, error)) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	public, err := lameduck.Listen(listen)
	if err != nil {
		return err
	}
	defer public.Close()
	private, err := net.Listen("tcp", debug)
	if err != nil {
		return err
	}
	private = doors.Private("debug", nil).Limit(private)
	defer private.Close()
	inside := agent.New(agent.Config{Service: name})
	s, err := start(ctx, inside)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Server.Handler = g.Wrap(s.Server.Handler, nil)
	var stopping atomic.Bool
	http.Handle("/debug/dyno/", inside)
	http.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if stopping.Load() || s.Ready != nil && s.Ready(r.Context()) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	web := lameduck.NewServer(s.Server, public)
	inner := http.NewServeMux()
	inner.HandleFunc("/debug/vars", debugpage.Variables)
	inner.HandleFunc("/debug/pprof/cmdline", debugpage.Cmdline)
	inner.Handle("/", http.DefaultServeMux)
	pages := &http.Server{Handler: g.Private().Wrap(inner, nil), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	defer pages.Close()
	failed := make(chan error, 2)
	go func() { failed <- web.Serve(public) }()
	go func() { failed <- pages.Serve(private) }()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ready": true, "service": name, "listen": public.Addr().String(), "debug": private.Addr().String(), "pid": os.Getpid(),
	})
	select {
	case err = <-failed:
	case <-ctx.Done():
		cancel() // the next signal ends the process
	}
	stopping.Store(true)
	return errors.Join(err, web.Stop(lameDuck, drain))
}
