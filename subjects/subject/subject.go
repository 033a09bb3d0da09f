// Package subject holds the common parts of the lab's test subjects: two addresses, the ready
// line, the agent, and an end on SIGTERM. A subject is a small server with a known truth, against
// which the lab's own figures are checked.
//
// It is not the service contract (parts/daemon): a subject has no assemblies, no configuration
// and nothing to drain. Serve owns the goroutines of its two servers and waits for them.
package subject

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"dyno/agent"
	"dyno/agent/profiles"
)

// goodbye bounds the time of answers in progress after SIGTERM.
const goodbye = 2 * time.Second

// Inside is the part of a subject that is visible from outside.
type Inside string

// Interfaces on the debug address.
const (
	Agent Inside = ""      // the agent and the profiles
	PProf Inside = "pprof" // net/http/pprof alone, as in a service without dyno
	None  Inside = "none"  // it is not opened, and the ready line has no "debug"
)

// ParseInside reads the interface on the debug address by its name: agent, pprof or none.
func ParseInside(name string) (Inside, error) {
	switch inside := Inside(name); inside {
	case "agent":
		return Agent, nil
	case PProf, None:
		return inside, nil
	}
	return Agent, fmt.Errorf("--inside is %q; it must be agent, pprof or none", name)
}

// Subject is one server.
type Subject struct {
	Name    string
	Handler http.Handler
	Ready   map[string]any // further keys of the ready line: the configured truth
	Inside  Inside
	// Untraced leaves out the execution trace, like services that mount the profiles one by one.
	Untraced bool
	// Accept wraps the public listener; nil: connections are accepted as they come.
	Accept func(net.Listener) net.Listener
	// Serve serves the public listener until it closes, instead of net/http with Handler; nil: net/http.
	Serve  func(net.Listener) error
	Gauges func(*agent.Agent) // adds the subject's own figures to the agent, if there is one; nil: none
}

// Flags are the common addresses of the subjects.
type Flags struct{ Listen, Debug string }

// Declare puts --listen and --debug into fs.
func (f *Flags) Declare(fs *flag.FlagSet) {
	fs.StringVar(&f.Listen, "listen", "127.0.0.1:0", "public `address`")
	fs.StringVar(&f.Debug, "debug", "127.0.0.1:0", "`address` of the profiles and the agent")
}

// Parse parses the command line. A mistake in it ends the process with exit code 2, after a line
// that names it.
func Parse(fs *flag.FlagSet, args []string) {
	fs.SetOutput(os.Stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		os.Exit(2)
	case fs.NArg() > 0:
		Usage(fs.Name(), fmt.Errorf("it takes no arguments, not even %q", fs.Arg(0)))
	}
}

// Usage ends the process with exit code 2 and prints the reason.
func Usage(name string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(2)
}

// Main serves until SIGTERM or SIGINT and ends the process with exit code 0, or with 1 and a line
// with the reason.
func Main(f Flags, s Subject) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := Serve(ctx, f, s, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
		os.Exit(1)
	}
}

// Serve serves until ctx ends. It prints the ready line once both addresses are bound.
func Serve(ctx context.Context, f Flags, s Subject, stdout io.Writer) error {
	listen, err := net.Listen("tcp", f.Listen)
	if err != nil {
		return err
	}
	defer listen.Close()
	if s.Accept != nil {
		listen = s.Accept(listen)
	}
	var debug net.Listener
	if s.Inside != None {
		if debug, err = net.Listen("tcp", f.Debug); err != nil {
			return err
		}
		defer debug.Close()
	}

	failed := make(chan error, 2)
	var serving sync.WaitGroup
	defer serving.Wait()
	public := &http.Server{Handler: s.Handler, ReadHeaderTimeout: 10 * time.Second}
	serve := public.Serve
	if s.Serve != nil {
		serve = s.Serve
	}
	serving.Go(func() { failed <- serve(listen) })
	defer listen.Close()
	defer public.Close()
	if debug != nil {
		pages, end := s.pages()
		if s.Untraced {
			all := pages
			pages = http.NewServeMux()
			pages.Handle("/", all)
			pages.HandleFunc("/debug/pprof/trace", http.NotFound)
		}
		private := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
		serving.Go(func() { failed <- private.Serve(debug) })
		defer private.Close()
		defer end()
	}

	if err := announce(stdout, s, listen, debug); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	public.Shutdown(late) // later answers are cut off: a subject acknowledges nothing
	return nil
}

// pages returns the pages of the debug address, and the function that ends them.
func (s Subject) pages() (pages *http.ServeMux, end func()) {
	pages, end = http.NewServeMux(), func() {}
	pages.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ready\n") })
	if s.Inside == PProf {
		pages.HandleFunc("/debug/pprof/", pprof.Index)
		pages.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		pages.HandleFunc("/debug/pprof/profile", pprof.Profile)
		pages.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		pages.HandleFunc("/debug/pprof/trace", pprof.Trace)
		return pages, end
	}
	a := agent.New(agent.Config{Service: s.Name})
	if s.Gauges != nil {
		s.Gauges(a)
	}
	pages.Handle("/debug/dyno/", a)
	profiles.Mount(pages, a)
	return pages, a.Close
}

// announce prints the ready line. debug may be nil.
func announce(stdout io.Writer, s Subject, listen, debug net.Listener) error {
	line := map[string]any{"ready": true, "service": s.Name, "pid": os.Getpid(), "listen": listen.Addr().String()}
	if debug != nil {
		line["debug"] = debug.Addr().String()
	}
	maps.Copy(line, s.Ready)
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = stdout.Write(append(text, '\n'))
	return err
}
