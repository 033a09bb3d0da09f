package release

import (
	"fmt"
	"slices"
	"time"
)

// Mode is what a second version is given.
type Mode string

// The modes.
const (
	Off    Mode = "off"
	Shadow Mode = "shadow" // copies of reads; its answers are compared and thrown away
	Canary Mode = "canary" // requests to answer
)

// Rules are by what a canary is promoted and rolled back. The zero value is the documented default.
type Rules struct {
	GoodPeriods int `json:"good_periods"` // in a row, in a stage, after which it is promoted; 0: 6

	// A period counts when the second version has answered so many requests in it; until then it goes on.
	// 0: 100, with which an error share is known to 0.05 (a standard deviation at a share of 0.5, and 0.01 at
	// the shares that are usual), and five requests are slower than the p95.
	MinRequests int `json:"min_requests"`

	SlowPeriods int           `json:"slow_periods"` // in a row, that roll back; 0: 3
	SlowP95     time.Duration `json:"slow_p95_ns"`  // above which a period is slow; 0: 120 ms
	MoreErrors  float64       `json:"more_errors"`  // share above the stable version's that rolls back at once; 0: 0.05, of 1
}

func (r Rules) withDefaults() Rules {
	r.GoodPeriods = positive(r.GoodPeriods, 6)
	r.MinRequests = positive(r.MinRequests, 100)
	r.SlowPeriods = positive(r.SlowPeriods, 3)
	r.SlowP95 = positive(r.SlowP95, 120*time.Millisecond)
	r.MoreErrors = positive(r.MoreErrors, 0.05)
	return r
}

func positive[T int | float64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// stages are the shares of accounts that a canary answers, one after the other.
var stages = []float64{0.01, 0.15, 1}

// Stage says how far a release has come. It changes by the functions below only, which know neither clock nor
// network.
type Stage struct {
	Mode      Mode      `json:"mode"`
	Stages    []float64 `json:"stages,omitempty"` // shares of requests (shadow) or of accounts (canary)
	Index     int       `json:"stage"`            // in Stages
	Good      int       `json:"good_periods"`     // in a row, in this stage
	Slow      int       `json:"slow_periods"`     // in a row, in this stage
	Completed bool      `json:"completed"`        // the last stage has had its good periods

	// The stable version's share of errors in the last period in which it had enough requests to tell: what
	// the second version is compared with when it is given all of them.
	StableErrors float64 `json:"stable_error_share"`
}

// Share is what of the requests or accounts the second version is given, 0 to 1.
func (s Stage) Share() float64 {
	if s.Mode == Off {
		return 0
	}
	return s.Stages[s.Index]
}

// Period is what the two versions did in a time. In a shadow, stable counts only what was compared.
type Period struct {
	Stable Arm `json:"stable"`
	Second Arm `json:"second"`
}

// Arm is one version in a period.
type Arm struct {
	Requests int           `json:"requests"`
	Errors   int           `json:"errors"` // statuses from 500 on, and no answer
	P50      time.Duration `json:"p50_ns"`
	P95      time.Duration `json:"p95_ns"`
}

func (a Arm) errorShare() float64 { return float64(a.Errors) / float64(max(a.Requests, 1)) }

// Action is what a decision comes to.
type Action string

// The actions. More says that the period goes on, Hold that it is over and the stage is not.
const (
	More     Action = "more"
	Hold     Action = "hold"
	Start    Action = "start"
	Promote  Action = "promote"
	Complete Action = "complete"
	Rollback Action = "rollback"
)

// begin is the stage that a release starts with. A canary whose first share is none of the usual ones goes on to
// those above it.
func begin(m Mode, share float64) Stage {
	if m == Shadow {
		return Stage{Mode: m, Stages: []float64{share}}
	}
	s := Stage{Mode: m, Stages: []float64{share}}
	for _, next := range stages {
		if next > share {
			s.Stages = append(s.Stages, next)
		}
	}
	return s
}

// judge draws the consequences of a period.
func (r Rules) judge(s Stage, p Period) (next Stage, a Action, reason string) {
	if p.Second.Requests < r.MinRequests {
		return s, More, fmt.Sprintf("%d requests, %d are needed", p.Second.Requests, r.MinRequests)
	}
	if s.Mode != Canary {
		return s, Hold, "only a canary is judged"
	}
	if p.Stable.Requests >= r.MinRequests {
		s.StableErrors = p.Stable.errorShare()
	}
	if share := p.Second.errorShare(); share-s.StableErrors > r.MoreErrors {
		return Stage{Mode: Off}, Rollback, fmt.Sprintf("error share %.3f, the stable version's %.3f, which may be exceeded by %.3f", share, s.StableErrors, r.MoreErrors)
	}
	if p.Second.P95 > r.SlowP95 {
		s.Good, s.Slow = 0, s.Slow+1
		reason = fmt.Sprintf("p95 %v above %v in %d periods in a row", p.Second.P95, r.SlowP95, s.Slow)
		if s.Slow >= r.SlowPeriods {
			return Stage{Mode: Off}, Rollback, reason
		}
		return s, Hold, reason
	}
	s.Good, s.Slow = s.Good+1, 0
	if s.Good < r.GoodPeriods || s.Completed {
		return s, Hold, fmt.Sprintf("good periods: %d", s.Good)
	}
	next, a = promote(s)
	return next, a, fmt.Sprintf("good periods: %d", s.Good)
}

// promote goes on to the next stage; from a shadow to the first of a canary.
func promote(s Stage) (Stage, Action) {
	switch {
	case s.Mode == Shadow:
		next := begin(Canary, stages[0])
		return next, Promote
	case s.Index == len(s.Stages)-1:
		s.Completed = true
		return s, Complete
	}
	s.Stages = slices.Clone(s.Stages)
	s.Index, s.Good, s.Slow = s.Index+1, 0, 0
	return s, Promote
}
