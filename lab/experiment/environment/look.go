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

// patience bounds the wait for one answer in Look.
const patience = 5 * time.Second

// Seen is what Look has found out about a target.
type Seen struct {
	Line    bool             // it printed a ready line
	Listens []netip.AddrPort // addresses at which it listens
	Debug   int              // number of these, the last ones, that serve net/http/pprof
	Answer  *Answer          // nil: none of the addresses speaks HTTP
}

// Answer is the first answer with a status below 300 or, if there is none, the first answer.
type Answer struct {
	At     netip.AddrPort
	Scheme string
	Asked  string // path and query of the request
	Path   string // the same, or that to which the request was redirected
	Status int
	Kind   string // Content-Type
}

// String describes the request and its answer.
func (a *Answer) String() string {
	return fmt.Sprintf("GET %s://%s%s was answered with %d (%s)", a.Scheme, a.At, a.Path, a.Status, cmp.Or(a.Kind, "no Content-Type"))
}

// Look starts the scenario's target, whose program Build has built, sends GETs for the paths to
// each address at which it listens, and stops it. If port is not 0, it uses the addresses with
// that port only.
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

// listening returns a process.Spec.Find that waits until a process listens; if port is not 0, at
// that port.
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

// debugLast moves the addresses that serve net/http/pprof to the end.
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

// ask sends a GET for each path to each address until an answer has a status below 300.
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

// own follows redirects to the same address. A redirect to another address is itself the answer.
func own(next *http.Request, before []*http.Request) error {
	const most = 10
	if first := before[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(before) >= most {
		return http.ErrUseLastResponse
	}
	return nil
}

// get sends a GET for a path; it returns nil if there is no answer. An HTTPS server answers plain
// HTTP with status 400, which counts as no answer.
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

// Port returns the value for ready.port in a scenario: nil if the target prints a ready line, and
// 0 if the port need not be named because there is only one candidate.
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
