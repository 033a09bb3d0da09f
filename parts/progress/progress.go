// Package progress is how a job (a command that works through units by itself) tells how far it is: a Writer
// tells the lab, in windows of 100 ms on stdout, and a Bar tells people, on stderr.
//
// The lab reads newline-delimited JSON, one line for each window and a last one that says that the job came to
// its end; lab/load/jobs documents the format:
//
//	{"t_ns":1700000000,"phase":"measure","client":{"offered":20,"sent":20,"completed":20,"failed":1},"gauges":{"depth":3},"hists":{"response.ok":"HISTFAAA..."}}
//	{"end":true}
//
// A unit is told when it has ended. What of the time is warm-up is for the lab to say, which knows how long it measures.
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

const (
	windowLength = int64(100 * time.Millisecond)

	// While nobody reads what is printed, this many windows are kept (2 s); what comes then is told with the
	// last of them. A window has a histogram of 220 kB or two.
	maxClosed = 20

	// Histograms are the lab's own: 1 ns to an hour, three significant digits.
	shortest, longest, digits = 1, int64(time.Hour), 3
)

// Writer prints windows. Its methods may be called from any goroutine; to tell of a unit costs half a
// microsecond and a lock, which suits some 10,000 units/s.
type Writer struct {
	out   io.Writer
	now   func() int64 // monotonic.Now, but for tests
	quit  chan struct{}
	ended chan struct{}

	mu     sync.Mutex
	open   *window   // the present one
	closed []*window // to be written, oldest first
	gauges []gauge
	over   bool // Close was called

	// What only the goroutine touches, and Close after its end.
	measured bool  // a whole window was written
	err      error // of writing
}

type gauge struct {
	name string
	read func() float64
}

// New returns a Writer to out, which is stdout as a rule: nothing else may be printed there.
func New(out io.Writer) *Writer { return start(out, monotonic.Now) }

func start(out io.Writer, now func() int64) *Writer {
	w := &Writer{out: out, now: now, quit: make(chan struct{}), ended: make(chan struct{})}
	w.open = &window{start: now() / windowLength * windowLength}
	go w.run()
	return w
}

// Done says that a unit of work has ended, well or badly, how long it took, and how many bytes it moved. After Close it
// does nothing.
func (w *Writer) Done(took time.Duration, bytes int, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.advance()
	w.open.done(int64(took), bytes, failed)
}

// Gauge adds a number of the job's own to each window, under a name without spaces, commas and quotes. It is
// read at the window's end, from one goroutine; a number that is none (NaN, infinite) is left out.
func (w *Writer) Gauge(name string, read func() float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gauges = append(w.gauges, gauge{name, read})
}

// Close tells of the last window and that the job came to its end as it should, or failed with err. It
// returns what went wrong with the writing, now or before.
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

// advance closes the windows that are over.
func (w *Writer) advance() {
	now := w.now()
	for end := w.open.start + windowLength; now >= end && len(w.closed) < maxClosed; end += windowLength {
		w.closed = append(w.closed, w.open)
		w.open = &window{start: end}
	}
}

// finite says whether JSON has a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }
