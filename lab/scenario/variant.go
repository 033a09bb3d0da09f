package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

// Variant returns the variant of the given name. The error lists the variants and suggests the
// nearest.
func (s *Scenario) Variant(name string) (Variant, error) {
	names := make([]string, len(s.Variants))
	for i, v := range s.Variants {
		if v.Name == name {
			return v, nil
		}
		names[i] = v.Name
	}
	if len(names) == 0 {
		return Variant{}, fmt.Errorf("%s declares no variants, so there is no variant %q", s.Path, name)
	}
	if near, ok := document.Nearest(name, names); ok {
		return Variant{}, fmt.Errorf("%s has no variant %q; did you mean %q?", s.Path, name, near)
	}
	return Variant{}, fmt.Errorf("%s has no variant %q; its variants are %s", s.Path, name, strings.Join(names, ", "))
}

// Scale returns the factor of Measure's rates for a variant: its value of the axis Measure.Per.
func (s *Scenario) Scale(v Variant) float64 {
	n, err := strconv.ParseFloat(v.Values[s.Measure.Per], 64)
	if err != nil || !(n > 0) {
		return 1
	}
	return n
}

// Own reports whether the variant has its own program or address.
func (v Variant) Own() bool { return v.Build != "" || len(v.Command) > 0 || v.URL != "" }

// TargetOf returns the target of a variant. A variant with its own program has only its own
// arguments; any other has its arguments after the target's. In both cases its environment is
// added to the target's. A variant with a URL is not started, and uses the target's fields only if
// the URL is the target's.
func (s *Scenario) TargetOf(v Variant) Target {
	if v.URL != "" {
		if v.URL == s.Target.URL {
			return s.Target
		}
		return Target{URL: v.URL}
	}
	t := s.Target
	t.PGO = v.PGO
	if v.Own() {
		t.Build, t.Command, t.Args, t.Traced, t.URL = v.Build, v.Command, v.Args, nil, ""
	} else {
		t.Args = slices.Concat(t.Args, v.Args)
	}
	t.Dir = cmp.Or(v.Dir, t.Dir)
	if len(v.Env) > 0 {
		t.Env = make(map[string]string, len(s.Target.Env)+len(v.Env))
		maps.Copy(t.Env, s.Target.Env)
		maps.Copy(t.Env, v.Env)
	}
	return t
}

// SetupOf returns the requests that set the variant up: its own if it has any, else the
// scenario's.
func (s *Scenario) SetupOf(v Variant) []Request {
	if len(v.Setup) > 0 {
		return v.Setup
	}
	return s.Setup
}

// Parallel reports whether the variant receives a number of concurrent units. Any other works
// through one unit after the other.
func (s *Scenario) Parallel(v Variant) bool {
	return slices.ContainsFunc(s.LoadOf(v).Job.Args, func(a string) bool { return strings.Contains(a, "${concurrency}") })
}

// ConcurrencyOf returns the numbers of concurrent units that a sweep uses for the variant, run
// after run.
func (s *Scenario) ConcurrencyOf(v Variant) []int {
	switch {
	case s.Load.Traits().Axis == workload.AxisSessions:
		return s.Load.Numbers()
	case v.Load != nil && len(v.Load.Concurrency) > 0:
		return v.Load.Concurrency
	case !s.Parallel(v):
		return []int{1}
	}
	return s.Measure.Concurrency
}

// LoadOf returns the load of the variant.
func (s *Scenario) LoadOf(v Variant) Load {
	l := s.Load
	if v.Load == nil {
		return l
	}
	if v.Load.Body != "" {
		l.Requests = slices.Clone(l.Requests)
		for i := range l.Requests {
			l.Requests[i].Body = workload.Body{Text: v.Load.Body, Copies: v.Load.Repeat, Array: v.Load.Array}
		}
	}
	if v.Load.Check != nil {
		l.Check = *v.Load.Check
	}
	l.URL, l.Pipeline = cmp.Or(v.Load.URL, l.URL), cmp.Or(v.Load.Pipeline, l.Pipeline)
	l.Connections = cmp.Or(v.Load.Connections, l.Connections)
	if len(v.Load.Args) > 0 && l.Job != nil {
		l.Job = &workload.Job{Args: v.Load.Args, Axis: l.Job.Axis}
	}
	l.Units = cmp.Or(v.Load.Units, l.Units)
	if len(v.Load.Headers) > 0 {
		l.Headers = make(map[string]string, len(s.Load.Headers)+len(v.Load.Headers))
		maps.Copy(l.Headers, s.Load.Headers)
		maps.Copy(l.Headers, v.Load.Headers)
	}
	return l
}

// Resolve returns a path of the scenario in a form that can be opened.
func (s *Scenario) Resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Root, name)
}

// OneAddress reports whether every variant uses the same address, so that two cannot run
// concurrently.
func (s *Scenario) OneAddress() bool {
	return s.Target.URL == "" && !strings.Contains(s.Load.URL, "${")
}

// MostRate returns the highest permitted rate, per second; 0: no limit.
func (s *Scenario) MostRate() float64 {
	most := s.Measure.MaxRate
	if limit := s.Load.MaxRate; limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	return most
}

// Bounded reports whether there is an SLO to meet.
func (s *Scenario) Bounded() bool { return s.SLO.Bounded() }

// Shares reports whether a dependency is shared.
func (s *Scenario) Shares() bool {
	return slices.ContainsFunc(s.Dependencies, func(c Dependency) bool { return c.Shared })
}

// Fault is a fault of a scenario that appears only when it is carried out: a body template that
// cannot be filled, a feeder without rows.
type Fault struct{ Err error }

func (e *Fault) Error() string { return e.Err.Error() }
func (e *Fault) Unwrap() error { return e.Err }
