package load

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Schedule yields the intended times of offers, in ns since the run's start, in order. It is
// fixed before the run, so the target cannot influence it. One goroutine uses a Schedule.
type Schedule interface {
	// Next returns the next intended time; ok is false when there are no more.
	Next() (at int64, ok bool)
}

// Constant offers at evenly spaced times.
func Constant(perSecond float64, length time.Duration) Schedule {
	return Steps([]Stage{{perSecond, length}})
}

// Poisson offers with independent, exponentially distributed gaps, as many unrelated users do.
func Poisson(perSecond float64, length time.Duration, seed uint64) Schedule {
	if perSecond <= 0 {
		return Times(nil)
	}
	return &poisson{gap: 1e9 / perSecond, end: float64(length), rng: rand.New(rand.NewPCG(seed, 0x706f6973736f6e))}
}

type poisson struct {
	gap, at, end float64 // ns
	rng          *rand.Rand
}

func (p *poisson) Next() (int64, bool) {
	p.at += p.rng.ExpFloat64() * p.gap
	return int64(p.at), p.at < p.end
}

// Stage is a part of a Steps schedule.
type Stage struct {
	PerSecond float64
	Length    time.Duration
}

// Steps offers at a constant rate within each stage, one stage after the other.
func Steps(stages []Stage) Schedule { return &steps{stages: stages} }

type steps struct {
	stages []Stage
	begin  int64 // of the current stage
	n      int64
}

func (s *steps) Next() (int64, bool) {
	for len(s.stages) > 0 {
		st := s.stages[0]
		if st.PerSecond > 0 {
			at := float64(s.n) * 1e9 / st.PerSecond // may be infinite
			if at < float64(st.Length) {
				s.n++
				return s.begin + int64(at), true
			}
		}
		s.begin, s.n, s.stages = s.begin+int64(st.Length), 0, s.stages[1:]
	}
	return 0, false
}

// Ramp offers at a rate that changes linearly from one value to another. The n-th offer is due
// when the integral of the rate reaches n.
func Ramp(from, to float64, length time.Duration) Schedule {
	return &ramp{from: from, to: to, seconds: length.Seconds()}
}

type ramp struct {
	from, to, seconds float64
	n                 float64
}

func (r *ramp) Next() (int64, bool) {
	slope := (r.to - r.from) / r.seconds
	root := r.from*r.from + 2*slope*r.n
	if root < 0 {
		return 0, false // a falling ramp that reached 0
	}
	t := 0.0
	if r.n > 0 {
		t = 2 * r.n / (r.from + math.Sqrt(root)) // this form stays exact for a slope near 0
	}
	r.n++
	return int64(t * 1e9), t < r.seconds && max(r.from, r.to) > 0
}

// Times offers at the times given, in ns, which must not decrease.
func Times(at []int64) Schedule { return &times{at: at} }

type times struct{ at []int64 }

func (t *times) Next() (int64, bool) {
	if len(t.at) == 0 {
		return 0, false
	}
	at := t.at[0]
	t.at = t.at[1:]
	return at, true
}

// maxTimes bounds a schedule file: 100 million offers, 800 MB of memory.
const maxTimes = 100_000_000

// ReadTimes reads a schedule file: one intended time per line, in seconds since the start, not
// decreasing. It skips empty lines and lines that begin with #.
func ReadTimes(r io.Reader) ([]int64, error) {
	var out []int64
	lines := bufio.NewScanner(r)
	last := int64(0)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0 && seconds < 1e6) {
			return nil, fmt.Errorf("line %d: %q is not a time in seconds since the start, as in 0.0125", n, text)
		}
		at := int64(seconds * 1e9)
		if at < last {
			return nil, fmt.Errorf("line %d: %s s is before the line above it; sort the file", n, text)
		}
		if len(out) == maxTimes {
			return nil, fmt.Errorf("line %d: more than %d offers; split the file", n, maxTimes)
		}
		last = at
		out = append(out, at)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return out, nil
}

// Stride returns every n-th offer of s, beginning with the k-th (from 0): the part of one
// schedule that the k-th of n sending threads carries.
func Stride(s Schedule, k, n int) Schedule {
	if n == 1 {
		return s
	}
	return &stride{s: s, skip: k, n: n}
}

type stride struct {
	s       Schedule
	skip, n int
}

func (s *stride) Next() (int64, bool) {
	for ; s.skip > 0; s.skip-- {
		if _, ok := s.s.Next(); !ok {
			return 0, false
		}
	}
	s.skip = s.n - 1
	return s.s.Next()
}
