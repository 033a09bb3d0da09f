package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
)

// mostPerSecond bounds a requested rate: some ten times the rate that one machine can send.
const mostPerSecond = 1e7

// requestFlags describe one kind of request to one URL; load, capacity and compare share them.
type requestFlags struct {
	method, body string
	headers      []string
	connections  int
	engine       string
	timeout      time.Duration
	maxRate      float64
	pipeline     int
	insecure     bool
	http2        bool
	slo, debug   string
}

func (q *requestFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&q.method, "method", "m", "", "method (default GET, or POST with a body)")
	f.StringArrayVarP(&q.headers, "header", "H", nil, "header 'K: V'; repeatable")
	f.StringVarP(&q.body, "body", "b", "", "body, or @FILE; may contain ${id}, ${run} and ${random:N}")
	f.IntVarP(&q.connections, "connections", "c", 64, "connections")
	f.StringVar(&q.engine, "engine", "auto", "raw (HTTP/1.1 over epoll or io_uring), std (net/http: TLS, HTTP/2) or auto")
	f.DurationVar(&q.timeout, "timeout", 10*time.Second, "time limit of a request, from its intended send time")
	f.Float64Var(&q.maxRate, "max-rate", 0, "upper bound of the offered rate, per second")
	f.IntVar(&q.pipeline, "pipeline", 1, "requests in flight on one connection")
	f.BoolVarP(&q.insecure, "insecure", "k", false, "trust any TLS certificate")
	f.BoolVar(&q.http2, "http2", false, "offer HTTP/2")
	f.StringVar(&q.slo, "slo", "", "service level objective, as in p99=20ms,errors=0.1%; without errors= it allows 0.1%, and errors=0% allows none")
	f.StringVar(&q.debug, "debug", "", "base URL of the target's agent or pprof")
}

// titleOf returns a title for a URL: host and path, without parts that may be secret.
func titleOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "load" // the experiment reports the fault in the URL
	}
	title := record.Redact(u.Host + strings.TrimSuffix(u.EscapedPath(), "/"))
	if len(title) > longestTitle {
		title = title[:longestTitle] + "..."
	}
	return title
}

// longestTitle bounds a title in bytes: it is part of folder names, which may have 255.
const longestTitle = 100

// fileName makes a name safe for a file.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("._", c) {
			return c
		}
		return '-'
	}, name), "-")
}

// scenario makes a scenario from the flags.
func (q *requestFlags) scenario(mode, url string) (*scenario.Scenario, error) {
	sc := &scenario.Scenario{Name: titleOf(url), Mode: mode, Target: scenario.Target{URL: url, Debug: q.debug}}
	sc.Load = scenario.Load{URL: url, Method: strings.ToUpper(q.method), Body: q.body, Headers: map[string]string{},
		Engine: q.engine, Connections: q.connections, Timeout: q.timeout, MaxRate: q.maxRate, Pipeline: q.pipeline,
		TLS: scenario.TLS{Insecure: q.insecure, HTTP2: q.http2}}
	if file, ok := strings.CutPrefix(q.body, "@"); ok {
		body, err := readBody(file)
		if err != nil {
			return nil, usage("reading the body: %w", err)
		}
		sc.Load.Body = body
	}
	for _, h := range q.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usage("header %q is not of the form 'K: V'", h)
		}
		sc.Load.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	switch {
	case q.connections < 1 || q.connections > 100_000:
		return nil, usage("-c takes 1 to 100000 connections, not %d", q.connections)
	case q.timeout <= 0:
		return nil, usage("--timeout takes a duration above 0, not %s", q.timeout)
	case !(q.maxRate >= 0 && q.maxRate <= mostPerSecond):
		return nil, usage("--max-rate takes a rate above 0 and up to %.0f per second, not %g", mostPerSecond, q.maxRate)
	case q.pipeline < 1:
		return nil, usage("--pipeline takes 1 or more, not %d", q.pipeline)
	case q.engine != "auto" && q.engine != "raw" && q.engine != "std":
		return nil, usage("unknown engine %q; write raw, std or auto", q.engine)
	}
	if q.slo != "" {
		slo, err := record.ParseSLO(q.slo)
		if err != nil {
			return nil, &exit{exitUsage, err}
		}
		sc.SLO = slo
	}
	return sc, nil
}

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

func newLoad() *cobra.Command {
	var (
		c        common
		q        requestFlags
		rate     float64
		duration time.Duration
		warmup   time.Duration
		closed   bool
		schedule string
	)
	cmd := &cobra.Command{
		Use:   "load URL",
		Short: "Send one load to a service that already runs, and report its latency and errors",
		Long: `Load sends requests to a URL. With -r the model is open: requests are due at times fixed beforehand, and
latency counts from those, so a stall of the target is seen by every request that fell into it. Without -r
(or with --closed) the model is closed, as wrk's is: each connection waits for its answer before it sends
again, which hides stalls, and the result says so.

It exits 1 when no request completed, 3 when --slo was given and missed, 4 when the load generator was the limit
and the SLO was not met all the same.`,
		Example: `  dyno load http://127.0.0.1:8080/ -r 2000 -d 10s
  dyno load http://127.0.0.1:8080/v1/notices -r 500 -b @notice.json -H 'Content-Type: application/json'
  dyno load http://127.0.0.1:8080/ -c 64 -d 5s --json | jq .latency_ms`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !isTarget(args[0]) {
				return usage("%q is not a URL: write http://HOST:PORT/PATH", args[0])
			}
			sc, err := q.scenario(record.KindLoad, args[0])
			if err != nil {
				return err
			}
			switch {
			case cmd.Flags().Changed("rate") && !(rate > 0 && rate <= mostPerSecond):
				return usage("-r takes a rate above 0 and up to %.0f per second, not %g", mostPerSecond, rate)
			case q.maxRate > 0 && rate > q.maxRate:
				return usage("-r %g is above --max-rate %g", rate, q.maxRate)
			case duration <= 0:
				return usage("-d takes a duration above 0, not %s", duration)
			case warmup < 0:
				return usage("--warmup takes a duration of 0 or more, not %s", warmup)
			case schedule != scenario.Poisson && schedule != scenario.Constant:
				return usage("unknown schedule %q; write poisson or constant (a scenario file has more)", schedule)
			}
			sc.Load.Schedule = scenario.Schedule{Kind: schedule, Rate: rate}
			if rate == 0 || closed {
				sc.Load.Schedule = scenario.Schedule{Kind: scenario.Closed}
			}
			sc.Measure = scenario.Measure{Length: duration, Warmup: warmup}
			return c.execute(cmd.Context(), experiment.Options{Scenario: sc}, judgeLoad)
		},
	}
	c.register(cmd)
	q.register(cmd)
	f := cmd.Flags()
	f.Float64VarP(&rate, "rate", "r", 0, "offered requests per second (open model)")
	f.DurationVarP(&duration, "duration", "d", 10*time.Second, "measured time")
	f.DurationVar(&warmup, "warmup", 500*time.Millisecond, "duration of the load before the measurement, which is not counted")
	f.BoolVar(&closed, "closed", false, "ignore -r: each connection sends again when it has its answer")
	f.StringVar(&schedule, "schedule", scenario.Poisson, "distribution of the gaps between requests: poisson or constant")
	return cmd
}

// judgeLoad turns a load's result into the exit code.
func judgeLoad(rep *report.Report) error {
	switch l := rep.Load; {
	case l.Run.Totals.Completed == 0:
		return fmt.Errorf("no request completed: %s", firstError(l.Run.Totals))
	case l.Verdict != nil && !l.Verdict.Met && l.Verdict.Unjudged == "":
		return &exit{exitMissed, errors.New(rep.Load.MissedWords())}
	}
	return nil
}

// firstError names the most frequent kind of error.
func firstError(t record.Totals) string {
	most, name := int64(0), "none was sent"
	for kind, n := range t.Errors {
		if n > most {
			most, name = n, fmt.Sprintf("%d of %d ended with %q", n, t.Offered, kind)
		}
	}
	return name
}
