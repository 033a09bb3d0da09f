package agent

import (
	"math"
	"runtime/metrics"
	"slices"

	"dyno/agent/internal/rundelay"
	"dyno/agent/monotonic"
)

// Figures of a Sample that the Go runtime provides. The /cpu/classes/ family advances only once
// per GC cycle, so the process's CPU time comes from getrusage instead.
const (
	goroutines = iota
	heapLive
	heapGoal
	allocObjects
	tinyObjects // not in allocObjects, but allocations all the same (testing.B counts them too)
	allocBytes
	gcCycles
	gcCPU
	mutexWait
	gcPauses
	schedLatencies
	figures
)

var figureNames = [figures]string{
	goroutines:     "/sched/goroutines:goroutines",
	heapLive:       "/gc/heap/live:bytes",
	heapGoal:       "/gc/heap/goal:bytes",
	allocObjects:   "/gc/heap/allocs:objects",
	tinyObjects:    "/gc/heap/tiny/allocs:objects",
	allocBytes:     "/gc/heap/allocs:bytes",
	gcCycles:       "/gc/cycles/total:gc-cycles",
	gcCPU:          "/cpu/classes/gc/total:cpu-seconds",
	mutexWait:      "/sync/mutex/wait/total:seconds",
	gcPauses:       "/sched/pauses/total/gc:seconds",
	schedLatencies: "/sched/latencies:seconds",
}

// reader reads the process. It reuses the buffers of metrics.Read, the previous histograms and
// its open files, so that a reading allocates nothing. It must be closed.
type reader struct {
	metrics []metrics.Sample
	pauses  histogramDelta
	waits   histogramDelta
	delay   *rundelay.Sum
}

func newReader() *reader {
	r := &reader{metrics: make([]metrics.Sample, figures), delay: rundelay.New()}
	for i, name := range figureNames {
		r.metrics[i].Name = name
	}
	var discarded Sample
	r.read(&discarded) // the next reading's differences start from this one
	return r
}

func (r *reader) close() { r.delay.Close() }

// read fills in everything except the gauges and Profiling.
func (r *reader) read(s *Sample) {
	s.At = monotonic.Now()
	s.CPU, s.SystemCPU = ProcessCPU()
	s.Delay = r.delay.Read()
	metrics.Read(r.metrics)
	s.Goroutines = int64(r.count(goroutines))
	s.HeapLive = int64(r.count(heapLive))
	s.HeapGoal = int64(r.count(heapGoal))
	s.Allocs = r.count(allocObjects) + r.count(tinyObjects)
	s.AllocBytes = r.count(allocBytes)
	s.GCCycles = r.count(gcCycles)
	s.GCCPU = r.seconds(gcCPU)
	s.MutexWait = r.seconds(mutexWait)
	if h := r.histogram(gcPauses); h != nil {
		s.GCPause = sum(h)
		r.pauses.advance(h)
		s.GCPauseMax = r.pauses.quantile(h, 1)
		s.GCPauses = r.pauses.list(h, s.GCPauses[:0])
	}
	if h := r.histogram(schedLatencies); h != nil {
		r.waits.advance(h)
		s.SchedP99 = r.waits.quantile(h, 0.99)
	}
}

// count, seconds and histogram return zero for a figure that this version of Go lacks.
func (r *reader) count(figure int) uint64 {
	if v := r.metrics[figure].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0
}

func (r *reader) seconds(figure int) float64 {
	if v := r.metrics[figure].Value; v.Kind() == metrics.KindFloat64 {
		return v.Float64()
	}
	return 0
}

func (r *reader) histogram(figure int) *metrics.Float64Histogram {
	if v := r.metrics[figure].Value; v.Kind() == metrics.KindFloat64Histogram {
		return v.Float64Histogram()
	}
	return nil
}

// sum adds up a histogram of durations, each counted at the middle of its bucket, in s.
func sum(h *metrics.Float64Histogram) float64 {
	total := 0.0
	for i, n := range h.Counts {
		if n > 0 {
			low, high := bounds(h, i)
			total += float64(n) * (low + high) / 2
		}
	}
	return total
}

// bounds returns a bucket's edges, with the finite one in place of an infinite one.
func bounds(h *metrics.Float64Histogram, bucket int) (low, high float64) {
	low, high = h.Buckets[bucket], h.Buckets[bucket+1]
	if math.IsInf(low, -1) {
		low = high
	}
	if math.IsInf(high, 1) {
		high = low
	}
	return low, high
}

// histogramDelta is the growth of a histogram between the last two readings.
type histogramDelta struct {
	before, gained []uint64 // by bucket
}

// advance takes a new reading of the histogram.
func (d *histogramDelta) advance(h *metrics.Float64Histogram) {
	if len(d.before) != len(h.Counts) {
		d.before, d.gained = make([]uint64, len(h.Counts)), make([]uint64, len(h.Counts))
	}
	for i, n := range h.Counts {
		d.gained[i] = n - d.before[i]
	}
	copy(d.before, h.Counts)
}

// quantile returns the upper bound of the bucket that contains the q-quantile of the growth of h;
// 0 if it did not grow.
func (d *histogramDelta) quantile(h *metrics.Float64Histogram, q float64) float64 {
	bucket := quantileOf(d.gained, q)
	if bucket < 0 {
		return 0
	}
	_, bound := bounds(h, bucket)
	return bound
}

// quantileOf returns the index of the bucket that contains the q-quantile; -1 if all are empty.
func quantileOf(counts []uint64, q float64) int {
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	rank, seen := uint64(math.Ceil(q*float64(total))), uint64(0)
	return slices.IndexFunc(counts, func(n uint64) bool {
		seen += n
		return n > 0 && seen >= rank
	})
}

// list appends the buckets of h that grew to out.
func (d *histogramDelta) list(h *metrics.Float64Histogram, out []Pauses) []Pauses {
	for i, n := range d.gained {
		if n > 0 {
			_, bound := bounds(h, i)
			out = append(out, Pauses{UpTo: bound, Count: n})
		}
	}
	return out
}
