// Package progress reports the progress of a job (a command that works through units on its own): a
// Writer reports to the lab, in windows of 100 ms on stdout, and a Bar to people, on stderr.
//
// The lab reads newline-delimited JSON, one line for each window and a last one for the job's end;
// lab/load/windows documents the format:
//
//	{"t_ns":1700000000,"phase":"measure","client":{"offered":20,"sent":20,"completed":20,"failed":1},"gauges":{"depth":3},"hists":{"response.ok":"HISTFAAA..."}}
//	{"end":true}
//
// A unit is reported when it has ended. The lab decides which part of the time is warm-up, since it
// knows how long it measures.
//
// It is not for metrics for a scraper (parts/daemon has a registry), nor for logs. A Writer and a
// Bar own one goroutine each; Close ends it and waits for it.
package progress

import (
	"io"
	"math"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"dyno/agent/monotonic"
)

const (
	windowLength = int64(100 * time.Millisecond)

	// While the reader does not read, this many windows are kept (2 s); later units are added to the
	// last one. A window has one or two histograms of 220 kB.
	maxClosed = 20

	// Histograms have the lab's range: 1 ns to an hour, three significant digits.
	shortest, longest, digits = 1, int64(time.Hour), 3
)

// Writer prints windows. Its methods may be called from any goroutine. Reporting a unit costs half
// a microsecond and a lock, which suits up to some 10,000 units/s.
type Writer struct {
	out   io.Writer
	now   func() int64 // monotonic.Now, except in tests
	quit  chan struct{}
	ended chan struct{}

	mu     sync.Mutex
	open   *window   // the current one
	closed []*window // not written yet, oldest first
	gauges []gauge
	over   bool // Close was called

	// Used only by the goroutine, and by Close after it has ended.
	measured bool  // a whole window was written
	err      error // first write error
}

type gauge struct {
	name string
	read func() float64
}

// New returns a Writer to out, usually stdout: nothing else may be printed there.
func New(out io.Writer) *Writer { return start(out, monotonic.Now) }

func start(out io.Writer, now func() int64) *Writer {
	w := &Writer{out: out, now: now, quit: make(chan struct{}), ended: make(chan struct{})}
	w.open = &window{start: now() / windowLength * windowLength}
	go w.run()
	return w
}

// Done reports that a unit of work has ended, its duration, the bytes that it moved, and whether it
// failed. After Close it does nothing.
func (w *Writer) Done(took time.Duration, bytes int, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.advance()
	w.open.done(int64(took), bytes, failed)
}

// Gauge adds a number from the job to each window, under a name without spaces, commas and quotes.
// read is called at the window's end, from one goroutine; NaN and infinite numbers are left out.
func (w *Writer) Gauge(name string, read func() float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gauges = append(w.gauges, gauge{name, read})
}

// Close writes the last window and the job's end: success if err is nil, otherwise err. It returns
// the first write error, if any.
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

// advance closes the windows whose time is over.
func (w *Writer) advance() {
	now := w.now()
	for end := w.open.start + windowLength; now >= end && len(w.closed) < maxClosed; end += windowLength {
		w.closed = append(w.closed, w.open)
		w.open = &window{start: end}
	}
}

// finite reports whether JSON can represent a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }
