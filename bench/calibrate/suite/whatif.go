package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dyno/bench/calibrate/calibration"
	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"

	"gonum.org/v1/gonum/stat"
)

// WhatIf diagnoses each server that has a remedy, estimates from that record alone what the remedy
// can bring, and measures in turns what it brings. If an error ends it, WhatIf returns the results
// until then. done is called after every remedy.
func WhatIf(ctx context.Context, o Options, done func(n, total int, f calibration.Prediction)) ([]calibration.Prediction, error) {
	hog, servers, remove, err := o.chosen(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	servers = slices.DeleteFunc(servers, func(s Server) bool { return len(s.Remedies) == 0 })
	if len(servers) == 0 {
		return nil, fmt.Errorf("%w with a remedy among these; without names, all that have one are taken", ErrNoServer)
	}
	var out []calibration.Prediction
	for _, s := range servers {
		if _, err := o.one(ctx, hog, s, 0, o.Inside[0]); err != nil {
			return out, fmt.Errorf("diagnosing %s: %w", s.Name, err)
		}
		_, err := experiment.Execute(ctx, experiment.Options{Scenario: s.remedied(o.Seed, o.Inside[0]), Out: filepath.Join(o.Out, remedyFolder(s)), Depth: o.Depth, NoPMQoS: o.NoPMQoS, Budget: remedyBudget})
		if err != nil && !errors.Is(err, experiment.ErrUnfit) {
			return out, fmt.Errorf("comparing %s with its remedy: %w", s.Name, err)
		}
		f, err := s.prediction(o.Out, o.Seed, o.Inside[0])
		if err != nil {
			return out, err
		}
		out = append(out, f)
		done(len(out), len(servers), f)
	}
	return out, nil
}

// remedyBudget is the time limit of a comparison, which ends earlier when it is decided.
const remedyBudget = 40 * time.Second

func remedyFolder(s Server) string { return s.Name + "-remedied" }

// remedied returns the scenario that compares a server with its first remedy.
func (s Server) remedied(seed uint64, inside string) *scenario.Scenario {
	sc := s.Scenario(seed, inside)
	sc.Mode, sc.Load.Connections, sc.Load.Timeout = record.KindCompare, 64, 10*time.Second
	changed := scenario.Variant{Name: "remedied", Change: s.Remedies[0].Text}
	for _, name := range slices.Sorted(maps.Keys(s.Remedies[0].Scale)) {
		changed.Args = append(changed.Args, "--scale", fmt.Sprintf("%s=%g", name, s.Remedies[0].Scale[name]))
	}
	sc.Variants = []scenario.Variant{{Name: "as-it-is"}, changed}
	return sc
}

// prediction reads a server's two records.
func (s Server) prediction(dir string, seed uint64, inside string) (calibration.Prediction, error) {
	before, err := folder.Open(filepath.Join(dir, folderName(s.Name, seed, inside)))
	if err != nil {
		return calibration.Prediction{}, err
	}
	both, err := folder.Open(filepath.Join(dir, remedyFolder(s)))
	if err != nil {
		return calibration.Prediction{}, err
	}
	all := diagnose.Diagnose(before)
	if len(all) == 0 {
		return calibration.Prediction{}, fmt.Errorf("%s: nothing was diagnosed", s.Name)
	}
	remedy := s.Remedies[0]
	f := calibration.Remedied(&all[0], remedy.Bound, remedy.removal(before.Runs))
	f.Step, f.Change = s.Name, remedy.Text
	f.Work = measured(both, compare.MetricWork, "as-it-is", "remedied", nil)
	f.CPU = measured(both, compare.MetricCPU, "as-it-is", "remedied", nil)
	return f, nil
}

// removal is what a remedy takes away apart from a part of the bound.
func (r Remedy) removal(runs []*record.Run) (out whatif.Removal) {
	for _, run := range runs {
		if run.Spec.Role != record.RoleProfile {
			continue
		}
		if r.CPU > 0 {
			out.CPU, out.CPUOf = r.CPU*calibration.ShareOf(run, r.Compute), "gone in "+r.Compute
		}
		for _, p := range run.System.Peers {
			out.Others += r.Receiver * p.CPU
		}
	}
	return out
}

// ReadWhatIf reads what WhatIf wrote into a folder.
func ReadWhatIf(ctx context.Context, dir string) ([]calibration.Prediction, error) {
	_, servers, remove, err := build(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	var out []calibration.Prediction
	for _, s := range servers {
		found, err := filepath.Glob(filepath.Join(dir, s.Name+"-[0-9]*-*"))
		if _, gone := os.Stat(filepath.Join(dir, remedyFolder(s))); err != nil || gone != nil || len(s.Remedies) == 0 {
			continue
		}
		for _, path := range found {
			name, seed, inside, ok := parts(filepath.Base(path))
			if !ok || name != s.Name {
				continue
			}
			f, err := s.prediction(dir, seed, inside)
			if err != nil {
				return out, err
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// Steps estimates from each step of a recorded ladder what the next one can bring, with what it
// brought.
func Steps(e *record.Experiment) []calibration.Prediction {
	found, profiled := map[string]*diagnose.Diagnosis{}, map[string]*record.Run{}
	for _, d := range diagnose.Diagnose(e) {
		found[d.Variant], profiled[d.Variant] = &d, diagnose.NewSubject(d.Variant, e.Runs).Profiled
	}
	var out []calibration.Prediction
	for i := 1; i < len(e.Variants); i++ {
		before, after := e.Variants[i-1].Name, e.Variants[i].Name
		f := calibration.Prediction{Estimate: whatif.Estimate{Missing: "a run under profiles"}}
		a, b, now := profiled[before], profiled[after], found[after]
		if b == nil { // the turns say what a request costs all the same
			b, now = &record.Run{}, &diagnose.Diagnosis{}
		}
		if a != nil {
			f = calibration.Step(found[before], now, a, b, [2]whatif.CPUUse{load(e, before, a), load(e, after, b)})
		}
		f.Step, f.Change, f.Work, f.CPU = after, e.Variants[i].Change, worked(e, before, after), measured(e, compare.MetricCPU, before, after, compare.AtEqualRate(e, compare.MetricCPU))
		out = append(out, f)
	}
	return out
}

// load is that of a variant's peak work: in its turns, or in whole runs those with as many clients
// as the one under profiles, which is at the capacity.
func load(e *record.Experiment, variant string, profiled *record.Run) whatif.CPUUse {
	if len(e.Slices) > 0 {
		return whatif.CPUUseOf(diagnose.Peak(e, variant))
	}
	return whatif.CPUUseOfRuns(e.Select(func(r *record.Run) bool {
		return r.Spec.Variant == variant && r.Spec.Connections == profiled.Spec.Connections && r.Invalid == "" && !r.Spec.Diagnostic()
	}))
}

// worked is the ratio of the peak work rates or, of whole runs, of the capacities; at one fixed
// load there is none.
func worked(e *record.Experiment, before, after string) calibration.Ratio {
	switch {
	case len(e.Slices) > 0:
		return measured(e, compare.MetricWork, before, after, nil)
	case e.Metric != "" && e.Metric != compare.MetricCapacity:
		return calibration.Ratio{}
	}
	return measured(e, compare.MetricCapacity, before, after, func(role, variant string, round int) (float64, bool) {
		peak, ok, _ := capacity.PeakOf(e.Select(func(r *record.Run) bool {
			return r.Spec.Role == role && r.Spec.Variant == variant && r.Spec.Round == round
		}), e.SLO)
		return peak.PerS, ok
	})
}

// measured compares two variants. Where there are too few samples for an interval, it is that of
// single blocks.
func measured(e *record.Experiment, metric, before, after string, sample compare.Sample) calibration.Ratio {
	c := compare.Between(e, metric, before, after, sample)
	if c.Verdict == compare.Invalid {
		return calibration.Ratio{}
	}
	if c.Interval == nil {
		gains := compare.Gains(e, metric, before, after, sample)
		mean, deviation := stat.MeanStdDev(gains, nil)
		if metric == compare.MetricCPU { // less is a gain
			mean = -mean
		}
		if c := compare.OfEstimates(metric, before, after, mean, deviation/math.Sqrt(float64(len(gains))), len(gains)); c.Interval != nil {
			return calibration.Ratio{Times: c.Ratio, Low: c.Interval[0], High: c.Interval[1]}
		}
		return calibration.Ratio{Times: c.Ratio}
	}
	return calibration.Ratio{Times: c.Ratio, Low: c.Interval[0], High: c.Interval[1]}
}
