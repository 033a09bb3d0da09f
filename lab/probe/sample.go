package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"dyno/agent"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
)

// sample holds the agent's figures at one boundary. As the last sample of a span, it holds the
// maxima of the span's goroutines and gauges, and its longest pause.
type sample struct {
	agent.Sample
	pauses *pauses // all pauses of a span; nil outside of spans
}

func (s sample) when() int64 { return s.At }

func (s sample) between(next sample, at int64) sample {
	share := float64(at-s.At) / float64(next.At-s.At)
	mid := func(a, b float64) float64 { return a + (b-a)*share }
	count := func(a, b uint64) uint64 { return uint64(mid(float64(a), float64(b))) }
	out := next // figures that are not sums, such as Profiling, cover all the time since s
	out.At = at
	out.GCPauses, out.GCPauseMax = nil, 0 // next counts them
	out.SystemCPU, out.Delay = mid(s.SystemCPU, next.SystemCPU), mid(s.Delay, next.Delay)
	out.CPU, out.GCPause, out.GCCPU = mid(s.CPU, next.CPU), mid(s.GCPause, next.GCPause), mid(s.GCCPU, next.GCCPU)
	out.MutexWait = mid(s.MutexWait, next.MutexWait)
	out.Allocs, out.AllocBytes, out.GCCycles = count(s.Allocs, next.Allocs), count(s.AllocBytes, next.AllocBytes), count(s.GCCycles, next.GCCycles)
	return out
}

func (s sample) followedBy(next sample) sample {
	out := next
	out.pauses, out.GCPauses = s.pauses.with(next), nil
	out.Goroutines = max(s.Goroutines, next.Goroutines)
	out.GCPauseMax = max(s.GCPauseMax, next.GCPauseMax)
	if len(s.Gauges) > 0 {
		out.Gauges = maps.Clone(s.Gauges)
		for name, v := range next.Gauges {
			if old, ok := out.Gauges[name]; !ok || v > old {
				out.Gauges[name] = v
			}
		}
	}
	return out
}

// server fills in the agent's figures for the window between s and next.
func (s sample) server(next sample, out *record.Server) {
	per := func(before, after float64) float64 { return usage.Rate(before, after, s.At, next.At) }
	out.AgentSeen = true
	out.CPU, out.Delay = per(s.CPU, next.CPU), per(s.Delay, next.Delay)
	out.Goroutines, out.HeapLive, out.HeapGoal = next.Goroutines, next.HeapLive, next.HeapGoal
	out.Allocs = per(float64(s.Allocs), float64(next.Allocs))
	out.AllocBytes = per(float64(s.AllocBytes), float64(next.AllocBytes))
	out.GCCycles = per(float64(s.GCCycles), float64(next.GCCycles))
	out.GCPauseMs = max(0, next.GCPause-s.GCPause) * 1000
	out.GCCPU = per(s.GCCPU, next.GCCPU)
	out.MutexWait = per(s.MutexWait, next.MutexWait)
	out.SchedP99Us = next.SchedP99 * 1e6
	out.Gauges = maps.Clone(next.Gauges)
	out.Profiling = next.Profiling
}

const (
	// maxSampleLine is the maximum length of a line of the stream, in bytes. A sample takes half a
	// kilobyte, and each gauge some tens of bytes more.
	maxSampleLine = 64 << 10
	// maxGauges is the maximum number of gauges kept from a sample.
	maxGauges = 128
)

// parseSample parses a line of the agent's stream.
func parseSample(line []byte) (sample, error) {
	var s sample
	if err := json.Unmarshal(line, &s.Sample); err != nil {
		return sample{}, fmt.Errorf("a line of the agent's stream is not a sample: %w", err)
	}
	if s.At <= 0 || s.At > math.MaxInt64/2 {
		return sample{}, errors.New("a line of the agent's stream has no time (t_ns)")
	}
	for _, v := range []float64{s.CPU, s.GCPause, s.GCPauseMax, s.GCCPU, s.MutexWait, s.SchedP99, s.SystemCPU, s.Delay, float64(s.Goroutines), float64(s.HeapLive), float64(s.HeapGoal)} {
		if v < 0 {
			return sample{}, errors.New("a line of the agent's stream has a figure below 0")
		}
	}
	for _, p := range s.GCPauses {
		if p.UpTo < 0 {
			return sample{}, errors.New("a line of the agent's stream has a pause below 0")
		}
	}
	if len(s.Gauges) > maxGauges {
		for _, name := range slices.Sorted(maps.Keys(s.Gauges))[maxGauges:] {
			delete(s.Gauges, name)
		}
	}
	return s, nil
}

// Pauses are counted in buckets, eight per doubling of the length: each is 9% wide, and together
// they cover 1 us to 16 s.
const (
	pausesPerOctave = 8
	pauseBuckets    = 24*pausesPerOctave + 1
	shortestPause   = 1e-6 // s
)

// pauses counts pauses by length.
type pauses [pauseBuckets]uint64

// with returns the sum of p and a sample's pauses. It changes neither; a nil p is empty. Of an
// agent that does not report all pauses, with counts the longest.
func (p *pauses) with(s sample) *pauses {
	if s.pauses == nil && len(s.GCPauses) == 0 && s.GCPauseMax <= 0 {
		return p
	}
	sum := &pauses{}
	if p != nil {
		*sum = *p
	}
	switch {
	case s.pauses != nil:
		for i, n := range s.pauses {
			sum.add(i, n)
		}
	case len(s.GCPauses) > 0:
		for _, b := range s.GCPauses {
			sum.add(pauseBucket(b.UpTo), b.Count)
		}
	default:
		sum.add(pauseBucket(s.GCPauseMax), 1)
	}
	return sum
}

// maxPauses is the maximum count of a bucket: totals cannot overflow, whatever the stream contains.
const maxPauses = 1 << 32

func (p *pauses) add(bucket int, n uint64) { p[bucket] = min(p[bucket]+min(n, maxPauses), maxPauses) }

// buckets lists the non-empty buckets, shortest pauses first.
func (p *pauses) buckets() []record.PauseBucket {
	if p == nil {
		return nil
	}
	var out []record.PauseBucket
	for i, n := range p {
		if n > 0 {
			out = append(out, record.PauseBucket{UpToMs: pauseBound(i) * 1000, Count: int64(n)})
		}
	}
	return out
}

// pauseBound returns the upper bound of a bucket, in s.
func pauseBound(bucket int) float64 {
	return shortestPause * math.Exp2(float64(bucket)/pausesPerOctave)
}

func pauseBucket(seconds float64) int {
	return max(0, min(pauseBuckets-1, int(math.Ceil(math.Log2(seconds/shortestPause)*pausesPerOctave))))
}

// quantile returns the upper bound, in s, of the bucket that contains the quantile; 0: there were
// no pauses.
func (p *pauses) quantile(q float64) float64 {
	if p == nil {
		return 0
	}
	total := uint64(0)
	for _, n := range p {
		total += n
	}
	rank := uint64(math.Ceil(q * float64(total)))
	for i, n := range p {
		if n > 0 && n >= rank {
			return pauseBound(i)
		}
		rank -= n
	}
	return 0
}
