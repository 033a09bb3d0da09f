// Notify-plain is the notification dispatcher as one writes it on the first day: two files of JSON lines, a
// map of lanes, one per subscription and key, a channel of lanes that have work, sixteen workers, one
// http.Client. It offers the API of notifyd and passes the same suite; it is step 0 of notifyd's ladder,
// kept so that the seams of notifyd can be shown to cost nothing.
//
// It is durable: a notice is fsynced before its 202, one POST after the other. What it does not do: what is
// pending stays in memory, and so do dead letters; the files grow until the next start, which rewrites them;
// there is no SSE or WebSocket; and subscribers are not kept apart: one that hangs can hold every worker
// until its attempts time out, and rate_per_s and concurrency are refused, because nothing here would hold
// them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"dyno/agent"
	"dyno/parts/guard"
	"dyno/parts/lameduck"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "public `address`")
	debug := flag.String("debug", "127.0.0.1:0", "`address` of pprof and the agent")
	data := flag.String("data", "notify-plain-data", "`folder` of the notices; made if it is missing")
	allowPrivate := flag.Bool("allow-private", false, "let webhooks go to private and loopback addresses")
	origins := flag.String("allow-origin", "", "`ORIGINS` whose pages may call the public address, with commas between them")
	hosts := flag.String("allow-host", "", "`NAMES` by which clients call, with commas between them")
	lameDuck := flag.Duration("lame-duck", 2*time.Second, "`time` after SIGTERM in which it still accepts and answers, while /readyz says 503")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	g, err := guard.New(guard.Options{Origins: []string{*origins}, Hosts: []string{*hosts}, Listen: []string{*listen, *debug}})
	if err != nil {
		slog.Error("notify-plain cannot start", "error", err)
		os.Exit(2)
	}
	if err := run(*listen, *debug, *data, *allowPrivate, *lameDuck, g); err != nil {
		slog.Error("notify-plain ended", "error", err)
		os.Exit(1)
	}
}

func run(listen, debug, data string, allowPrivate bool, lameDuck time.Duration, g *guard.Guard) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	public, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	defer public.Close()
	private, err := net.Listen("tcp", debug)
	if err != nil {
		return err
	}
	defer private.Close()
	s, err := newServer(data, defaults, allowPrivate)
	if err != nil {
		return err
	}
	inside := agent.New(agent.Config{Service: "notify-plain"})
	inside.Gauge("async_queue_depth", s.depth)
	inside.Gauge("async_oldest_age_seconds", s.age)
	http.Handle("/debug/dyno/", inside)
	var stopping atomic.Bool
	http.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if stopping.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	ends := lameduck.Listen(public.(*net.TCPListener))
	web := lameduck.NewServer(&http.Server{
		Handler: s.handler(g), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}, ends)
	pages := &http.Server{Handler: g.Private().Wrap(http.DefaultServeMux, nil), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 2)
	go func() { failed <- web.Serve(ends) }()
	go func() { failed <- pages.Serve(private) }()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ready": true, "service": "notify-plain", "listen": public.Addr().String(), "debug": private.Addr().String(), "pid": os.Getpid(),
	})
	select {
	case err = <-failed:
	case <-ctx.Done():
		cancel() // the next signal ends the process
	}
	stopping.Store(true)
	err = errors.Join(err, web.Stop(lameDuck, s.limits.drain))
	left := s.close(s.limits.drain)
	slog.Info("stopped", "left_for_the_next_start", left)
	return err
}
