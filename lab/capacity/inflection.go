package capacity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/record"
)

// Thresholds of the signals.
const (
	rateFall       = 0.40            // relative fall of the mean rate against the interval before
	p99RiseMs      = 300             // rise of p99 over its running median
	p99Factor      = 3               // smallest ratio of that p99 to the running median
	pauseMs        = 200             // length of one GC pause
	pauseMinuteMs  = 500             // sum of GC pauses within a minute
	intervalLength = time.Second     // length over which rate and p99 are computed
	near           = 5 * time.Second // distance within which signals are joint
)

const (
	// medianIntervals is how many intervals the running median of p99 covers.
	medianIntervals = 30
	// medianNeeds is how many intervals the median needs before it is used.
	medianNeeds = 5
)

// Kinds of signals.
const (
	SignalRate = "rate"
	SignalP99  = "p99"
	SignalGC   = "gc"
)

// Signal is a threshold that was exceeded.
type Signal struct {
	At   int64  // ns, on the clock of the windows
	Kind string // Signal...
	Text string
}

// Inflection is a moment at which rate, p99 and GC exceeded their thresholds together.
type Inflection struct {
	At      int64 // of the first signal
	Signals []Signal
	Text    string
}

// Inflections finds the moments of a long run or a ramp at which the rate fell, p99 rose and the
// garbage collector paused close together, and the signals that occurred alone, which are recorded
// without a warning. Warm-up, drain and windows with a profile are skipped.
func Inflections(series []record.Window) (joint []Inflection, alone []Signal) {
	intervals := intervalsOf(series)
	signals := slices.Concat(rateFalls(intervals), p99Rises(intervals), pauses(series))
	slices.SortStableFunc(signals, func(a, b Signal) int { return int(min(max(a.At-b.At, -1), 1)) })
	for len(signals) > 0 {
		n := 1
		for n < len(signals) && signals[n].At-signals[0].At <= int64(near) {
			n++
		}
		if first := firstOfEach(signals[:n]); len(first) == 3 {
			joint = append(joint, Inflection{At: first[0].At, Signals: first,
				Text: first[0].Text + "; " + first[1].Text + "; " + first[2].Text})
			signals = signals[n:]
			continue
		}
		alone = append(alone, signals[0])
		signals = signals[1:]
	}
	return joint, alone
}

func firstOfEach(signals []Signal) []Signal {
	var out []Signal
	for _, s := range signals {
		if !slices.ContainsFunc(out, func(o Signal) bool { return o.Kind == s.Kind }) {
			out = append(out, s)
		}
	}
	return out
}

// span is a stretch of consecutive windows.
type span struct {
	at   int64
	rate float64 // completions per second
	p99  float64 // ms: mean of the windows' p99, weighted by completions; NaN: no completion
}

// intervalsOf cuts the measured windows into intervals; an incomplete last one is dropped.
func intervalsOf(series []record.Window) []span {
	const per = int(intervalLength / record.WindowLength)
	var out []span
	var part []record.Window
	for _, w := range series {
		if w.Phase != record.PhaseMeasure {
			part = part[:0]
			continue
		}
		if part = append(part, w); len(part) < per {
			continue
		}
		var completed int64
		var weighed float64
		for _, p := range part {
			completed += p.Client.Ended
			weighed += p.Client.P99Ms * float64(p.Client.Ended)
		}
		out = append(out, span{part[0].Start, float64(completed) / (float64(per) * record.WindowLength.Seconds()), weighed / float64(completed)})
		part = part[:0]
	}
	return out
}

// rateFalls returns a signal for each interval whose rate fell by the threshold's share.
func rateFalls(intervals []span) []Signal {
	var out []Signal
	for i := 1; i < len(intervals); i++ {
		was, is := intervals[i-1].rate, intervals[i].rate
		if was > 0 && is <= was*(1-rateFall) {
			out = append(out, Signal{intervals[i].at, SignalRate,
				fmt.Sprintf("the rate fell by %.0f%%, from %s to %s", (1-is/was)*100, PerS(was), PerS(is))})
		}
	}
	return out
}

// p99Rises returns a signal for each interval whose p99 exceeds its running median by the
// thresholds; a rise that lasts gives one signal.
func p99Rises(intervals []span) []Signal {
	var out []Signal
	var past []float64
	raised := false
	for _, in := range intervals {
		if math.IsNaN(in.p99) {
			continue
		}
		if len(past) >= medianNeeds {
			was := medianOf(past)
			high := in.p99-was >= p99RiseMs && in.p99 >= p99Factor*was
			if high && !raised {
				out = append(out, Signal{in.at, SignalP99,
					fmt.Sprintf("p99 rose from %.3g to %.3g ms", was, in.p99)})
			}
			raised = high
		}
		if past = append(past, in.p99); len(past) > medianIntervals {
			past = past[1:]
		}
	}
	return out
}

// pauses returns a signal for each long GC pause, and for the sum within a minute: once until the
// sum has fallen below the threshold again.
func pauses(series []record.Window) []Signal {
	var out []Signal
	var sum float64
	from := 0
	over := false
	for i, w := range series {
		if w.Server == nil {
			continue
		}
		sum += w.Server.GCPauseMs
		for ; w.Start-series[from].Start >= int64(time.Minute) && from < i; from++ {
			if s := series[from].Server; s != nil {
				sum -= s.GCPauseMs
			}
		}
		if w.Phase != record.PhaseMeasure {
			continue
		}
		switch pause := pauseEnding(series, i); {
		case pause > pauseMs:
			out = append(out, Signal{w.Start, SignalGC, fmt.Sprintf("the garbage collector paused the target for %.0f ms", pause)})
		case sum > pauseMinuteMs && !over:
			out = append(out, Signal{w.Start, SignalGC, fmt.Sprintf("the garbage collector paused the target for %.0f ms within a minute", sum)})
		}
		over = sum > pauseMinuteMs
	}
	return out
}

// pauseEnding is the length, in ms, of the pause that ends in window i. A pause may begin in one
// window, fill others and end in a further one; only a full window joins its neighbours.
func pauseEnding(series []record.Window, i int) float64 {
	const filled = 0.99 * float64(record.WindowLength) / float64(time.Millisecond)
	paused := func(k int) float64 {
		if k < 0 || k >= len(series) || series[k].Server == nil {
			return 0
		}
		return series[k].Server.GCPauseMs
	}
	if paused(i) >= filled && paused(i+1) > 0 {
		return 0 // the pause goes on
	}
	pause := paused(i)
	for k := i - 1; pause > 0 && (paused(k) >= filled || paused(k) > 0 && paused(k+1) >= filled); k-- {
		pause += paused(k)
	}
	return pause
}

// medianOf is the median of values, which must not be empty.
func medianOf(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
