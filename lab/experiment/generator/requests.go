package generator

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/deliveries"
)

// Requests are the requests to a ready target and the driver that sends them.
type Requests struct {
	Driver  load.Driver
	Classes []string // the names of their classes
	Run     string   // the run's name in request bodies

	corpus    *corpus.Corpus                     // nil: agents build and send it
	rows      int                                // rows or bodies that the corpus is made of
	committed *atomic.Pointer[deliveries.Blocks] // receives what answers accept; nil: no node reports deliveries
}

// Left returns the number of requests that can still be sent to the process.
func (r *Requests) Left() int64 {
	if r.corpus == nil {
		return math.MaxInt64
	}
	return r.corpus.Left()
}

// Notes are the driver's notes on failures.
func (r *Requests) Notes() []string {
	if d, ok := r.Driver.(load.Noting); ok {
		return d.Notes()
	}
	return nil
}

// UsedUp explains that a load ended early because every row was sent: after a time, of the time
// that it should have taken.
func (r *Requests) UsedUp(after, of time.Duration) string {
	needed := float64(r.rows) * of.Seconds() / max(after.Seconds(), 1e-3)
	return fmt.Sprintf("corpus used up: its %d rows lasted %.3g s of %.3g s; about %s rows are needed", r.rows, after.Seconds(), of.Seconds(), roundUp(needed))
}

// roundUp returns a number with two digits that count.
func roundUp(n float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(max(n, 10)))-1)
	return strconv.FormatFloat(math.Ceil(n/unit)*unit, 'f', 0, 64)
}

// supply returns what is left of the requests for a process, which may have been loaded before.
func (b *Generator) supply(s *environment.Testbed, u *url.URL) *corpus.Supply {
	process := any(s)
	if s.Target == nil { // it runs already, whatever the environment
		process = u.Host
	}
	if b.supplies[process] == nil {
		if b.supplies == nil {
			b.supplies = map[any]*corpus.Supply{}
		}
		b.supplies[process] = &corpus.Supply{}
	}
	return b.supplies[process]
}
