package view

import (
	"cmp"
	"fmt"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// SessionRuns is the runs whose load was a number of sessions: by variant, from the fewest
// sessions.
type SessionRuns []SessionRun

// SessionRun is one run with a number of sessions.
type SessionRun struct {
	Variant  string           `json:"variant"`
	Role     string           `json:"role"`
	Round    int              `json:"round,omitempty"`
	Totals   record.Totals    `json:"-"`
	Sessions *record.Sessions `json:"sessions"`
	Met      string           `json:"slo"` // in words; empty: not judged
}

// NewSessionRuns reads the runs with sessions; nil: there are none.
func NewSessionRuns(e *record.Experiment, verdicts map[string]capacity.Verdict, capacities map[string]capacity.Result) (c SessionRuns) {
	order := e.VariantNames()
	for _, r := range e.Runs {
		if r.Axis() != record.AxisSessions || r.Totals.Sessions == nil {
			continue
		}
		row := SessionRun{Variant: r.Spec.Variant, Role: format.Role(r.Spec.Role), Round: r.Spec.Round, Totals: r.Totals, Sessions: r.Totals.Sessions}
		switch v, judged := verdicts[r.ID]; {
		case r.Invalid != "":
			row.Met = "invalid"
		case judged && format.Inconclusive(v) != "" && len(capacities) == 0:
			row.Met = "not judged"
		case judged && len(capacities) > 0: // as the search judged it; too few completions give a warning
			found := capacities[r.Spec.Variant]
			row.Met = format.Met(found.MetIn(r.ID), "")
		case judged:
			row.Met = format.Met(v.Met, "")
		}
		c = append(c, row)
	}
	slices.SortStableFunc(c, func(a, b SessionRun) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Variant), slices.Index(order, b.Variant)), cmp.Compare(a.Totals.Sessions.Planned, b.Totals.Sessions.Planned))
	})
	return c
}

var sessionColumns = []format.Column[SessionRun]{
	{Head: "variant", Short: "variant", Cell: func(c SessionRun) string { return cmp.Or(c.Variant, format.Dash) }},
	{Head: "for", Short: "for", Cell: func(c SessionRun) string {
		if c.Round > 0 {
			return fmt.Sprintf("%s %d", c.Role, c.Round)
		}
		return c.Role
	}},
	sessionNumber("sessions", "", func(c SessionRun) string { return format.Count(c.Totals.Sessions.Planned) }),
	sessionNumber("offered", "/s", func(c SessionRun) string { return format.Format(format.Measured(c.Totals.OfferedPerS)) }),
	sessionNumber("p50", "ms", func(c SessionRun) string { return format.Format(format.Measured(c.Totals.Response.P50)) }),
	sessionNumber("p99", "ms", func(c SessionRun) string { return format.Format(format.Measured(c.Totals.Response.P99)) }),
	sessionNumber("errors", "", func(c SessionRun) string { return format.Percent(format.Value(c.Totals.ErrorShare())) }),
	sessionNumber("frames", "/s", func(c SessionRun) string { return format.Format(format.Value(c.Totals.Sessions.FramesMean)) }),
	sessionNumber("frames p1", "/s", func(c SessionRun) string { return format.Format(format.Value(c.Totals.Sessions.FramesP1)) }),
	sessionNumber("received", "B/s", func(c SessionRun) string { return format.Format(format.Value(c.Totals.Sessions.BytesPerS)) }),
	sessionNumber("lost", "", func(c SessionRun) string { return someOrDash(c.Totals.Sessions.Lost) }),
	sessionNumber("unopened", "", func(c SessionRun) string {
		return someOrDash(c.Totals.Sessions.Planned - c.Totals.Sessions.Opened)
	}),
	sessionNumber("open p50", "ms", func(c SessionRun) string { return format.Format(format.Measured(c.Totals.Sessions.Opening.P50)) }),
	sessionNumber("open p99", "ms", func(c SessionRun) string { return format.Format(format.Measured(c.Totals.Sessions.Opening.P99)) }),
	{Head: "SLO", Short: "SLO", Cell: func(c SessionRun) string { return cmp.Or(c.Met, format.Dash) }},
}

func sessionNumber(head, unit string, cell func(SessionRun) string) format.Column[SessionRun] {
	head += format.Space(unit)
	return format.Column[SessionRun]{Head: head, Short: head, Number: true, Cell: cell}
}

func someOrDash(n int64) string {
	if n == 0 {
		return format.Dash
	}
	return format.Count(n)
}

// Columns are the columns of the table of the runs that have content.
func (c SessionRuns) Columns() []format.Column[SessionRun] {
	columns := format.Shown(sessionColumns, c)
	if len(slices.CompactFunc(slices.Clone(c), func(a, b SessionRun) bool { return a.Variant == b.Variant })) == 1 {
		return columns[1:]
	}
	return columns
}

// Answer is the result of runs at known numbers of sessions in one sentence.
func (c SessionRuns) Answer() string {
	var most *SessionRun
	for i := range c {
		if c[i].Met == format.Met(true, "") && (most == nil || c[i].Totals.Sessions.Planned > most.Totals.Sessions.Planned) {
			most = &c[i]
		}
	}
	if most == nil {
		return "No number of sessions met the SLO."
	}
	return fmt.Sprintf("%s met the SLO with %s, the most of those tried.", most.Variant, format.Plural(int(most.Totals.Sessions.Planned), "session"))
}
