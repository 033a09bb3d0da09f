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
	"flag"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"syscall"
	"time"

	"dyno/agent"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "public `address`")
	debug := flag.String("debug", "127.0.0.1:0", "`address` of pprof and the agent")
	data := flag.String("data", "notify-plain-data", "`folder` of the notices; made if it is missing")
	allowPrivate := flag.Bool("allow-private", false, "let webhooks go to private and loopback addresses")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(*listen, *debug, *data, *allowPrivate); err != nil {
		slog.Error("notify-plain ended", "error", err)
		os.Exit(1)
	}
}

func run(listen, debug, data string, allowPrivate bool) error {
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
	web := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	pages := &http.Server{ReadHeaderTimeout: 10 * time.Second} // of http.DefaultServeMux
	failed := make(chan error, 2)
	go func() { failed <- web.Serve(public) }()
	go func() { failed <- pages.Serve(private) }()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ready": true, "service": "notify-plain", "listen": public.Addr().String(), "debug": private.Addr().String(), "pid": os.Getpid(),
	})
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	grace, done := context.WithTimeout(context.Background(), s.limits.drain)
	defer done()
	web.Shutdown(grace)
	left := s.close(s.limits.drain)
	slog.Info("stopped", "left_for_the_next_start", left)
	return err
}
