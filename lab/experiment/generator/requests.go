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

// Requests holds the driver that sends a run's requests to a target, and what is known about the
// requests.
type Requests struct {
	Driver  load.Driver
	Classes []string // the names of the request classes
	Run     string   // the run's name in request bodies

	corpus    *corpus.Corpus                     // nil: agents build and send the requests
	rows      int                                // rows or bodies that the corpus is made of
	committed *atomic.Pointer[deliveries.Blocks] // receives what answers accept; nil: no node reports deliveries
}

// Left returns the number of requests that can still be sent.
func (r *Requests) Left() int64 {
	if r.corpus == nil {
		return math.MaxInt64
	}
	return r.corpus.Left()
}

// Lasting returns the rate per second at which the rows, each sent once, last for a time: most if that is enough, and
// at least least.
func (b *Generator) Lasting(most, least float64, during time.Duration) float64 {
	rows := 0
	if b.rows != nil {
		rows = b.rows.Len()
	}
	return max(least, min(most, float64(rows)/during.Seconds()))
}

// Notes returns the driver's notes on failures.
func (r *Requests) Notes() []string {
	if d, ok := r.Driver.(load.Noting); ok {
		return d.Notes()
	}
	return nil
}

// UsedUp explains that a load ended early because every row was sent: it lasted for after instead
// of of. Runs before it may have sent all, to a target that the lab did not start.
func (r *Requests) UsedUp(after, of time.Duration) string {
	if after <= 0 {
		return fmt.Sprintf("corpus used up: runs before it have sent its %d rows", r.rows)
	}
	needed := float64(r.rows) * of.Seconds() / max(after.Seconds(), 1e-3)
	return fmt.Sprintf("corpus used up: its %d rows lasted %.3g s of %.3g s; about %s rows are needed", r.rows, after.Seconds(), of.Seconds(), roundUp(needed))
}

// roundUp rounds a number up to two significant digits.
func roundUp(n float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(max(n, 10)))-1)
	return strconv.FormatFloat(math.Ceil(n/unit)*unit, 'f', 0, 64)
}

// supply returns the count of requests that a process has received so far, in this run and in
// those before.
func (b *Generator) supply(s *environment.Testbed, u *url.URL) *corpus.Supply {
	process := any(s)
	if s.Target == nil { // the lab did not start it: it is the same in every testbed
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
