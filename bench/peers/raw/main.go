// Command raw sends requests with Dyno's raw engine in the closed model, each connection one
// request after the other, and prints their windows as a job: so an HTTP server can be set beside
// peers that only know that model, or the engine itself beside another load generator. With --rate
// it sends at a constant rate, in the open model, so that the engine can be set beside itself.
//
//	raw --url 'http://127.0.0.1:8080/order?uid={uid}' --header 'Authorization: Bearer {token}' --rows feed.csv
//
// {NAME} is a column of --rows. With --subject the engine is what is measured: then it is no reason
// to leave a run out that the engine itself is busy. It is not for the latency of a server at a
// rate (dyno load is). Its goroutines have ended when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"dyno/bench/peers/callers"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/http1"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type options struct {
	url, body, rows, backend   string
	header                     map[string]string
	lines, status, connections int
	rate                       float64
	subject                    bool
}

func main() {
	o := options{header: map[string]string{}}
	flag.StringVar(&o.url, "url", "", "`URL` of the requests")
	flag.StringVar(&o.body, "body", "", "body; with it the method is POST")
	flag.IntVar(&o.lines, "lines", 1, "copies of the body in a request, a line each; a line is a unit of work")
	flag.Func("header", "header `NAME: VALUE`; repeatable", func(s string) error {
		name, value, ok := strings.Cut(s, ":")
		if !ok {
			return errors.New("write NAME: VALUE")
		}
		o.header[name] = strings.TrimSpace(value)
		return nil
	})
	flag.StringVar(&o.rows, "rows", "", "CSV `file` with the values of {NAME}, used in turn")
	flag.IntVar(&o.status, "status", http.StatusOK, "status that counts as success")
	flag.IntVar(&o.connections, "connections", 64, "connections, each with one request in flight")
	flag.Float64Var(&o.rate, "rate", 0, "requests per second, sent when they are due; 0: each connection sends when it has its answer")
	flag.StringVar(&o.backend, "backend", "", "epoll or uring; default: the better one that this kernel has")
	flag.BoolVar(&o.subject, "subject", false, "the engine itself is measured")
	flag.Parse()
	callers.Main("raw", func(ctx context.Context) error { return o.run(ctx, os.Stdout) })
}

func (o options) run(ctx context.Context, stdout io.Writer) error {
	out := sink{windows.NewWriter(stdout), int64(o.lines), o.subject}
	driver, err := o.driver()
	if err != nil {
		return err
	}
	const longest = 24 * time.Hour // the lab stops it
	plan := load.Plan{Connections: o.connections, Length: longest, Drain: time.Second, Timeout: 10 * time.Second}
	if o.rate != 0 {
		schedule := load.ScheduleSpec{Kind: workload.Constant, PerSecond: o.rate, Length: longest}
		if err := schedule.Check(); err != nil {
			return errors.Join(fmt.Errorf("--rate: %w", err), out.Close(err))
		}
		plan.Follow(schedule)
	}
	_, _, err = load.Run(ctx, plan, driver, out)
	return errors.Join(err, out.Close(err))
}

// placeholder is {NAME} in a URL, a header or a body.
var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func (o options) driver() (*http1.Driver, error) {
	scheme, rest, ok := strings.Cut(o.url, "://")
	host, path, _ := strings.Cut(rest, "/")
	if !ok || host == "" || o.connections < 1 || o.lines < 1 {
		return nil, fmt.Errorf("--url %q, --connections %d, --lines %d: give http://HOST:PORT/PATH, and at least one of the others", o.url, o.connections, o.lines)
	}
	spec := corpus.Spec{}
	fill := func(s string) string { return strings.ReplaceAll(s, "$", "$$") }
	if o.rows != "" {
		file, err := os.Open(o.rows)
		if err != nil {
			return nil, fmt.Errorf("--rows: %w", err)
		}
		defer file.Close()
		if spec.Rows, err = corpus.ReadCSV(file); err != nil {
			return nil, fmt.Errorf("--rows %s: %w", o.rows, err)
		}
		escape := fill
		fill = func(s string) string { return placeholder.ReplaceAllString(escape(s), "$${row.$1}") }
	}
	one := workload.Request{Path: fill("/" + path), Headers: map[string]string{}, Check: &workload.Check{Status: []int{o.status}}}
	if o.body != "" {
		one.Body = workload.Body{Text: fill(o.body), Copies: o.lines}
	}
	for name, value := range o.header {
		one.Headers[name] = fill(value)
	}
	spec.Load.Requests = []workload.Request{one}
	requests, err := corpus.Build(spec)
	if err != nil {
		return nil, err
	}
	return http1.New(http1.Config{Target: scheme + "://" + host, Corpus: requests, Backend: o.backend})
}

// sink prints windows, in units of work. Of the engine as the subject it leaves out its CPU, by
// which the lab judges a load generator.
type sink struct {
	*windows.Writer
	units   int64 // of a request
	subject bool
}

func (s sink) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	if s.subject {
		w.Client.CPU = 0
	}
	if s.units > 1 {
		c := &w.Client
		for _, n := range []*int64{&c.Offered, &c.Sent, &c.Ended, &c.Failed, &c.Refused, &c.Backlog} {
			*n *= s.units
		}
		for tag, h := range hists {
			hists[tag] = times(h, s.units)
		}
	}
	return s.Writer.Window(w, hists)
}

// times counts each value of a histogram n times.
func times(h *hdrhistogram.Histogram, n int64) *hdrhistogram.Histogram {
	out := record.NewHistogram()
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			out.RecordValues(bar.To, bar.Count*n) // no error: the lab's histograms are alike
		}
	}
	return out
}
