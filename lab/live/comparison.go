package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/figure"
)

// side is one of two results that are compared.
type side struct {
	Letter, Class  string
	Name, Variant  string // folder; empty variant: a single load
	Variants       []string
	OtherA, OtherB string // the other side's result, in the address format
	alike          bool   // both sides have the same title
	chosen         bool   // the address names the variant
	*built
}

// Ref is the side in the address format: NAME or NAME:VARIANT.
func (s *side) Ref() string {
	if s.Variant == "" {
		return s.Name
	}
	return s.Name + ":" + s.Variant
}

// Title names the side in a few words.
func (s *side) Title() string {
	service := cmp.Or(s.Subject, s.built.Name, s.Name)
	if s.Variant == "" || s.Variant == service {
		return service
	}
	return service + " " + s.Variant
}

// Heading names the side unambiguously.
func (s *side) Heading() string {
	if s.alike {
		return s.Name
	}
	return s.Title()
}

// errSide is the error for a side with an invalid address.
type errSide struct{ text string }

func (e errSide) Error() string { return e.text }

// splitRef finds the experiment and the variant in an address. Both may contain colons, so the
// longest name of an existing experiment counts.
func (s *index) splitRef(ref string) (name, variant string, err error) {
	if _, err = s.head(ref); err == nil {
		return ref, "", nil
	}
	for i := strings.LastIndexByte(ref, ':'); i > 0; i = strings.LastIndexByte(ref[:i], ':') {
		if _, other := s.head(ref[:i]); other == nil {
			return ref[:i], ref[i+1:], nil
		}
	}
	return "", "", err
}

// maxRef bounds the length of an address, in bytes; a folder's name has at most 255.
const maxRef = 1024

// side finds the result of an address. Without a variant it is the last one that has a result.
func (s *Server) side(ctx context.Context, letter, ref string) (*side, error) {
	if ref == "" || len(ref) > maxRef {
		return nil, errSide{"give two results to compare, as in /compare?a=NAME&b=NAME:VARIANT; the list of experiments lets you choose"}
	}
	name, variant, err := s.index.splitRef(ref)
	if err != nil {
		return nil, err
	}
	b, err := s.reports.of(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &side{Letter: letter, Class: strings.ToLower(letter), Name: name, Variant: variant, chosen: variant != "", built: b}
	for _, step := range b.Steps {
		out.Variants = append(out.Variants, step.Name)
		if variant == "" && (out.Variant == "" || step.Invalid == "") {
			out.Variant = step.Name
		}
	}
	if variant != "" && !slices.Contains(out.Variants, variant) {
		return nil, errSide{fmt.Sprintf("%s has no variant %q; there are: %s", name, variant, strings.Join(out.Variants, ", "))}
	}
	return out, nil
}

// first selects the baseline when an experiment is compared with itself.
func (s *side) first() {
	if len(s.Variants) > 1 {
		s.Variant = s.Variants[0]
	}
}

// Step is the side's variant; nil for a single load.
func (s *side) Step() *report.Step {
	for i := range s.Steps {
		if s.Steps[i].Name == s.Variant {
			return &s.Steps[i]
		}
	}
	return nil
}

// load is the side's single load; nil for a variant.
func (s *side) load() *record.Run {
	if s.Load == nil {
		return nil
	}
	return s.Load.Run
}

// figures are the results of a side.
type figures struct {
	capacity, work, offered, achieved, errors, speed figure.Value
	interval                                         *figure.Interval // of capacity
	rounds, votes                                    int
	measured                                         map[string]figure.Value // by the keys of report.Figures
}

func (s *side) figures() figures {
	no := figure.Unknown
	f := figures{capacity: no, work: no, offered: no, achieved: no, errors: no, speed: no, measured: map[string]figure.Value{}}
	if v, ok := s.speed[s.Variant]; ok {
		f.speed = v
	}
	if step := s.Step(); step != nil {
		if s.Metric == compare.MetricCapacity || s.Turns != nil {
			f.capacity, f.interval = step.Capacity, step.Interval
		}
		f.rounds, f.votes, f.work = step.Rounds, step.Votes, step.Work
		f.measured = step.Figures
		return f
	}
	run := s.load()
	if run == nil {
		return f
	}
	for _, one := range report.Figures {
		f.measured[one.Key] = one.Of(run)
	}
	t := run.Totals
	f.offered, f.achieved, f.errors = figure.Measured(t.OfferedPerS), figure.Measured(t.AchievedPerS), figure.Value(t.ErrorShare())
	f.speed = figure.Measured(run.Environment.Speed).Or(f.speed)
	return f
}

// figure is a measured figure by its key.
func (f figures) figure(key string) figure.Value {
	if v, ok := f.measured[key]; ok {
		return v
	}
	return figure.Unknown
}

// curve is the side's latency against the offered rate: x, p99 and p50.
func (s *side) curve() (xs, p99, p50 []float64) {
	if run := s.load(); run != nil && run.Totals.OfferedPerS > 0 {
		q := run.SLO.Observed(run.Totals)
		return []float64{run.Totals.OfferedPerS}, []float64{q.P99}, []float64{q.P50}
	}
	for _, c := range s.Curves {
		if c.Variant != s.Variant {
			continue
		}
		for _, at := range c.Line {
			xs, p99, p50 = append(xs, at.PerS), append(p99, at.P99), append(p50, at.P50)
		}
	}
	return xs, p99, p50
}
