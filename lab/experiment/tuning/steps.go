package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/tune"
	"dyno/lab/workload"
)

// measureStart measures the start configuration alone, and profiles it.
func (t *tuning) measureStart(ctx context.Context) error {
	t.base.Progress.Say("measuring " + t.start.Name + ", the start")
	o := t.options(record.KindCapacity, folderOfStart, max(t.pace.start, time.Duration(startShare*float64(t.base.Budget))), t.start)
	o.Depth, o.Profile, o.Rate, o.Metric = experiment.Quick, time.Second, 0, ""
	if t.wantsPGO() {
		o.Profile = t.pace.profile
	}
	began := time.Now()
	exp, err := t.execute(ctx, o)
	t.out.Look = exp
	if err != nil {
		return err
	}
	if exp.Outcome.Status == record.OutcomeFailed {
		return errors.New(exp.Outcome.Reason)
	}
	result := capacity.Summarise(exp, t.start.Name)
	if t.base.Scenario.Load.Traits().Axis != workload.AxisRate {
		t.perRun, t.clients = perRun(exp, began), result.Concurrency
		if t.base.Scenario.Load.Traits().Axis == workload.AxisSessions {
			t.clients = 0
		}
	}
	if t.base.Metric == compare.MetricP99 && t.base.Scenario.Load.Traits().Axis == workload.AxisRate {
		if t.rate = cmp.Or(t.base.Rate, shareOfCapacity*result.CapacityPerS); t.rate == 0 {
			return fmt.Errorf("%w: no rate was found at which %s meets the SLO: %s", experiment.ErrUnfit, t.start.Name, result.Reason)
		}
	}
	return t.keepProfile(exp)
}

// keepProfile copies the start's CPU profile into the output folder, so that the user can build
// with it, if the search tries such a build.
func (t *tuning) keepProfile(exp *record.Experiment) error {
	if !t.wantsPGO() {
		return nil
	}
	for _, r := range exp.Runs {
		for _, p := range r.Profiles {
			if p.Kind != record.ProfileCPU || p.File == "" {
				continue
			}
			b, err := os.ReadFile(filepath.Join(exp.RunDir(r.ID), p.File))
			if err != nil {
				return err
			}
			if t.profile, err = filepath.Abs(filepath.Join(t.base.Out, ProfileFile)); err != nil {
				return err
			}
			return os.WriteFile(t.profile, b, 0o644)
		}
	}
	t.note("pgo: no CPU profile could be taken; net/http/pprof or the agent in the program gives one")
	return nil
}

func (t *tuning) note(text string) {
	t.out.Notes = append(t.out.Notes, text)
	t.base.Progress.Say(text)
}

// search measures groups of candidates until the planner has no more, or the time is used up.
func (t *tuning) search(ctx context.Context) error {
	for {
		groups := t.planner.Next(time.Until(t.ends) - t.proof)
		if len(groups) == 0 {
			return nil
		}
		for _, g := range groups {
			least, left := t.least(len(g.Candidates)), time.Until(t.ends)-t.proof
			if t.planner.Slow(least); left < least {
				break // processes have started more slowly than expected
			}
			g.Length = min(max(g.Length, least), left)
			if err := t.group(ctx, g); err != nil {
				return err
			}
		}
	}
}

// group measures a group of candidates and the start configuration in turns.
func (t *tuning) group(ctx context.Context, g tune.Group) error {
	t.groups++
	variants, names := []scenario.Variant{t.start}, []string{}
	for _, c := range g.Candidates {
		variants, names = append(variants, t.variant(c)), append(names, c.String())
	}
	t.base.Progress.Say(fmt.Sprintf("round %d: %s", g.Round, strings.Join(names, ", ")))
	o := t.options(record.KindCompare, fmt.Sprintf("search-%d", t.groups), max(t.pace.group/2, g.Length-t.overhead), variants...)
	if t.perRun > 0 {
		o.Samples = max(1, int(g.Length/t.perRun)/(len(variants)+1))
	} else if t.rate == 0 {
		o.Scenario.SLO = record.SLO{} // only work slices: the final comparison has the SLO
	}
	exp, err := t.execute(ctx, o)
	if exp == nil || ctx.Err() != nil {
		return err
	}
	for _, c := range g.Candidates {
		gains := compare.Gains(exp, t.base.Metric, t.start.Name, c.String(), sample(exp))
		if len(gains) == 0 {
			if why := whyNot(exp, c.String(), err); why != "" {
				t.planner.Fail(c, why)
			}
			continue
		}
		memory := 0.0
		if a, b := resident(exp, t.start.Name), resident(exp, c.String()); a > 0 {
			memory = float64(b) / float64(a)
		}
		t.planner.Enter(c, gains, memory)
	}
	t.planner.Control(compare.ControlGains(exp, t.base.Metric, t.start.Name, sample(exp)))
	return nil
}

// prove compares the start with the chosen candidate under the SLO, on new data.
func (t *tuning) prove(ctx context.Context) error {
	chosen := t.variant(t.out.Chosen)
	t.base.Progress.Say("proving " + chosen.Name + " against " + t.start.Name + " on fresh data")
	left := time.Until(t.ends) - t.overhead
	o := t.options(record.KindCompare, folderOfProof, max(t.pace.group, left), t.start, chosen)
	if t.perRun > 0 {
		o.Samples = max(compare.MinSamples, int(left/t.perRun)/(2+1))
	}
	exp, err := t.execute(ctx, o)
	t.out.Proof = exp
	if exp != nil {
		t.out.Memory.Start, t.out.Memory.Chosen = resident(exp, t.start.Name), resident(exp, chosen.Name)
	}
	return err
}
