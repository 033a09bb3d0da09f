package environment

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	"dyno/lab/probe/procfs"
	"dyno/lab/probe/profiling"
)

// patience bounds one answer to Look.
const patience = 5 * time.Second

// Seen is what Look found out about a target.
type Seen struct {
	Line    bool             // it printed a ready line
	Listens []netip.AddrPort // its addresses
	Debug   int              // how many of them, the last ones, serve net/http/pprof
	Answer  *Answer          // nil: no address speaks HTTP
}

// Answer is the answer to the first path that has a status below 300, or else to the first path.
type Answer struct {
	At     netip.AddrPort
	Scheme string
	Asked  string // path and query
	Path   string // the same, or where it was redirected to
	Status int
	Kind   string // Content-Type
}

// String describes request and answer.
func (a *Answer) String() string {
	return fmt.Sprintf("GET %s://%s%s was answered with %d (%s)", a.Scheme, a.At, a.Path, a.Status, cmp.Or(a.Kind, "no Content-Type"))
}

// Look starts the scenario's target, which Build built, sends a GET for the paths to each address
// at which it listens, and ends it. port is the only one to ask; 0: all.
func (b *Programs) Look(ctx context.Context, port int, paths []string) (*Seen, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("which port a program listens at is known on Linux only: start it yourself, and name its URL, as in http://127.0.0.1:8080/")
	}
	e := b.New(b.Dir, nil)
	defer e.Down()
	spec, err := e.process("target", b.Scenario.Target.Process)
	if err != nil {
		return nil, err
	}
	spec.Name, spec.Log, spec.Find = b.Scenario.Name, "", listening(port)
	b.Say("starting " + strings.Join(append([]string{spec.Name}, spec.Command[1:]...), " "))
	if e.Target, err = Start(ctx, spec); err != nil {
		return nil, err
	}
	s := &Seen{Listens: procfs.Listens(e.Target.PID())}
	if at, err := netip.ParseAddrPort(e.Target.Ready()["listen"]); err == nil {
		s.Line, s.Listens = true, []netip.AddrPort{at}
	} else if port != 0 {
		s.Listens = slices.DeleteFunc(s.Listens, func(at netip.AddrPort) bool { return int(at.Port()) != port })
	}
	s.debugLast(ctx)
	s.Answer = ask(ctx, s.Listens, paths)
	return s, ctx.Err()
}

// listening returns a process.Spec.Find that waits until a process listens, at a port if that is
// not 0.
func listening(port int) func(context.Context, int) (map[string]string, error) {
	var p ports
	return func(_ context.Context, pid int) (map[string]string, error) {
		at := p.stable(pid)
		if !slices.ContainsFunc(at, func(a netip.AddrPort) bool { return port == 0 || int(a.Port()) == port }) {
			return nil, nil
		}
		return map[string]string{}, nil
	}
}

// debugLast sorts the addresses that serve net/http/pprof behind the others.
func (s *Seen) debugLast(ctx context.Context) {
	debug := map[netip.AddrPort]int{}
	for _, a := range s.Listens {
		if profiling.Pprof(ctx, profiling.Address{URL: "http://" + a.String()}) == nil {
			debug[a] = 1
		}
	}
	slices.SortStableFunc(s.Listens, func(a, b netip.AddrPort) int { return debug[a] - debug[b] })
	s.Debug = len(debug)
}

// ask asks each address for each path until one is answered with a status below 300.
func ask(ctx context.Context, at []netip.AddrPort, paths []string) (first *Answer) {
	client := &http.Client{Timeout: patience, CheckRedirect: own, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for _, a := range at {
		for _, path := range paths {
			for _, scheme := range []string{"http", "https"} {
				got := get(ctx, client, Answer{At: a, Scheme: scheme, Asked: path})
				if got != nil && got.Status < http.StatusMultipleChoices {
					return got
				}
				if first == nil {
					first = got
				}
			}
		}
	}
	return first
}

// own follows redirects to the same address; one to another address is the answer.
func own(next *http.Request, before []*http.Request) error {
	const most = 10
	if first := before[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(before) >= most {
		return http.ErrUseLastResponse
	}
	return nil
}

// get asks for a path; nil: there is no answer. A server of HTTPS answers plain HTTP with status
// 400.
func get(ctx context.Context, client *http.Client, a Answer) *Answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Scheme+"://"+a.At.String()+a.Asked, nil)
	if err != nil {
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	at := resp.Request.URL
	if resp.StatusCode == http.StatusBadRequest && strings.Contains(string(text), "HTTPS") {
		return nil
	}
	a.Path, a.Status, a.Kind = at.RequestURI(), resp.StatusCode, resp.Header.Get("Content-Type")
	return &a
}

// Port is what ready.port of a scenario must say: nil if the target prints a ready line, 0 where
// only one port can be meant.
func (s *Seen) Port() *int {
	port := 0
	switch rest := len(s.Listens) - s.Debug; {
	case s.Line:
		return nil
	case rest > 1, rest == 1 && s.Answer.At != s.Listens[0], rest == 0 && s.Debug > 1:
		port = int(s.Answer.At.Port())
	}
	return &port
}
