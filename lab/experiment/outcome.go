package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/experiment/generator"
	"dyno/lab/record"
	"dyno/lab/record/redact"
)

// outcome returns how the experiment ended: by an error, by a signal, without a valid result, or
// as planned.
func (x *executor) outcome(ctx context.Context, err error) *record.Outcome {
	why := ""
	if err != nil {
		why, _, _ = strings.Cut(redact.Text(err.Error()), "\n")
		why = strings.TrimSuffix(why, "; its log ends:") // the error's next lines quote the log
	}
	switch {
	case ctx.Err() != nil && len(x.exp.Runs) == 0 && len(x.exp.Slices) == 0:
		return &record.Outcome{Status: record.OutcomeInterrupted, Reason: "it was interrupted before anything was measured"}
	case ctx.Err() != nil:
		return &record.Outcome{Status: record.OutcomeInterrupted, Reason: "it was interrupted"}
	case errors.Is(err, ErrUnfit):
		return &record.Outcome{Status: record.OutcomeInvalid, Reason: strings.TrimPrefix(why, ErrUnfit.Error()+": ")}
	case err != nil:
		return &record.Outcome{Status: record.OutcomeFailed, Reason: why}
	}
	if reason := x.invalid(); reason != "" {
		return &record.Outcome{Status: record.OutcomeInvalid, Reason: reason}
	}
	return &record.Outcome{Status: record.OutcomeComplete}
}

// noSuccess returns an error if every request of every run failed. That is reported even if the
// generator was the limit.
func (x *executor) noSuccess() error {
	if len(x.exp.Runs) == 0 || len(x.exp.Slices) > 0 {
		return nil
	}
	for _, r := range x.exp.Runs {
		if r.NoSuccess == "" {
			return nil
		}
	}
	return generator.Failing(x.exp.Runs[0].NoSuccess)
}

// invalid explains why a completed experiment has no valid result; empty: it has one.
func (x *executor) invalid() string {
	switch {
	case x.kind.invalid != nil && len(x.exp.Runs) > 0:
		return x.kind.invalid(x.exp)
	case len(x.exp.Slices) > 0:
		return x.invalidTurns()
	}
	reason := "nothing was measured"
	for _, r := range x.exp.Runs {
		// An SLO that a single run met counts as met however busy the generator was, unless a
		// part of the load failed.
		if r.Invalid == "" || r.Totals.Generator.Failed == "" && x.kind.once && x.opts.Scenario.Bounded() && capacity.CheckSLO(r).Met {
			return ""
		}
		reason = r.Invalid
	}
	return reason
}

// undiagnosed explains why a diagnosis has no verdict; empty: it has one.
func undiagnosed(e *record.Experiment) string {
	if d := diagnose.Diagnose(e); len(d) > 0 && !d[0].Valid {
		return d[0].Reason
	}
	return ""
}

// invalidTurns explains why slices have no valid result: none is valid, the load generator was
// the limit in most work slices, or two processes of the same program differ.
func (x *executor) invalidTurns() string {
	count, limited, reason, how := 0, 0, "", ""
	for i := range x.exp.Slices {
		switch s := &x.exp.Slices[i]; {
		case s.Invalid != "":
			reason = s.Invalid
		case x.kind.alone && x.opts.Scenario.Bounded() && s.Kind == record.SliceWork:
			// The generator may be the limit at the peak work rate, but not at the capacity.
		case s.Limited != "":
			limited, how = limited+1, s.Limited
			fallthrough
		default:
			count++
		}
	}
	switch {
	case count == 0:
		return "nothing could be measured: " + reason
	case 2*limited > count:
		return fmt.Sprintf("the load generator was the limit in %d of %d slices: %s", limited, count, how)
	}
	if x.kind.compares && len(x.variants) == 2 {
		for _, v := range x.variants {
			if !slices.ContainsFunc(x.exp.Slices, func(s record.Slice) bool { return s.Variant == v.Name && s.Role == record.RoleMeasure }) {
				return fmt.Sprintf("the budget of %v left no time for a turn of %s: give it more with --budget", x.exp.Budget, v.Name)
			}
		}
	}
	first := x.variants[0].Name
	floor := compare.Turns(x.exp.Slices, compare.MetricWork, compare.Arm{Role: record.RoleMeasure, Variant: first}, compare.Arm{Role: record.RoleControl, Variant: first})
	if compare.ControlDiffers(floor) {
		return fmt.Sprintf("two processes of %s, the same program, differ: %.3f [%.3f, %.3f]", first, floor.Ratio, floor.Interval[0], floor.Interval[1])
	}
	return ""
}
