// Package looks looks at a running process through its debug address from time to time, and reads
// counters between these looks. It only sends GET requests.
//
// It is not for judging what it saw (package observe does), nor for looks at a known load (profiling.Inspect). It
// starts no goroutines.
package looks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/cmd/dyno/usage"
	"dyno/lab/observe"
	"dyno/lab/probe/host"
	"dyno/lab/probe/procfs"
	"dyno/lab/probe/profiling"
	"dyno/lab/record/redact"
	"dyno/lab/scenario/document"
)

// Plan says at what to look, and for what time.
type Plan struct {
	Debug   profiling.Address
	Metrics profiling.Address // page of metrics; without a URL there is none
	Counter string            // on that page, which must have it; empty: none is named
	PID     int               // of the process, if it is on this machine; 0: it is not known
	Guessed bool              // PID is the process that listens at the address, which may only forward to another one
	For     time.Duration
	Say     func(text string) // takes a line of progress
}

const (
	every      = 6 * time.Second // from one look to the next, on average
	most       = 60              // looks
	profileFor = time.Second
	traceFirst = 100 * time.Millisecond // its size bounds the length of the others
	traceFor   = 300 * time.Millisecond
	traceLeast = 20 * time.Millisecond
	traceBytes = 100 << 20 // of all traces
	dumps      = 8         // goroutine profiles of a look without a trace
	slowReady  = 1e-3      // s from the end of a wait until a goroutine runs, below which it may double
	patience   = 10 * time.Second
	again      = 500 * time.Millisecond
	// Least is the shortest time in which there is room for a look.
	Least = 3 * time.Second
)

// Take looks at the process. If ctx ends before the planned time, it returns what was seen until
// then; if the process stops answering, it also returns an error. With nothing seen, or if the process
// cannot be looked at, it returns only an error.
func Take(ctx context.Context, p Plan) (observe.Facts, error) {
	w := &watch{Plan: p, debug: profiling.NewSingle(p.Debug), profiling: true, tracing: true, statistics: true, began: time.Now()}
	defer w.debug.Close()
	if err := w.check(ctx); err != nil {
		return w.facts, err
	}
	if err := w.checkPID(ctx); err != nil {
		return w.facts, err
	}
	if w.PID > 0 {
		w.facts.Quota, _ = host.Quota(w.PID)
	}
	if p.Metrics.URL != "" {
		w.metrics = profiling.NewSingle(p.Metrics)
		defer w.metrics.Close()
		if err := w.checkMetrics(ctx); err != nil {
			return w.facts, err
		}
	}
	w.Say(fmt.Sprintf("looking at %s for %v; Ctrl-C prints what is known until then", p.Debug, p.For))
	w.began = time.Now()
	w.looks(ctx, min(most, max(1, int(p.For/every))))
	w.facts.Seconds, w.facts.Counter = w.now(), p.Counter
	w.facts.Fetched = w.debug.Fetched()
	if w.metrics != nil {
		w.facts.Fetched += w.metrics.Fetched()
	}
	switch {
	case len(w.facts.Looks) > 0:
		return w.facts, w.lost
	case ctx.Err() != nil:
		return w.facts, fmt.Errorf("it was interrupted before the first look was complete, so nothing is known: %w", ctx.Err())
	case w.lost != nil:
		return w.facts, w.lost
	}
	return w.facts, fmt.Errorf("nothing could be taken from %s: %s", p.Debug, strings.Join(w.facts.Missing, "; "))
}

// looks takes n looks, each at a random moment of its part of the time. It ends early with ctx, with the
// process, or with the planned time.
func (w *watch) looks(ctx context.Context, n int) {
	w.facts.Planned = n
	slot := w.For / time.Duration(n)
	w.read(ctx, false)
	for i := range n {
		start := time.Duration(i) * slot
		room := max(0, slot-profileFor-traceFor-again)
		w.pauseUntil(ctx, start+time.Duration(rand.Int64N(int64(room)+1)))
		if i > 0 && time.Since(w.began)+profileFor > w.For {
			w.note(fmt.Sprintf("%d of %d looks", n-i, n), errNoTime)
			break
		}
		w.read(ctx, false)
		if ctx.Err() != nil || w.look(ctx, n-i) != nil {
			break
		}
		w.read(ctx, true)
		w.Say(fmt.Sprintf("look %d of %d; %v left", i+1, n, max(0, w.For-time.Since(w.began)).Round(time.Second)))
	}
	if w.lost == nil {
		w.pauseUntil(ctx, w.For)
		w.read(ctx, false)
	}
}

type watch struct {
	Plan
	debug, metrics *profiling.Single // metrics: nil if there is none
	facts          observe.Facts
	began          time.Time
	profiling      bool    // CPU profiles are asked for
	tracing        bool    // traces are asked for
	statistics     bool    // the runtime's memory statistics are asked for
	perSecond      float64 // bytes of a trace; 0: not known
	traced         int     // bytes of all traces
	delay          float64 // s from the end of a wait until a goroutine runs, in the first trace
	lost           error   // why the process does not answer any more
}

// check makes the first request, which decides whether the process can be looked at.
func (w *watch) check(ctx context.Context) error {
	err := profiling.Pprof(ctx, w.Debug)
	var status *profiling.StatusError
	switch {
	case err == nil || ctx.Err() != nil:
		return errors.Join(ctx.Err())
	case errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden):
		return fmt.Errorf("%w; if it takes a bearer token, give --token-file or --token", err)
	case errors.As(err, &status) && !profiling.Refused(err):
		return fmt.Errorf("%w; --debug takes the address, and the path if there is one, below which the service serves /debug/pprof/: "+
			`import _ "net/http/pprof" and serve http.DefaultServeMux on a private address`, err)
	}
	return fmt.Errorf("--debug: %w", err)
}

// checkPID compares the command line of the process with the one that the debug address reports: a
// process that listens on loopback may be a tunnel.
func (w *watch) checkPID(ctx context.Context) error {
	if w.PID == 0 {
		return nil
	}
	reported, err := w.debug.Page(ctx, profiling.PathPprof+"cmdline")
	ran, failed := os.ReadFile("/proc/" + strconv.Itoa(w.PID) + "/cmdline")
	same := err == nil && failed == nil && bytes.Equal(bytes.TrimRight(reported, "\x00"), bytes.TrimRight(ran, "\x00"))
	switch {
	case !same && w.Guessed:
		w.PID = 0
	case !same && err == nil && failed == nil:
		words := func(line []byte) string {
			return redact.Text(string(bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '})))
		}
		return fmt.Errorf("--pid: the command line of process %d is %q, and that of the process at %s is %q; leave --pid out if it runs elsewhere", w.PID, words(ran), w.Debug, words(reported))
	}
	return nil
}

func (w *watch) checkMetrics(ctx context.Context) error {
	page, err := w.page(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("--metrics: %w", err)
	case len(page.Values) == 0:
		return fmt.Errorf("--metrics: %s has no metrics in the text format of Prometheus; give the URL of the page itself, as in http://10.0.0.7:6060/metrics", w.Metrics)
	}
	if _, there := page.Values[w.Counter]; there || w.Counter == "" {
		return nil
	}
	hint := "give it as the page writes it, with all of its labels or with none"
	if near, ok := document.Nearest(w.Counter, slices.Sorted(maps.Keys(page.Values))); ok {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usage.Errorf("--counter: %s has no counter %q; %s", w.Metrics, document.Clip(w.Counter), hint)
}

// page reads the page of metrics. Its time is the middle of the request.
func (w *watch) page(ctx context.Context) (*observe.Page, error) {
	path := ""
	if u, err := url.Parse(w.Metrics.URL); err == nil && strings.Trim(u.Path, "/") == "" {
		path = "/metrics"
	}
	before := w.now()
	text, err := w.metrics.Page(ctx, path)
	if err != nil {
		return nil, err
	}
	page := observe.ParsePage(text, (before+w.now())/2)
	if page == nil {
		return nil, fmt.Errorf("%s has too many series; give a page of the process alone", w.Metrics)
	}
	return page, nil
}

func (w *watch) now() float64 { return time.Since(w.began).Seconds() }

func (w *watch) read(ctx context.Context, looking bool) {
	r := observe.Reading{Looking: looking}
	if w.statistics && (looking || len(w.facts.Readings) == 0) {
		before := w.now()
		text, err := w.debug.Statistics(ctx)
		w.statistics = !errors.Is(err, profiling.ErrTooLarge)
		w.note("the runtime's memory statistics", err)
		if err == nil {
			r.Memory = observe.ParseMemory(text, (before+w.now())/2)
		}
	}
	if w.PID > 0 {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(w.PID) + "/stat"); err == nil {
			if total, _, err := procfs.ProcessCPU(stat); err == nil {
				r.Process = &observe.Point{At: w.now(), Value: total}
			}
		}
	}
	if w.metrics != nil {
		page, err := w.page(ctx)
		w.note("the page of metrics", err)
		if page != nil {
			r.Page = page.Only(w.Counter)
		}
	}
	if ctx.Err() == nil {
		w.facts.Readings = append(w.facts.Readings, r)
	}
}

// look takes a CPU profile, and then a trace or profiles of the goroutines: a trace slows what the
// CPU profile would count. It returns an error if the process does not answer any more.
func (w *watch) look(ctx context.Context, left int) error {
	var l observe.Look
	if w.profiling {
		err := w.patient(ctx, func() (err error) {
			l.CPU, err = w.debug.CPU(ctx, profileFor)
			return err
		})
		w.profiling = !profiling.InUse(err)
		w.note("the CPU profile", err)
	}
	if w.tracing {
		err := w.trace(ctx, &l, left)
		w.tracing = w.tracing && !profiling.InUse(err) && (err == nil || w.perSecond > 0)
		w.note("the execution trace", err)
	}
	if w.perSecond == 0 && ctx.Err() == nil {
		var err error
		l.Moments, err = w.debug.Goroutines(ctx, dumps)
		w.note("profiles of the goroutines", err)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case l != observe.Look{}:
		w.facts.Looks = append(w.facts.Looks, l)
		return nil
	}
	err := profiling.Pprof(ctx, w.Debug)
	if status := (*profiling.StatusError)(nil); err == nil || errors.As(err, &status) || ctx.Err() != nil {
		return ctx.Err()
	}
	w.lost = fmt.Errorf("%s does not answer any more: %w", w.Debug, err)
	w.note(fmt.Sprintf("what came after look %d", len(w.facts.Looks)), w.lost)
	return w.lost
}

// trace takes an execution trace as long as the size of the earlier ones permits.
func (w *watch) trace(ctx context.Context, l *observe.Look, left int) error {
	length := traceFirst
	if w.perSecond > 0 {
		length = min(traceFor, time.Duration(float64(traceBytes-w.traced)/float64(left)/w.perSecond*float64(time.Second))).Truncate(time.Millisecond)
	}
	if length < traceLeast {
		w.tracing = false
		return fmt.Errorf("they took %d MB of %d MB, which is the most", w.traced>>20, traceBytes>>20)
	}
	size := 0
	err := w.patient(ctx, func() (err error) {
		l.Trace, size, err = w.debug.Trace(ctx, length)
		return err
	})
	w.traced += size
	if err != nil {
		return err
	}
	w.perSecond = max(w.perSecond, float64(size)/l.Trace.Seconds)
	woken := int64(0)
	for _, wait := range l.Trace.Waits {
		woken += wait.Count
	}
	if woken == 0 {
		return nil
	}
	delay := l.Trace.Runnable / float64(woken)
	if w.delay == 0 {
		w.delay = delay
	}
	if delay > 2*w.delay && delay > slowReady {
		w.tracing = false
		return fmt.Errorf("the run-queue delay grew from %s to %s ms, so no further one was taken", observe.Number(1e3*w.delay), observe.Number(1e3*delay))
	}
	return nil
}

// patient tries again while another client has the profile: the runtime permits one at a time. It gives
// up after some time, or when the planned time ends.
func (w *watch) patient(ctx context.Context, take func() error) error {
	for begun := time.Now(); ; {
		err := take()
		if !profiling.InUse(err) || ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > patience || time.Since(w.began)+again > max(w.For, Least) {
			return fmt.Errorf("%w; after %.0f s of tries it was not asked for again", err, time.Since(begun).Seconds())
		}
		if w.facts.InUse++; w.facts.InUse == 1 {
			w.Say("another client profiles this process; waiting for it to end")
		}
		w.pauseUntil(ctx, time.Since(w.began)+again)
	}
}

// note enters what could not be taken.
func (w *watch) note(what string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	text := what + ": " + err.Error()
	if !slices.Contains(w.facts.Missing, text) && len(w.facts.Missing) < maxNotes {
		w.facts.Missing = append(w.facts.Missing, text)
	}
}

const maxNotes = 10

var errNoTime = errors.New("the others took longer than planned")

// pauseUntil waits until a time after the beginning.
func (w *watch) pauseUntil(ctx context.Context, at time.Duration) {
	timer := time.NewTimer(at - time.Since(w.began))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
