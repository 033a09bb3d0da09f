package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/diagnose/calibration"
	"dyno/lab/experiment"
	"dyno/lab/experiment/calibrate"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report"
	"dyno/lab/report/confusion"
	"dyno/lab/report/progress"
)

// foresee measures what changes bring beside what was reckoned before them: of ladders if names are
// scenarios, otherwise of the servers of known cause.
func (c *common) foresee(ctx context.Context, names []string, o calibrate.Options, view *progress.View) (all []calibration.Foresight, err error) {
	if len(names) == 0 || !strings.HasSuffix(names[0], ".yaml") {
		return calibrate.Foresee(ctx, o, func(n, total int, f calibration.Foresight) {
			mark, _ := f.Mark()
			view.Say(fmt.Sprintf("%s  %d of %d  %-16s %s", view.Elapsed(), n, total, f.Step, mark))
		})
	}
	for _, name := range names {
		run := experiment.Options{Depth: c.depth(), NoPMQoS: c.noPMQoS, Permit: c.permit, Progress: view, Out: filepath.Join(o.Out, fileName(name))}
		if run.Scenario, err = request.Open(name); err != nil {
			return all, err
		}
		if run.Scenario.Mode != record.KindLadder {
			return all, usage.Errorf("%s has the mode %s; --what-if takes ladders, whose steps follow each other", name, run.Scenario.Mode)
		}
		exp, err := experiment.Execute(ctx, run)
		if exp == nil || err != nil && !errors.Is(err, experiment.ErrUnfit) {
			return all, err
		}
		if err := writeReports(report.Build(exp), run.Out); err != nil {
			return all, err
		}
		all = append(all, calibrate.Steps(exp)...)
	}
	return all, nil
}

// foreseen reads the folder of a ladder, or that of an earlier calibration.
func foreseen(ctx context.Context, dir string) ([]calibration.Foresight, error) {
	exp, err := folder.Open(dir)
	if err != nil {
		all, readErr := calibrate.ReadForeseen(ctx, dir)
		if readErr == nil && len(all) == 0 {
			readErr = fmt.Errorf("%s is neither the record of a ladder nor a folder of calibrate --what-if: %w", dir, err)
		}
		return all, readErr
	}
	if exp.Kind != record.KindLadder {
		return nil, fmt.Errorf("%s is the record of a %s; --what-if --judge takes that of a ladder (dyno run), or a folder of calibrate --what-if", dir, exp.Kind)
	}
	return calibrate.Steps(exp), nil
}

// showForesight prints a table for people or an object for machines; nothing without changes.
func (c *common) showForesight(all []calibration.Foresight) error {
	switch w := c.cmd.OutOrStdout(); {
	case len(all) == 0:
		return nil
	case c.json:
		return confusion.ForesightJSON(w, all)
	default:
		confusion.Foresight(w, all)
		return nil
	}
}
