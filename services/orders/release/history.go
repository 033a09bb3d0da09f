package release

import (
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Decision is a decision and its reason.
type Decision struct {
	At     time.Time `json:"at"`
	Action Action    `json:"action"`
	By     string    `json:"by"` // "rule" or "operator"
	Reason string    `json:"reason"`
	Mode   Mode      `json:"mode"` // after the decision
	Share  float64   `json:"fraction"`
}

// maxDecisions is how many are kept: about ten releases. The log has all.
const maxDecisions = 100

// decide logs and stores a decision. Of successive periods without a change, it keeps the last.
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

// versionCounter counts one version's answers in a period.
type versionCounter struct {
	mu       sync.Mutex
	requests int
	errors   int
	latency  *hdrhistogram.Histogram // µs
}

// longest is the maximum of latency, in µs: more than any sensible Timeout.
const longest = 60_000_000

func (a *versionCounter) add(took time.Duration, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	if failed {
		a.errors++
	}
	_ = a.latency.RecordValue(min(max(took.Microseconds(), 1), longest)) // within range: no error
}

func (a *versionCounter) sum() Version {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := func(q float64) time.Duration { return time.Duration(a.latency.ValueAtQuantile(q)) * time.Microsecond }
	return Version{Requests: a.requests, Errors: a.errors, P50: at(50), P95: at(95)}
}

// reset starts a period.
func (a *versionCounter) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests, a.errors = 0, 0
	if a.latency == nil {
		a.latency = hdrhistogram.New(1, longest, 2) // two digits: 1% resolution
	} else {
		a.latency.Reset()
	}
}
