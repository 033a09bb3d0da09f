package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Config describes a run by a program that has a Driver of its own.
type Config struct {
	Name     string // of the driver, in results
	URL      string // of the server, in results
	Driver   Driver
	Sessions int
	Rate     float64       // messages per second of each session; 0: sessions only receive
	Warmup   time.Duration // load that is not counted, after all sessions have opened
	Length   time.Duration // measured
	Timeout  time.Duration // of a message, from its intended time, and of opening a session; 0: 10 s
	Sink     load.Sink     // receives each window; nil: windows are discarded
}

// Result holds what a run measured.
type Result struct {
	Name   string
	URL    string
	Length time.Duration // measured
	Totals record.Totals
}

// drain bounds the wait for acknowledgements at the end.
const drain = 2 * time.Second

// Run opens the sessions, carries out the load and returns the result. If ctx is done before the
// end, it returns the result so far with an error.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Driver == nil || c.Sessions < 1 || c.Length <= 0 {
		return Result{}, errors.New("a run of sessions needs a Driver, Sessions of at least 1 and a Length above 0")
	}
	timeout := cmp.Or(c.Timeout, openTimeout)
	plan := load.Plan{Connections: c.Sessions, Warmup: c.Warmup, Length: c.Length, Timeout: timeout, Drain: min(drain, timeout)}
	plan.Follow(Schedule(c.Sessions, c.Rate, c.Warmup+c.Length+record.WindowLength))
	sink := c.Sink
	if sink == nil {
		sink = none{}
	}
	engine := &Engine{Name: cmp.Or(c.Name, "sessions"), Driver: c.Driver}
	totals, done, err := load.Run(ctx, plan, engine, sink)
	return Result{Name: engine.Name, URL: c.URL, Length: done.Length, Totals: totals}, err
}

// Schedule describes the schedule with which n sessions each send at a rate, in turn; the messages
// of all sessions together are evenly spaced.
func Schedule(n int, perSecond float64, length time.Duration) load.ScheduleSpec {
	return load.ScheduleSpec{Kind: workload.Constant, PerSecond: float64(n) * perSecond, Length: length}
}

type none struct{}

func (none) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// Windows runs c and prints each window to w, in the format that the lab reads from a child
// process (package windows). The program must print nothing else to w.
func Windows(ctx context.Context, c Config, w io.Writer) error {
	out := windows.NewWriter(w)
	c.Sink = out
	_, err := Run(ctx, c)
	return errors.Join(err, out.Close(err))
}

// WriteJSON writes the result as an object of the schema dyno.load/1.
func (r Result) WriteJSON(w io.Writer) error {
	t := &r.Totals
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Schema       string           `json:"schema"`
		Model        string           `json:"model"`
		Engine       string           `json:"engine"`
		URL          string           `json:"url"`
		Duration     float64          `json:"duration_s"`
		OfferedPerS  float64          `json:"offered_per_s"`
		AchievedPerS float64          `json:"achieved_per_s"`
		Sent         int64            `json:"sent"`
		Completed    int64            `json:"completed"`
		Unfinished   int64            `json:"unfinished"`
		Errors       map[string]int64 `json:"errors"`
		Status       map[string]int64 `json:"status"`
		Latency      record.Quantiles `json:"latency_ms"`
		Service      record.Quantiles `json:"service_ms"`
		Lag          record.Lag       `json:"send_lag_us"`
		Sessions     *record.Sessions `json:"sessions"`
		Generator    record.Generator `json:"generator"`
	}{"dyno.load/1", "open", r.Name, redact.URL(r.URL), r.Length.Seconds(), t.OfferedPerS, t.ThroughputPerS, t.Sent, t.Completed, t.Unfinished,
		t.Errors, t.Status, t.Response, t.Service, t.Lag, t.Sessions, t.Generator})
}
