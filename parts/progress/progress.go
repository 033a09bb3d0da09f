// Package progress is how a job (a command that works through units by itself) tells how far it is: a Writer
// tells the lab, in windows of 100 ms on stdout, and a Bar tells people, on stderr.
//
// The lab reads newline-delimited JSON, one line for each window and a last one that says that the job came to
// its end; lab/load/jobs documents the format:
//
//	{"t_ns":1700000000,"phase":"measure","client":{"offered":20,"completed":19,"backlog":1},"gauges":{"depth":3},"hists":{"response.ok":"HISTFAAA..."}}
//	{"end":true}
//
// It is not for metrics that somebody scrapes (parts/daemon has a registry), nor for logs. A Writer and a Bar
// own one goroutine each; Close ends it and waits for it.
package progress

import (
	"io"
	"math"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"dyno/agent/monotonic"
)

// Phase says what of a job counts. Phases come in the order of the constants.
type Phase int

const (
	Warmup  Phase = iota // not yet: caches fill, connections are made
	Measure              // this counts
	Drain                // not any more: what is under way comes to its end
)

// String is the name on the wire.
func (p Phase) String() string {
	switch p {
	case Warmup:
		return "warmup"
	case Measure:
		return "measure"
	}
	return "drain"
}

const (
	windowLength = int64(100 * time.Millisecond)

	// While nobody reads what is printed, this many windows are kept (2 s); what comes then is told with the
	// last of them. A window has a histogram of 220 kB or two.
	maxClosed = 20

	// Histograms are the lab's own: 1 ns to an hour, three significant digits.
	shortest, longest, digits = 1, int64(time.Hour), 3
)

// Writer prints windows. Its methods may be called from any goroutine; to start and end a unit costs half a
// microsecond and a lock, which suits some 10,000 units/s.
type Writer struct {
	out   io.Writer
	now   func() int64 // monotonic.Now, but for tests
	quit  chan struct{}
	ended chan struct{}

	mu     sync.Mutex
	phase  Phase            // of the window after the open one
	open   *window          // the present one
	closed []*window        // to be written, oldest first
	units  map[uint64]began // under way
	seq    uint64           // the last unit's
	gauges []gauge
	over   bool // Close was called

	// What only the goroutine touches, and Close after its end.
	measured bool  // a window of phase Measure was written
	err      error // of writing
}

// began is when a unit did, and whether in a phase that does not count yet.
type began struct {
	at   int64 // ns, monotonic
	warm bool
}

type gauge struct {
	name string
	read func() float64
}

// New returns a Writer to out, which is stdout as a rule: nothing else may be printed there. What it tells
// is of the first phase (Measure, for a job that needs no warm-up) until Phase says otherwise.
func New(out io.Writer, first Phase) *Writer { return start(out, first, monotonic.Now) }

func start(out io.Writer, first Phase, now func() int64) *Writer {
	w := &Writer{out: out, now: now, quit: make(chan struct{}), ended: make(chan struct{}), phase: first, units: map[uint64]began{}}
	w.open = &window{start: now() / windowLength * windowLength, phase: first}
	go w.run()
	return w
}

// Unit is one piece of the job's work under way. Its zero value is none.
type Unit struct {
	w   *Writer
	seq uint64
}

// Start says that a unit of work begins.
func (w *Writer) Start() Unit {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return Unit{}
	}
	now := w.advance()
	w.seq++
	w.units[w.seq] = began{now, w.open.phase == Warmup}
	w.open.offered++
	w.open.backlog++
	return Unit{w, w.seq}
}

// Done says that the unit has ended, well or badly, and how many bytes it moved. Only the first call counts.
func (u Unit) Done(bytes int, failed bool) {
	if u.w == nil {
		return
	}
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	b, ok := u.w.units[u.seq]
	if !ok || u.w.over {
		return
	}
	delete(u.w.units, u.seq)
	now := u.w.advance()
	u.w.open.backlog--
	u.w.open.done(now-b.at, bytes, failed, b.warm)
}

// Done says that a unit has ended whose beginning was not told, after this time.
func (w *Writer) Done(latency time.Duration, bytes int, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.advance()
	w.open.offered++
	w.open.done(int64(latency), bytes, failed, w.open.phase == Warmup)
}

// Gauge adds a number of the job's own to each window, under a name without spaces, commas and quotes. It is
// read at the window's end, from one goroutine; a number that is none (NaN, infinite) is left out.
func (w *Writer) Gauge(name string, read func() float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gauges = append(w.gauges, gauge{name, read})
}

// Phase begins with the next window: a window is of one phase. A phase that is over does not come again.
func (w *Writer) Phase(p Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance()
	w.phase = max(w.phase, p)
}

// Close tells of the last window and that the job came to its end as it should, or failed with err. It
// returns what went wrong with the writing, now or before. Units under way are told as unfinished.
func (w *Writer) Close(err error) error {
	w.mu.Lock()
	again := w.over
	w.over = true
	w.mu.Unlock()
	if !again {
		close(w.quit)
		<-w.ended
		w.finish(err)
	}
	return w.err
}

// advance closes the windows that are over, and returns the time.
func (w *Writer) advance() int64 {
	now := w.now()
	for end := w.open.start + windowLength; now >= end && len(w.closed) < maxClosed; end += windowLength {
		w.closed = append(w.closed, w.open)
		w.open = &window{start: end, phase: w.phase, backlog: w.open.backlog}
	}
	return now
}

// finite says whether JSON has a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }
