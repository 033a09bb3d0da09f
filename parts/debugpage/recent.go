package debugpage

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

const (
	// Kept is how long Recent remembers.
	Kept = 5 * time.Minute
	// every is the time between two readings: what a page draws as one point.
	every = 3 * time.Second
	// most is the number of readings that are remembered.
	most = int(Kept / every)
	// back is how many readings ago the one is with which quantiles, means and shares are compared.
	back = 3
)

// Recent keeps the figures of a page for the last five minutes, so that a page that is opened after
// an incident shows it. It needs eight bytes for each figure and reading, whatever the number of
// labels, and answers requests as JSON. It is safe for concurrent use.
type Recent struct {
	figures []Figure
	from    prometheus.Gatherer
	each    func(values []float64) // nil: none

	mu     sync.Mutex
	points []point     // at most most, the oldest first
	before [][]reading // of the last back readings, by figure
}

// point is what the figures were at a time; NaN: not known.
type point struct {
	at     time.Time
	values []float64
}

// NewRecent returns what keeps figures of a service's metrics. Nothing is read until Run.
func NewRecent(figures []Figure, from prometheus.Gatherer) *Recent {
	return &Recent{figures: figures, from: from}
}

// Each has Run call f with the values of each point, in the order of the figures; NaN: not known. f
// must not change them. Each is called before Run.
func (r *Recent) Each(f func(values []float64)) { r.each = f }

// Run reads the figures until the context ends. Its caller owns the goroutine.
func (r *Recent) Run(ctx context.Context) {
	due := time.NewTicker(every)
	defer due.Stop()
	for ctx.Err() == nil { // both may be due below
		values := r.read(time.Now())
		if r.each != nil {
			r.each(values)
		}
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
	}
}

// read adds a point and returns its values. What cannot be gathered is missing from it.
func (r *Recent) read(now time.Time) []float64 {
	all := byName(r.gather())
	readings := make([]reading, len(r.figures))
	for i, f := range r.figures {
		readings[i] = read(f, all)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := point{now, make([]float64, len(r.figures))}
	for i, f := range r.figures {
		p.values[i] = math.NaN()
		switch n := len(r.before); {
		case f.Kind == Now:
			p.values[i] = readings[i].value
		case n == 0:
		case f.Kind == Rate:
			seconds := now.Sub(r.points[len(r.points)-1].at).Seconds()
			p.values[i] = readings[i].since(r.before[n-1][i]).value / seconds
		default:
			p.values[i] = readings[i].since(r.before[0][i]).figure(f.Kind)
		}
	}
	if len(r.points) == most {
		copy(r.points, r.points[1:])
		r.points = r.points[:most-1]
	}
	r.points = append(r.points, p)
	if len(r.before) == back {
		copy(r.before, r.before[1:])
		r.before = r.before[:back-1]
	}
	r.before = append(r.before, readings)
	return p.values
}

// gather returns the metrics that can be read: all but those with an error, and none if one panics.
func (r *Recent) gather() (families []*dto.MetricFamily) {
	defer func() { recover() }() // the page lacks a point, and the service goes on
	families, _ = r.from.Gather()
	return families
}

// recent is the answer to the page.
type recent struct {
	AgesS   []float64    `json:"ages_s"`  // how long ago the points were, the oldest first
	Figures [][]*float64 `json:"figures"` // the points of each figure; null: not known
}

// ServeHTTP answers with the points.
func (r *Recent) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(r.answer(time.Now()))
}

func (r *Recent) answer(now time.Time) recent {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := recent{AgesS: []float64{}, Figures: make([][]*float64, len(r.figures))}
	for i := range out.Figures {
		out.Figures[i] = []*float64{}
	}
	for _, p := range r.points {
		out.AgesS = append(out.AgesS, now.Sub(p.at).Seconds())
		for i, v := range p.values {
			known := &v
			if math.IsNaN(v) || math.IsInf(v, 0) {
				known = nil
			}
			out.Figures[i] = append(out.Figures[i], known)
		}
	}
	return out
}
