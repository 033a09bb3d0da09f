package view

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report/format"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// SingleLoad is one load in detail.
type SingleLoad struct {
	Run     *record.Run
	Verdict *capacity.Verdict // nil: no SLO
	Tails   []Tail
}

// Tail is the upper part of a latency distribution.
type Tail struct {
	Name   string
	Points []TailPoint
}

// TailPoint is a quantile: a share of the requests took at most Ms.
type TailPoint struct {
	Share float64
	Ms    float64
}

// ReadTails reads the distributions of a run that is in a folder.
func (l *SingleLoad) ReadTails() error {
	if l.Run.Dir == "" {
		return nil
	}
	for _, kind := range []string{record.HistResponse, record.HistService, record.HistDelivery} {
		h, err := folder.Histogram(l.Run, kind)
		if err != nil {
			return err
		}
		if t := newTail(kind, h); len(t.Points) > 0 {
			l.Tails = append(l.Tails, t)
		}
	}
	return nil
}

// newTail reads a histogram at each further nine, and at a few points between them, as far as its
// number of requests supports.
func newTail(name string, h *hdrhistogram.Histogram) Tail {
	t := Tail{Name: name}
	n := h.TotalCount()
	if n == 0 {
		return t
	}
	within := []float64{0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.85}
	for beyond := 1.0; beyond*float64(n) >= 1; beyond /= 10 {
		for _, w := range within {
			share := 1 - beyond*(1-w)
			if beyond*(1-w)*float64(n) < 1 {
				break
			}
			t.Points = append(t.Points, TailPoint{Share: share, Ms: float64(h.ValueAtPercentile(share*100)) / 1e6})
		}
	}
	t.Points = append(t.Points, TailPoint{Share: 1 - 0.5/float64(n), Ms: float64(h.Max()) / 1e6})
	return t
}

// Latency is one of the distributions of a single load.
type Latency struct {
	Name string
	Note string
	record.Quantiles
}

// ClosedNote is printed at every percentile of a closed loop.
const ClosedNote = "closed-loop: hides stalls"

// Latencies are the distributions that a load recorded, in ms; none of sessions that only receive.
func (l *SingleLoad) Latencies() []Latency {
	t := l.Run.Totals
	if t.ReceiveOnly() {
		return nil
	}
	response := Latency{"response", "from the intended send time", t.Response}
	if l.Run.Load.Model == "closed" {
		response.Name, response.Note = "response ("+ClosedNote+")", ClosedNote
	}
	out := []Latency{response, {"service", "from the actual send", t.Service}}
	if t.Delivered+t.Undelivered > 0 {
		out = append(out, Latency{"delivery", "from the intended send time to the receipt", t.Delivery})
	}
	if t.Flow != nil {
		out = append(out, Latency{"flow", "from the flow's intended start to its last answer, pauses included", *t.Flow})
	}
	none := math.NaN()
	lag := record.Quantiles{P50: t.Lag.P50 / 1000, P90: none, P95: none, P99: t.Lag.P99 / 1000, P999: none, Max: none, Mean: none}
	return append(out, Latency{"send-lag", "the generator's own", lag})
}

// Classes are the latencies of the request classes, or of the steps of flows in their order.
func (l *SingleLoad) Classes() (out []Latency) {
	of := l.Run.Totals.Classes
	names := slices.Sorted(maps.Keys(of))
	if steps := l.Run.Load.Steps; steps != nil {
		names = slices.DeleteFunc(slices.Clone(steps), func(name string) bool { _, known := of[name]; return !known })
	}
	for _, name := range names {
		out = append(out, Latency{Name: name, Quantiles: of[name]})
	}
	return out
}

// Counts is what became of the load.
func (l *SingleLoad) Counts() string {
	t := l.Run.Totals
	if t.ReceiveOnly() {
		return fmt.Sprintf("frames received %s, sessions opened %s, lost %s", format.Count(t.Work(l.Run.Length)), format.Count(t.Sessions.Opened), format.Count(t.Sessions.Lost))
	}
	return fmt.Sprintf("sent %s, completed %s, unfinished %s, failed %s", format.Count(t.Sent), format.Count(t.Completed), format.Count(t.Unfinished), format.Count(t.Failed))
}

// Answer is the result in one sentence.
func (l *SingleLoad) Answer() string {
	t := l.Run.Totals
	q := l.Run.SLO.Observed(t)
	text := fmt.Sprintf("Of %s offered, %s came back, p99 %s ms, %s failed",
		format.Rate(format.Value(t.OfferedPerS)), format.Rate(format.Value(t.ThroughputPerS)), format.Format(format.Value(q.P99)), format.Percent(format.Value(t.ErrorShare())))
	if l.Run.Load.Model == "closed" {
		text = fmt.Sprintf("%s over %s in a closed loop, p99 %s ms (a closed loop hides stalls), %s failed",
			format.Rate(format.Value(t.ThroughputPerS)), format.Plural(l.Run.Load.Connections, "connection"), format.Format(format.Value(q.P99)), format.Percent(format.Value(t.ErrorShare())))
	}
	if s := t.Sessions; s != nil {
		text = fmt.Sprintf("%s, each with %s frames/s (99%% of them at least %s)", format.Plural(int(s.Planned), "session"), format.Format(format.Value(s.FramesMean)), format.Format(format.Value(s.FramesP1)))
		if t.Offered > 0 {
			text += fmt.Sprintf(", %s of %s offered acknowledged, p99 %s ms", format.Rate(format.Value(t.ThroughputPerS)), format.Rate(format.Value(t.OfferedPerS)), format.Format(format.Value(q.P99)))
		}
		text += fmt.Sprintf(", %s failed", format.Percent(format.Value(t.ErrorShare())))
	}
	switch v := l.Verdict; {
	case v == nil:
		return text + "."
	case v.Met:
		return text + ": the SLO was met."
	case format.Inconclusive(*v) != "":
		return text + ": the SLO was not judged (" + format.Inconclusive(*v) + ")."
	default:
		return text + ": " + l.MissedText() + "."
	}
}

// MissedText states how a single load missed its SLO, and whether a disturbance may be the cause.
func (l *SingleLoad) MissedText() string {
	text := "the SLO was missed (" + strings.Join(format.Missed(l.Verdict), "; ") + ")"
	if d := l.Run.Disturbed; d != "" {
		text += ", which is in doubt: " + d
	}
	return text
}
