package release

import (
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Decision is what was decided, and why.
type Decision struct {
	At     time.Time `json:"at"`
	Action Action    `json:"action"`
	By     string    `json:"by"` // rule or operator
	Reason string    `json:"reason"`
	Mode   Mode      `json:"mode"` // after it
	Share  float64   `json:"fraction"`
}

// maxDecisions is how many are kept: those of some ten releases. The log has them all.
const maxDecisions = 100

// decide logs and keeps a decision. Of periods in a row that changed nothing, the last is kept.
func (r *Release) decide(a Action, by, reason string) {
	d := Decision{time.Now(), a, by, reason, r.stage.Mode, r.stage.Share()}
	r.log.Info("release", "action", a, "by", by, "reason", reason, "mode", d.Mode, "fraction", d.Share, "url", r.last.base.String())
	if n := len(r.decisions); a == Hold && n > 0 && r.decisions[n-1].Action == Hold {
		r.decisions[n-1] = d
		return
	}
	r.decisions = append(r.decisions, d)
	if over := len(r.decisions) - maxDecisions; over > 0 {
		r.decisions = slices.Delete(r.decisions, 0, over)
	}
}

// arm counts what one version does in a period.
type arm struct {
	mu       sync.Mutex
	requests int
	errors   int
	latency  *hdrhistogram.Histogram // µs
}

// longest is what latency tells apart, in µs: more than any Timeout that makes sense.
const longest = 60_000_000

func (a *arm) add(took time.Duration, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	if failed {
		a.errors++
	}
	_ = a.latency.RecordValue(min(max(took.Microseconds(), 1), longest)) // it is in range
}

func (a *arm) sum() Arm {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := func(q float64) time.Duration { return time.Duration(a.latency.ValueAtQuantile(q)) * time.Microsecond }
	return Arm{Requests: a.requests, Errors: a.errors, P50: at(50), P95: at(95)}
}

// reset begins a period.
func (a *arm) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests, a.errors = 0, 0
	if a.latency == nil {
		a.latency = hdrhistogram.New(1, longest, 2) // two digits: to 1%
	} else {
		a.latency.Reset()
	}
}
