// Package request turns command-line arguments about requests into a scenario: flags that
// describe a request to a URL, or a scenario file in which flags replace values.
//
// It does not handle the flags of a measurement (depth, budget, output), and it runs nothing. It
// starts no goroutines.
package request

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"dyno/cmd/dyno/usage"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/workload"

	"github.com/spf13/pflag"
)

// MostPerSecond bounds the rates in flags: about ten times what one machine can send.
const MostPerSecond = 1e7

// Flags describe one kind of request to one URL; load, capacity and compare share them.
type Flags struct {
	method, body string
	headers      []string
	Connections  int
	engine       string
	timeout      time.Duration
	MaxRate      float64 // per second; 0: no limit
	pipeline     int
	insecure     bool
	http2        bool
	slo, debug   string

	set *pflag.FlagSet
}

// Register adds the flags to a command's flags.
func (q *Flags) Register(f *pflag.FlagSet) {
	q.set = f
	f.StringVarP(&q.method, "method", "m", "", "method (default GET, or POST with a body)")
	f.StringArrayVarP(&q.headers, "header", "H", nil, "header 'K: V'; repeatable")
	f.StringVarP(&q.body, "body", "b", "", "body, or @FILE; may contain ${id}, ${run} and ${random:N}")
	f.IntVarP(&q.Connections, "connections", "c", 64, "connections")
	f.StringVar(&q.engine, "engine", "auto", "raw (HTTP/1.1 over epoll or io_uring), std (net/http: TLS, HTTP/2) or auto")
	usage.Duration(f, &q.timeout, "timeout", "", 10*time.Second, "time limit of a request, from its intended send time")
	usage.Rate(f, &q.MaxRate, "max-rate", "", "upper bound of the rate, per second")
	f.IntVar(&q.pipeline, "pipeline", 1, "requests in flight on one connection")
	f.BoolVarP(&q.insecure, "insecure", "k", false, "trust any TLS certificate")
	f.BoolVar(&q.http2, "http2", false, "offer HTTP/2")
	f.StringVar(&q.slo, "slo", "", "service level objective, as in p99=20ms,errors=0.1%; without errors= it allows 0.1%, and errors=0% allows none")
	f.StringVar(&q.debug, "debug", "", "base URL of the target's agent or pprof")
}

// Scenario makes a scenario with one kind of request to a URL.
func (q *Flags) Scenario(mode, url string) (*scenario.Scenario, error) {
	sc := &scenario.Scenario{Name: title(url), Mode: mode, Target: scenario.Target{URL: url, Debug: q.debug}}
	only := workload.Request{Method: strings.ToUpper(q.method), Body: workload.Body{Text: q.body}}
	sc.Load = scenario.Load{URL: url, Headers: map[string]string{},
		Engine: q.engine, Connections: q.Connections, Timeout: q.timeout, MaxRate: q.MaxRate, Pipeline: q.pipeline,
		TLS: workload.TLS{Insecure: q.insecure, HTTP2: q.http2}}
	if file, ok := strings.CutPrefix(q.body, "@"); ok {
		body, err := readBody(file)
		if err != nil {
			return nil, usage.Errorf("reading the body: %w", err)
		}
		only.Body.Text = body
	}
	sc.Load.Requests = []workload.Request{only}
	for _, h := range q.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usage.Errorf("header %q is not of the form 'K: V'%s", h, colon(h))
		}
		sc.Load.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	switch {
	case q.Connections < 1 || q.Connections > 100_000:
		return nil, usage.Errorf("-c takes 1 to 100000 connections, not %d", q.Connections)
	case q.timeout <= 0:
		return nil, usage.Errorf("--timeout takes a duration above 0, not %s", q.timeout)
	case !(q.MaxRate >= 0 && q.MaxRate <= MostPerSecond):
		return nil, usage.Errorf("--max-rate takes a rate above 0 and up to %.0f per second, not %g", MostPerSecond, q.MaxRate)
	case q.pipeline < 1 || q.pipeline > mostInPipeline:
		return nil, usage.Errorf("--pipeline takes 1 to %d, not %d", mostInPipeline, q.pipeline)
	case q.engine != "auto" && q.engine != "raw" && q.engine != "std":
		return nil, usage.Errorf("unknown engine %q; write raw, std or auto", q.engine)
	}
	if q.slo == "" {
		return sc, nil
	}
	return sc, q.objective(sc)
}

// mostInPipeline bounds the requests in flight on one connection: it is far more than a server
// reads ahead.
const mostInPipeline = 10_000

// colon suggests how to write a header that lacks its colon; empty: there is no suggestion.
func colon(header string) string {
	name, value, ok := strings.Cut(header, "=")
	if !ok {
		name, value, ok = strings.Cut(header, " ")
	}
	if !ok || strings.TrimSpace(name) == "" {
		return ""
	}
	return fmt.Sprintf("; write '%s: %s'", strings.TrimSpace(name), strings.TrimSpace(value))
}

// Open reads a scenario file; flags that were given replace its values.
func (q *Flags) Open(file string) (*scenario.Scenario, error) {
	sc, err := Open(file)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"method", "header", "body", "insecure", "http2", "debug"} {
		if q.set.Changed(name) {
			return nil, usage.Errorf("--%s belongs to a URL; for a scenario, change its file", name)
		}
	}
	for name, replace := range map[string]func(){
		"connections": func() { sc.Load.Connections = q.Connections },
		"engine":      func() { sc.Load.Engine = q.engine },
		"timeout":     func() { sc.Load.Timeout = q.timeout },
		"max-rate":    func() { sc.Load.MaxRate = q.MaxRate },
		"pipeline":    func() { sc.Load.Pipeline = q.pipeline },
	} {
		if q.set.Changed(name) {
			replace()
		}
	}
	if !q.set.Changed("slo") {
		return sc, nil
	}
	return sc, q.objective(sc)
}

// objective sets a scenario's SLO from the flag.
func (q *Flags) objective(sc *scenario.Scenario) error {
	slo, err := record.ParseSLO(q.slo)
	if err != nil {
		return usage.Of(err)
	}
	sc.SLO = slo
	return nil
}

// Target makes a scenario of a URL, or reads a scenario file of which one variant will be
// measured, by default the last. only holds the name of that variant.
func (q *Flags) Target(mode, arg, variant string) (sc *scenario.Scenario, only []string, err error) {
	if IsURL(arg) {
		if variant != "" {
			return nil, nil, usage.Errorf("--variant belongs to a scenario; a URL has none")
		}
		sc, err = q.Scenario(mode, arg)
		return sc, nil, err
	}
	if sc, err = q.Open(arg); err != nil {
		return nil, nil, err
	}
	sc.Mode = mode
	if n := len(sc.Variants); n > 0 {
		variant = cmp.Or(variant, sc.Variants[n-1].Name)
	}
	if variant == "" {
		return sc, nil, nil
	}
	if _, err := sc.Variant(variant); err != nil {
		return nil, nil, usage.Of(err)
	}
	return sc, []string{variant}, nil
}

// TwoURLs makes a scenario that compares two URLs.
func (q *Flags) TwoURLs(args []string) (*scenario.Scenario, error) {
	if len(args) != 2 || !IsURL(args[1]) {
		return nil, usage.Errorf("compare needs two URLs, or one scenario")
	}
	sc, err := q.Scenario(record.KindCompare, args[0])
	if err != nil {
		return nil, err
	}
	sc.Name += " and " + title(args[1])
	sc.Variants = []scenario.Variant{{Name: "A", Change: args[0], URL: args[0]}, {Name: "B", Change: args[1], URL: args[1]}}
	return sc, nil
}

// TwoVariants reads a scenario and the names of the two variants to compare.
func (q *Flags) TwoVariants(args []string, a, b string) (*scenario.Scenario, []string, error) {
	if len(args) != 1 {
		return nil, nil, usage.Errorf("compare takes one folder or scenario, or two URLs, not %d arguments; --a %s --b %s name its revisions or variants", len(args), args[0], args[1])
	}
	sc, err := q.Open(args[0])
	if err != nil {
		return nil, nil, err
	}
	if len(sc.Variants) == 0 {
		return nil, nil, usage.Errorf("%s declares no variants to compare", args[0])
	}
	sc.Mode = record.KindCompare
	names := make([]string, len(sc.Variants))
	for i, v := range sc.Variants {
		names[i] = v.Name
	}
	sides, err := Sides(names, a, b)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range sides {
		if _, err := sc.Variant(name); err != nil {
			return nil, nil, usage.Of(err)
		}
	}
	return sc, sides, nil
}

// Sides returns the names of the two variants to compare: a and b, by default the first and the
// last variant.
func Sides(variants []string, a, b string) ([]string, error) {
	sides := []string{cmp.Or(a, variants[0]), cmp.Or(b, variants[len(variants)-1])}
	if sides[0] == sides[1] {
		return nil, usage.Errorf("A and B are both %q: name two different variants with --a and --b", sides[0])
	}
	return sides, nil
}

// Open reads a scenario file; mistakes in it are usage errors.
func Open(path string) (*scenario.Scenario, error) {
	sc, err := scenario.Open(path)
	if err == nil {
		return sc, nil
	}
	if better := absent(path); better != nil {
		err = better
	}
	return nil, usage.Of(err)
}

// title returns a title for a URL: host and path, without parts that may be secret.
func title(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "load" // the experiment reports the fault in the URL
	}
	title := redact.Text(u.Host + strings.TrimSuffix(u.EscapedPath(), "/"))
	if len(title) > longestTitle {
		title = title[:longestTitle] + "..."
	}
	return title
}

// longestTitle bounds a title in bytes: it becomes part of folder names, which may have up to
// 255.
const longestTitle = 100

// maxBody bounds a body from a file, in bytes, as for a scenario's body_file.
const maxBody = 16 << 20

func readBody(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBody+1))
	if err == nil && len(b) > maxBody {
		err = fmt.Errorf("%s is larger than %d MiB", file, maxBody>>20)
	}
	return string(b), err
}
