// Package revisions builds the programs that dyno compare and dyno bisect measure, at revisions
// of their git repository.
//
// It does not measure (lab/experiment does) and does not show results (lab/report does). It
// starts no goroutines.
package revisions

import (
	"cmp"
	"context"
	"fmt"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/revision"
	"dyno/lab/scenario"
)

// Source builds a program at revisions. The caller must close it.
type Source struct {
	start      *request.Start
	repository *revision.Repository
	say        func(text string)
}

// Open opens the repository that contains the program to build. say reports each build.
func Open(ctx context.Context, start *request.Start, say func(text string)) (*Source, error) {
	r, err := revision.Open(ctx, start.Dir)
	if err != nil {
		return nil, usage.Of(err)
	}
	return &Source{start, r, say}, nil
}

// Close removes the files that were checked out and built.
func (s *Source) Close() error { return s.repository.Close() }

func (s *Source) build(ctx context.Context, rev revision.Revision) (revision.Program, error) {
	s.say("building " + rev.Title())
	return s.repository.Build(ctx, rev, revision.Package{Dir: s.start.Dir, Name: s.start.Package, Work: s.start.WorkDir})
}

func side(p revision.Program) request.Side {
	return request.Side{Name: p.Title(), Change: p.Subject, Binary: p.Binary, Dir: p.Dir}
}

// Pair is a program at two revisions.
type Pair struct {
	A, B     revision.Program
	Scenario *scenario.Scenario // compares the two programs
}

// Same reports whether both revisions build the same program, so that no measurement is needed.
func (p Pair) Same() bool { return p.A.Sum == p.B.Sum }

// Pair builds the program at two revisions; by default the last commit and the folder as it is
// now.
func (s *Source) Pair(ctx context.Context, a, b string) (p Pair, err error) {
	before, err := s.repository.Resolve(ctx, cmp.Or(a, "HEAD"))
	if err != nil {
		return p, s.unknown(err, a)
	}
	after, err := s.repository.Resolve(ctx, cmp.Or(b, revision.Here))
	if err != nil {
		return p, s.unknown(err, b)
	}
	if before.Hash == after.Hash {
		return p, usage.Errorf("A and B are both %s: name two different revisions with --a and --b", before.Title())
	}
	if p.A, err = s.build(ctx, before); err != nil {
		return p, err
	}
	if p.B, err = s.build(ctx, after); err != nil {
		return p, err
	}
	p.Scenario = s.start.Between(side(p.A), side(p.B))
	return p, nil
}

// Report returns the report for two revisions that build the same program.
func (p Pair) Report(metric string) *report.Report {
	warning := "both revisions build the same program, so nothing was measured"
	return &report.Report{Kind: record.KindCompare, Name: p.Scenario.Name, Metric: metric, Outcome: record.Outcome{Status: record.OutcomeComplete},
		Answer: fmt.Sprintf("%s and %s build the same program, so nothing was measured.", p.A.Title(), p.B.Title()),
		Comparison: &compare.Comparison{Schema: compare.Schema, Metric: metric, A: p.A.Title(), B: p.B.Title(), Ratio: 1, Interval: &[2]float64{1, 1},
			Verdict: compare.Equal, Warnings: []string{warning}}}
}

// unknown explains that a name is neither a revision nor, if the scenario has variants, a
// variant.
func (s *Source) unknown(err error, name string) error {
	if len(s.start.Scenario.Variants) > 0 && name != "" {
		_, missing := s.start.Scenario.Variant(name)
		return usage.Errorf("%v, and %v", err, missing)
	}
	return usage.Of(err)
}

// Wanted reports whether --a and --b of dyno compare name revisions. They do if the argument is a
// Go package, or a scenario that builds its program and lacks one of them as a variant.
func Wanted(arg, a, b string) bool {
	if request.IsPackage(arg) {
		return true
	}
	if a == "" && b == "" || request.IsURL(arg) {
		return false
	}
	sc, err := request.Open(arg)
	if err != nil {
		return false // the command reports the error
	}
	for _, name := range []string{a, b} {
		if _, err := sc.Variant(name); name != "" && err != nil {
			return sc.TargetOf(lastOf(sc)).Build != ""
		}
	}
	return false
}

// lastOf returns a scenario's last variant, or the zero variant if it declares none.
func lastOf(sc *scenario.Scenario) (v scenario.Variant) {
	if n := len(sc.Variants); n > 0 {
		v = sc.Variants[n-1]
	}
	return v
}
