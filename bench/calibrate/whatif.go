package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"dyno/bench/calibrate/calibration"
	"dyno/bench/calibrate/suite"
	"dyno/bench/command"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report/progress"
	"dyno/lab/scenario"
)

// remedies measures the remedies of the servers of known cause; o.Only names servers or families.
func remedies(ctx context.Context, o suite.Options, view *progress.View) ([]calibration.Prediction, error) {
	return suite.WhatIf(ctx, o, func(n, total int, f calibration.Prediction) {
		mark, _ := f.Mark()
		view.Say(fmt.Sprintf("%s  %d of %d  %-16s %s", view.Elapsed(), n, total, f.Step, mark))
	})
}

// isScenario reports whether a name is that of a scenario's file rather than of a server.
func isScenario(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// ladders measures the ladders of scenario files. The records are below the folder o.Out.
func ladders(ctx context.Context, files []string, o suite.Options, view *progress.View) (all []calibration.Prediction, err error) {
	for _, file := range files {
		run := experiment.Options{Depth: o.Depth, NoPMQoS: o.NoPMQoS, Progress: view}
		if run.Scenario, err = scenario.Open(file); err != nil {
			return all, err
		}
		if run.Scenario.Mode != record.KindLadder {
			return all, command.Wrong("%s has the mode %s; --what-if takes ladders, whose steps follow each other", file, run.Scenario.Mode)
		}
		if of := run.Scenario.Load.Sessions; of != nil { // the most that meet the SLO, instead of a fixed number
			search := *of
			search.Numbers, run.Scenario.Load.Sessions = nil, &search
		}
		run.Out = filepath.Join(o.Out, run.Scenario.Name)
		exp, err := experiment.Execute(ctx, run)
		if exp == nil || err != nil && !errors.Is(err, experiment.ErrUnfit) {
			return all, err
		}
		all = append(all, suite.Steps(exp)...)
	}
	return all, nil
}

// read reads the folder of a ladder, or one of remedies.
func read(ctx context.Context, dir string) ([]calibration.Prediction, error) {
	exp, err := folder.Open(dir)
	if err != nil {
		all, readErr := suite.ReadWhatIf(ctx, dir)
		if readErr == nil && len(all) == 0 {
			readErr = fmt.Errorf("%s is neither the record of a ladder nor a folder of calibrate --what-if: %w", dir, err)
		}
		return all, readErr
	}
	if exp.Kind != record.KindLadder {
		return nil, fmt.Errorf("%s is the record of the kind %s; --what-if --judge takes that of a ladder (dyno run), or a folder of calibrate --what-if", dir, exp.Kind)
	}
	return suite.Steps(exp), nil
}
