// Orders-plain is the order gateway as one writes it on the first day: net/http, encoding/json and a pool of
// database/sql; every query asks the database for one row, every token is verified when it comes. It keeps the
// client contract of ordersd and passes the same suite; it is step 0 of ordersd's ladder, kept so that the seams
// of ordersd can be shown to cost nothing.
//
// What it does not do: it answers in JSON only and does not compress, it has one database, caches nothing and
// has nothing else to answer when the database is away than 503. It needs a PostgreSQL, and makes its tables
// when they are not there.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"syscall"
	"time"

	"dyno/agent"
	"dyno/parts/guard"
	"dyno/parts/lameduck"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "public `address`")
	debug := flag.String("debug", "127.0.0.1:0", "`address` of pprof, the agent and /readyz")
	c := defaults
	flag.StringVar(&c.dsn, "dsn", "postgres://localhost/orders", "`URL` of the database")
	flag.StringVar(&c.keys, "jwt-keys", "keys.json", "`file` with the keys (JWKS) that tokens may be signed with; read again when it changes")
	flag.StringVar(&c.audience, "jwt-audience", "", "whom a token must be meant for; empty: anybody")
	flag.StringVar(&c.issuer, "jwt-issuer", "", "who must have issued a token; empty: anybody")
	flag.IntVar(&c.foreign, "foreign", c.foreign, "`status` for somebody else's order: 404, as if there were none, or 403")
	flag.DurationVar(&c.lameDuck, "lame-duck", c.lameDuck, "`time` after SIGTERM in which it still accepts and answers, while /readyz says 503")
	flag.IntVar(&c.connections, "connections", c.connections, "to the database, at most")
	origins := flag.String("allow-origin", "", "`ORIGINS` whose pages may call the public address, with commas between them")
	hosts := flag.String("allow-host", "", "`NAMES` by which clients call, with commas between them")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if c.foreign != http.StatusNotFound && c.foreign != http.StatusForbidden {
		fmt.Fprintln(os.Stderr, "orders-plain: --foreign is 404 or 403")
		os.Exit(2)
	}
	g, err := guard.New(guard.Options{Origins: []string{*origins}, Hosts: []string{*hosts}, Listen: []string{*listen, *debug}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders-plain:", err)
		os.Exit(2)
	}
	if err := run(*listen, *debug, c, g); err != nil {
		slog.Error("orders-plain ended", "error", err)
		os.Exit(1)
	}
}

func run(listen, debug string, c config, g *guard.Guard) error {
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
	s, err := newServer(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	inside := agent.New(agent.Config{Service: "orders-plain"})
	inside.DBStats("db", s.db.Stats)
	http.Handle("/debug/dyno/", inside)
	http.HandleFunc("GET /readyz", s.ready)
	ends := lameduck.Listen(public.(*net.TCPListener))
	web := lameduck.NewServer(s.web(g), ends)
	pages := &http.Server{Handler: g.Private().Wrap(http.DefaultServeMux, nil), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 2)
	go func() { failed <- web.Serve(ends) }()
	go func() { failed <- pages.Serve(private) }()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ready": true, "service": "orders-plain", "listen": public.Addr().String(), "debug": private.Addr().String(), "pid": os.Getpid(),
	})
	select {
	case err = <-failed:
	case <-ctx.Done():
		cancel() // the next signal ends the process
	}
	s.stopping.Store(true)
	return errors.Join(err, web.Stop(c.lameDuck, c.drain))
}
