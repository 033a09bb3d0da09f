// Package foresee holds what changes can bring at most against what they bring: of the servers of
// known cause, of ladders, or of the folder of an earlier measurement.
//
// It is not for reckoning (package whatif), nor for running (package experiment), and it reads no
// flags. It starts no goroutines.
package foresee

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
	"dyno/lab/report/progress"
)

// Servers measures the remedies of the servers of known cause; o.Only names servers or families.
func Servers(ctx context.Context, o calibrate.Options, view *progress.View) ([]calibration.Foresight, error) {
	all, err := calibrate.Foresee(ctx, o, func(n, total int, f calibration.Foresight) {
		mark, _ := f.Mark()
		view.Say(fmt.Sprintf("%s  %d of %d  %-16s %s", view.Elapsed(), n, total, f.Step, mark))
	})
	if errors.Is(err, calibrate.ErrNoServer) {
		err = usage.Of(err)
	}
	return all, err
}

// Scenario reports whether a name is that of a scenario's file rather than of a server.
func Scenario(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// Ladders measures the ladders of scenario files. The records are below the folder o.Out.
func Ladders(files []string, permit func(host string) error) func(context.Context, calibrate.Options, *progress.View) ([]calibration.Foresight, error) {
	return func(ctx context.Context, o calibrate.Options, view *progress.View) (all []calibration.Foresight, err error) {
		for _, file := range files {
			run := experiment.Options{Depth: o.Depth, NoPMQoS: o.NoPMQoS, Permit: permit, Progress: view}
			if run.Scenario, err = request.Open(file); err != nil {
				return all, err
			}
			if run.Scenario.Mode != record.KindLadder {
				return all, usage.Errorf("%s has the mode %s; --what-if takes ladders, whose steps follow each other", file, run.Scenario.Mode)
			}
			run.Scenario.Load.Sessions = nil // the most that meet the SLO, instead of a fixed number
			run.Out = filepath.Join(o.Out, run.Scenario.Name)
			exp, err := experiment.Execute(ctx, run)
			if exp == nil || err != nil && !errors.Is(err, experiment.ErrUnfit) {
				return all, err
			}
			all = append(all, calibrate.Steps(exp)...)
		}
		return all, nil
	}
}

// Read reads the folder of a ladder, or one of Servers.
func Read(ctx context.Context, dir string) ([]calibration.Foresight, error) {
	exp, err := folder.Open(dir)
	if err != nil {
		all, readErr := calibrate.ReadForeseen(ctx, dir)
		if readErr == nil && len(all) == 0 {
			readErr = fmt.Errorf("%s is neither the record of a ladder nor a folder of calibrate --what-if: %w", dir, err)
		}
		return all, readErr
	}
	if exp.Kind != record.KindLadder {
		return nil, fmt.Errorf("%s is the record of the kind %s; --what-if --judge takes that of a ladder (dyno run), or a folder of calibrate --what-if", dir, exp.Kind)
	}
	return calibrate.Steps(exp), nil
}
