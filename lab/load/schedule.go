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

	"dyno/lab/workload"
)

// Schedule returns, at each call, the next intended time of a request, in ns since the run's
// start; times do not decrease, and ok is false when there are no more. A Schedule must be used
// by one goroutine only.
type Schedule func() (at int64, ok bool)

// Constant sends at evenly spaced times.
func Constant(perSecond float64, length time.Duration) Schedule {
	return Steps([]workload.Stage{{Rate: perSecond, Length: length}})
}

// Poisson sends with independent, exponentially distributed gaps, as the requests of many
// unrelated users arrive.
func Poisson(perSecond float64, length time.Duration, seed uint64) Schedule {
	if perSecond <= 0 {
		return Times(nil)
	}
	at, gap, end := 0.0, 1e9/perSecond, float64(length) // ns
	rng := rand.New(rand.NewPCG(seed, 0x706f6973736f6e))
	return func() (int64, bool) {
		at += rng.ExpFloat64() * gap
		return int64(at), at < end
	}
}

// Steps sends at a constant rate within each stage, one stage after the other.
func Steps(stages []workload.Stage) Schedule {
	begin, n := int64(0), 0 // of the current stage: its start, and the number of requests so far
	return func() (int64, bool) {
		for len(stages) > 0 {
			st := stages[0]
			if st.Rate > 0 {
				at := float64(n) * 1e9 / st.Rate // may be infinite
				if at < float64(st.Length) {
					n++
					return begin + int64(at), true
				}
			}
			begin, n, stages = begin+int64(st.Length), 0, stages[1:]
		}
		return 0, false
	}
}

// Ramp sends at a rate that changes linearly from one value to another. The n-th request, from 0,
// is due when the integral of the rate reaches n.
func Ramp(from, to float64, length time.Duration) Schedule {
	n, slope := 0.0, (to-from)/length.Seconds()
	return func() (int64, bool) {
		root := from*from + 2*slope*n
		if root < 0 {
			return 0, false // a falling ramp that reached 0
		}
		t := 0.0
		if n > 0 {
			t = 2 * n / (from + math.Sqrt(root)) // this form stays accurate when the slope is near 0
		}
		n++
		return int64(t * 1e9), t < length.Seconds() && max(from, to) > 0
	}
}

// Times sends at the times given, in ns, which must not decrease.
func Times(at []int64) Schedule {
	return func() (next int64, ok bool) {
		if len(at) == 0 {
			return 0, false
		}
		next, at = at[0], at[1:]
		return next, true
	}
}

// maxTimes bounds a schedule file: 100 million requests, 800 MB of memory.
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
			return nil, fmt.Errorf("line %d: more than %d requests; split the file", n, maxTimes)
		}
		last = at
		out = append(out, at)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return out, nil
}

// Stride returns every n-th request of a schedule, beginning with the k-th (from 0): the share of
// the k-th of n sending threads or processes.
func Stride(s Schedule, k, n int) Schedule {
	if n == 1 {
		return s
	}
	skip := k
	return func() (int64, bool) {
		for ; skip > 0; skip-- {
			if _, ok := s(); !ok {
				return 0, false
			}
		}
		skip = n - 1
		return s()
	}
}

// Turns returns the requests of a schedule that the k-th of n processes makes if the requests go to
// total sessions in turn, and the sessions to the processes: to the k-th those with an index that
// leaves k when divided by n.
func Turns(s Schedule, k, n, total int) Schedule {
	if n == 1 {
		return s
	}
	session := -1
	return func() (int64, bool) {
		for {
			at, ok := s()
			if session++; session == total {
				session = 0
			}
			if !ok || session%n == k {
				return at, ok
			}
		}
	}
}
