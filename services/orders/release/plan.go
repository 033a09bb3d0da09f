package release

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// Plan says how a second version is tried. A zero field has the usual value.
type Plan struct {
	URL      string  `json:"url"`
	Mode     Mode    `json:"mode"`
	Fraction float64 `json:"fraction"` // of the reads (shadow) or of the accounts (canary) at the beginning; usually the first of the stages

	// The rules of a canary, also of one that a shadow is promoted to.
	Stages      []float64 `json:"stages"`       // successive shares of accounts; usually 0.01, 0.15 and 1
	Period      Duration  `json:"period"`       // between two decisions; usually 10s
	GoodPeriods int       `json:"good_periods"` // usually 6
	MinRequests int       `json:"min_requests"` // usually 100
	SlowPeriods int       `json:"slow_periods"` // usually 3
	SlowP95     Duration  `json:"slow_p95"`     // usually 120ms
	MoreErrors  float64   `json:"more_errors"`  // usually 0.05
}

// Duration is a duration as Go writes it: 120ms.
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.40q is not a duration, as in 120ms", text)
	}
	*d = Duration(parsed)
	return nil
}

// maxStages bounds the stages of a canary.
const maxStages = 20

// rules returns the rules of a plan that usual ones complete, or what is wrong with it.
func (p Plan) rules(usual Rules) (Rules, error) {
	r := Rules{
		Stages: p.Stages, Period: cmp.Or(time.Duration(p.Period), usual.Period),
		GoodPeriods: cmp.Or(p.GoodPeriods, usual.GoodPeriods), MinRequests: cmp.Or(p.MinRequests, usual.MinRequests), SlowPeriods: cmp.Or(p.SlowPeriods, usual.SlowPeriods),
		SlowP95: cmp.Or(time.Duration(p.SlowP95), usual.SlowP95), MoreErrors: cmp.Or(p.MoreErrors, usual.MoreErrors),
	}
	if len(r.Stages) == 0 {
		r.Stages = usual.Stages
	}
	if len(r.Stages) > maxStages || !slices.IsSortedFunc(r.Stages, func(a, b float64) int { return cmp.Or(cmp.Compare(a, b), -1) }) {
		return r, fmt.Errorf("stages %v are not at most %d increasing shares", r.Stages, maxStages)
	}
	if first, last := r.Stages[0], r.Stages[len(r.Stages)-1]; !(first > 0 && last <= 1) {
		return r, fmt.Errorf("stages %v are not above 0 and up to 1", r.Stages)
	}
	for _, of := range []struct {
		name  string
		value int
	}{{"good_periods", r.GoodPeriods}, {"min_requests", r.MinRequests}, {"slow_periods", r.SlowPeriods}} {
		if of.value < 1 || of.value > 1_000_000 {
			return r, fmt.Errorf("%s %d is not between 1 and 1000000", of.name, of.value)
		}
	}
	switch {
	case r.Period < 10*time.Millisecond || r.Period > 24*time.Hour:
		return r, fmt.Errorf("period %v is not between 10ms and 24h", r.Period)
	case r.SlowP95 < time.Microsecond || r.SlowP95 > longest*time.Microsecond:
		return r, fmt.Errorf("slow_p95 %v is not between 1us and %v", r.SlowP95, longest*time.Microsecond)
	case !(r.MoreErrors > 0 && r.MoreErrors <= 1):
		return r, fmt.Errorf("more_errors %v is not above 0 and up to 1", r.MoreErrors)
	}
	return r, nil
}

// Start starts a release: a shadow of a share of the reads, or a canary for a share of the
// accounts.
func (r *Release) Start(p Plan) error {
	base, err := parseTarget(p.URL)
	if err != nil {
		return err
	}
	if p.Mode != Shadow && p.Mode != Canary {
		return fmt.Errorf("mode %.20q is neither %q nor %q", p.Mode, Shadow, Canary)
	}
	if !(p.Fraction >= 0 && p.Fraction <= 1) {
		return fmt.Errorf("fraction %v is not between 0 and 1", p.Fraction)
	}
	rules, err := p.rules(r.usual)
	if err != nil {
		return err
	}
	return r.start(base, p.Mode, p.Fraction, rules)
}

func (r *Release) start(base *url.URL, mode Mode, share float64, rules Rules) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx.Err() != nil:
		return errors.New("the gateway is stopping")
	case r.stage.Mode != Off:
		return errRunning
	}
	r.last, r.latest, r.rules = nil, Period{}, rules
	r.turn(rules.begin(mode, share), base)
	r.decide(Start, "operator", "asked for")
	return nil
}
