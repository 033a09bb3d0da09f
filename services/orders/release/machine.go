package release

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Mode is how a second version is used.
type Mode string

// The modes.
const (
	Off    Mode = "off"
	Shadow Mode = "shadow" // copies of reads; its answers are compared and discarded
	Canary Mode = "canary" // requests that it answers
)

// Rules decide on promotion and rollback of a canary.
type Rules struct {
	Stages []float64     `json:"stages"`    // successive shares of accounts that a canary answers
	Period time.Duration `json:"period_ns"` // between two decisions

	GoodPeriods int `json:"good_periods"` // consecutive periods in a stage before a promotion

	// A period counts when the second version has answered this many requests in it; until then it
	// continues.
	MinRequests int `json:"min_requests"`

	SlowPeriods int           `json:"slow_periods"` // consecutive periods before a rollback
	SlowP95     time.Duration `json:"slow_p95_ns"`  // of a slow period, at least
	MoreErrors  float64       `json:"more_errors"`  // share above the stable version's that causes an immediate rollback
}

// usual are the rules of a release whose Plan has no others. Of 100 requests the error share has a standard deviation of
// 0.05 at a share of 0.5, and 0.01 at usual shares, and five are slower than the p95.
var usual = Rules{Stages: []float64{0.01, 0.15, 1}, Period: 10 * time.Second, GoodPeriods: 6, MinRequests: 100, SlowPeriods: 3, SlowP95: 120 * time.Millisecond, MoreErrors: 0.05}

// Stage is the progress of a release. Only the functions below change it, without clock or network.
type Stage struct {
	Mode      Mode      `json:"mode"`
	Stages    []float64 `json:"stages,omitempty"` // shares of requests (shadow) or of accounts (canary)
	Index     int       `json:"stage"`            // index in Stages
	Good      int       `json:"good_periods"`     // consecutive, in this stage
	Slow      int       `json:"slow_periods"`     // consecutive, in this stage
	Completed bool      `json:"completed"`        // the last stage has had its good periods

	// The stable version's share of errors in the last period with enough requests: the reference for
	// the second version when it answers all of them.
	StableErrors float64 `json:"stable_error_share"`
}

// Share returns the second version's share of requests or accounts, 0 to 1.
func (s Stage) Share() float64 {
	if s.Mode == Off {
		return 0
	}
	return s.Stages[s.Index]
}

// Period holds both versions' figures. In a shadow, Stable counts only compared answers.
type Period struct {
	Stable Version `json:"stable"`
	Second Version `json:"second"`
}

// Version holds one version's figures for a period.
type Version struct {
	Requests int           `json:"requests"`
	Errors   int           `json:"errors"` // statuses from 500 on, and missing answers
	P50      time.Duration `json:"p50_ns"`
	P95      time.Duration `json:"p95_ns"`
}

func (a Version) errorShare() float64 { return float64(a.Errors) / float64(max(a.Requests, 1)) }

// Action is the result of a decision.
type Action string

// The actions. More means that the period continues, Hold that it is over and the stage continues.
const (
	More     Action = "more"
	Hold     Action = "hold"
	Start    Action = "start"
	Promote  Action = "promote"
	Complete Action = "complete"
	Rollback Action = "rollback"
)

// begin returns the first stage of a release. From another share than the first, those above it
// follow; 0 means the first.
func (r Rules) begin(m Mode, share float64) Stage {
	share = cmp.Or(share, r.Stages[0])
	s := Stage{Mode: m, Stages: []float64{share}}
	if m == Shadow {
		return s
	}
	for _, next := range r.Stages {
		if next > share {
			s.Stages = append(s.Stages, next)
		}
	}
	return s
}

// judge applies the rules to a period.
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
	next, a = r.promote(s)
	return next, a, fmt.Sprintf("good periods: %d", s.Good)
}

// promote returns the next stage; after a shadow the first of a canary.
func (r Rules) promote(s Stage) (Stage, Action) {
	switch {
	case s.Mode == Shadow:
		return r.begin(Canary, 0), Promote
	case s.Index == len(s.Stages)-1:
		s.Completed = true
		return s, Complete
	}
	s.Stages = slices.Clone(s.Stages)
	s.Index, s.Good, s.Slow = s.Index+1, 0, 0
	return s, Promote
}
