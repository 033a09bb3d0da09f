// Command batchjob is a job that works through units, with a capacity known from arithmetic: a
// unit takes --unit, --workers units are in progress concurrently, and all of them share a server
// that serves --roof of them per second. So it completes min(workers/unit, roof) units per
// second, and each takes the time given by Little's law: workers over that.
//
// It computes its results without doing the work, so its counts are exact however busy the
// machine is: a search that reads them finds the roof, or is wrong. It prints a window every 100
// ms, in the format of lab/load/windows, until it receives SIGTERM or has done --units.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"dyno/agent/monotonic"
	"dyno/subjects/subject"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// window is the length of one line of the output.
const window = 100 * time.Millisecond

// job holds the flags.
type job struct {
	workers int
	unit    time.Duration
	roof    float64 // units/s; 0: none
	units   int64   // number of units; 0: unlimited
}

// perSecond returns the units completed per second.
func (j job) perSecond() float64 {
	x := float64(j.workers) / j.unit.Seconds()
	if j.roof > 0 {
		x = min(x, j.roof)
	}
	return x
}

// takes returns the time of a unit from its beginning, waiting for the roof included.
func (j job) takes() time.Duration {
	return time.Duration(float64(j.workers) / j.perSecond() * float64(time.Second))
}

// done returns the number of units completed after a number of windows.
func (j job) done(windows int64) int64 {
	n := int64(float64(windows) * window.Seconds() * j.perSecond())
	if j.units > 0 {
		n = min(n, j.units)
	}
	return n
}

// flying returns the number of units in progress after a number of windows.
func (j job) flying(windows int64) int64 {
	if j.units > 0 {
		return min(int64(j.workers), j.units-j.done(windows))
	}
	return int64(j.workers)
}

func main() {
	fs := flag.NewFlagSet("batchjob", flag.ContinueOnError)
	var j job
	fs.IntVar(&j.workers, "workers", 1, "`number` of concurrent units")
	fs.DurationVar(&j.unit, "unit", 10*time.Millisecond, "`time` of a unit without waiting")
	fs.Float64Var(&j.roof, "roof", 0, "units per `second` that all of them share; 0: no limit")
	fs.Int64Var(&j.units, "units", 0, "`number` of units to do; 0: until SIGTERM")
	debug := fs.String("debug", "", "`address` of the profiles and the agent; empty: none")
	subject.Parse(fs, os.Args[1:])
	if j.workers < 1 || j.unit <= 0 || j.roof < 0 || j.units < 0 {
		subject.Usage("batchjob", fmt.Errorf("--workers and --unit must be above 0, --roof and --units 0 or more"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, j, *debug, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "batchjob: %v\n", err)
		os.Exit(1)
	}
}

// run works until all units are done or ctx ends, and serves the debug address if there is one.
func run(ctx context.Context, j job, debug string, stdout io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var serving sync.WaitGroup
	var served error
	if debug != "" {
		serving.Go(func() {
			defer stop()
			page := subject.Subject{Name: "batchjob", Handler: http.NotFoundHandler()}
			served = subject.Serve(ctx, subject.Flags{Listen: "127.0.0.1:0", Debug: debug}, page, io.Discard)
		})
	}
	err := j.work(ctx, stdout)
	stop()
	serving.Wait()
	if served != nil {
		return served
	}
	return err
}

// line is a window in the format of lab/load/windows.
type line struct {
	Start  int64              `json:"t_ns"`
	Phase  string             `json:"phase"`
	Client client             `json:"client"`
	Gauges map[string]float64 `json:"gauges"`
	Hists  map[string]string  `json:"hists"`
}

type client struct {
	Offered   int64 `json:"offered"`
	Sent      int64 `json:"sent"`
	Completed int64 `json:"completed"`
	Backlog   int64 `json:"backlog"`
}

// work prints each window at its end.
func (j job) work(ctx context.Context, stdout io.Writer) error {
	out := bufio.NewWriter(stdout)
	start := (monotonic.Now()/int64(window) + 1) * int64(window)
	for k := int64(0); j.units == 0 || j.done(k) < j.units; k++ {
		at := start + k*int64(window)
		wait := time.NewTimer(time.Duration(at + int64(window) - monotonic.Now()))
		select {
		case <-ctx.Done():
			wait.Stop()
			return print(out, map[string]any{"end": true})
		case <-wait.C:
		}
		l, err := j.window(k, at)
		if err != nil {
			return err
		}
		if err := print(out, l); err != nil {
			return err
		}
	}
	return print(out, map[string]any{"end": true})
}

// window returns the results of the k-th window.
func (j job) window(k, at int64) (line, error) {
	n, flying, before := j.done(k+1)-j.done(k), j.flying(k+1), int64(0)
	if k > 0 {
		before = j.flying(k)
	}
	begun := n + flying - before
	l := line{Start: at, Phase: "measure", Client: client{Offered: begun, Sent: begun, Completed: n, Backlog: flying}}
	l.Gauges = map[string]float64{"bound_server": 1 - j.unit.Seconds()/j.takes().Seconds(), "bound_cpu": 0}
	if n == 0 {
		return l, nil
	}
	h := hdrhistogram.New(1, int64(time.Hour), 3)
	if err := h.RecordValues(min(int64(j.takes()), int64(time.Hour)), n); err != nil {
		return l, err
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	l.Hists = map[string]string{"response.ok": string(text), "service": string(text)}
	return l, err
}

func print(out *bufio.Writer, v any) error {
	if err := json.NewEncoder(out).Encode(v); err != nil {
		return err
	}
	return out.Flush()
}
