// Command calibrate diagnoses servers whose bound is known, and prints how often the verdict is
// right; or it measures whether estimates of what changes bring hold. It is a tool for those who
// change the diagnosis: package suite runs the servers, calibration judges, confusion prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dyno/bench/calibrate/accuracy"
	"dyno/bench/calibrate/calibration"
	"dyno/bench/calibrate/suite"
	"dyno/bench/command"
	"dyno/bench/stored"
	"dyno/lab/diagnose/rules"
	"dyno/lab/experiment"
	"dyno/lab/report/progress"
)

const usage = `Calibrate runs the servers of subjects/bounds, each bound by a known cause, with parameters drawn from a
seed, through a diagnosis each, and prints the confusion matrix. Each family of servers is judged by
thresholds that were fitted to the other families, so the figure is what to expect of a server that is
not among them. A right verdict that says it is unconfirmed counts as right. It runs in this repository's
root and takes half a minute per server. The families node and python are servers in these languages, seen
from outside; they are skipped where node or python3 is missing.

--what-if measures the estimates instead, the most that a change can bring: for servers, each is diagnosed, a known
part of its bound is taken away by a parameter, and both are compared in turns; for a ladder's scenario, each step is
estimated from the record of the step before. What is off by more than 25% is marked and explained.

Usage: go run ./bench/calibrate [SERVER|FAMILY|SCENARIO]... [flags]

  go run ./bench/calibrate                            every server once, with the agent inside
  go run ./bench/calibrate --repeats 5 --inside agent,pprof
  go run ./bench/calibrate lock mutex-short --seed 7  one family and one server
  go run ./bench/calibrate node python --quick        servers that Go did not build
  go run ./bench/calibrate --judge dyno-out/calibrate-20260102-150405
  go run ./bench/calibrate --what-if mutex-block pool-sql
  go run ./bench/calibrate --what-if scenarios/notify.yaml

`

func main() { command.Main("calibrate", run) }

type options struct {
	suite                                  suite.Options
	judge                                  string
	quick, thorough, whatIf, json, verbose bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	if o.whatIf {
		began := stored.Watch()
		commit, modified, unknown := stored.Tree(ctx)
		all, err := o.predictions(ctx)
		switch {
		case len(all) == 0:
			return err
		case o.json && o.judge != "":
			return accuracy.WhatIfJSON(out, all, stored.Made{}) // the records say where they are from
		case o.json:
			if now, _, again := stored.Tree(ctx); now != commit {
				unknown, modified = errors.Join(unknown, again), true
			}
			made := began.Made(commit, modified, []string{"go", "run", "./bench/calibrate", "--what-if", "--json"}, []string{"dyno/cmd/dyno", "dyno/subjects/bounds"})
			return errors.Join(accuracy.WhatIfJSON(out, all, made), err, unknown)
		}
		accuracy.WhatIf(out, all)
		return err
	}
	cases, err := o.cases(ctx)
	switch {
	case len(cases) == 0:
		return err
	case o.json:
		return errors.Join(accuracy.JSON(out, cases), err)
	}
	accuracy.Print(out, cases, o.verbose)
	return err
}

func parse(args []string, out io.Writer) (o *options, err error) {
	o = &options{}
	f := command.Flags("calibrate", usage, out)
	f.StringVar(&o.suite.Out, "out", "", "folder for the records (default dyno-out/calibrate-TIME)")
	f.BoolVar(&o.json, "json", false, "print one JSON object on stdout")
	f.BoolVar(&o.suite.NoPMQoS, "no-pm-qos", false, "let virtual CPUs halt while measuring; for hosts that count CPU credits")
	f.BoolVar(&o.quick, "quick", false, "shorter measurement with wider intervals")
	f.BoolVar(&o.thorough, "thorough", false, "narrow intervals")
	f.IntVar(&o.suite.Repeats, "repeats", 1, "runs of each server, with other parameters each time")
	f.Uint64Var(&o.suite.Seed, "seed", 1, "seed of the first repeat's parameters; each further repeat uses the next number")
	f.StringSliceVar(&o.suite.Inside, "inside", []string{"agent"}, "interface of the servers for the diagnosis: agent, pprof or none; several separated by commas")
	f.BoolVar(&o.suite.BesideBurn, "beside-burn", false, "run every server beside a process that burns a core")
	f.StringVar(&o.judge, "judge", "", "folder of an earlier calibration, to judge its cases again instead of running any")
	f.BoolVar(&o.whatIf, "what-if", false, "hold the most that changes can bring against what they bring")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print every case with its signals")
	if err := command.Parse(f, args); err != nil {
		return nil, err
	}
	if o.quick && o.thorough {
		return nil, command.Wrong("--quick and --thorough exclude each other")
	}
	var inside []string
	for _, name := range o.suite.Inside {
		if name != "agent" && name != "pprof" && name != "none" {
			return nil, command.Wrong("--inside takes agent, pprof and none, not %q", name)
		}
		if !slices.Contains(inside, name) {
			inside = append(inside, name)
		}
	}
	if len(inside) == 0 {
		return nil, command.Wrong("--inside takes agent, pprof and none")
	}
	if o.suite.Repeats < 1 || o.suite.Repeats > 1000 {
		return nil, command.Wrong("--repeats takes 1 to 1000, not %d", o.suite.Repeats)
	}
	o.suite.Inside, o.suite.Only = inside, f.Args()
	switch {
	case o.quick:
		o.suite.Depth = experiment.Quick
	case o.thorough:
		o.suite.Depth = experiment.Thorough
	}
	if o.suite.Out == "" {
		o.suite.Out = filepath.Join("dyno-out", "calibrate-"+time.Now().Format("20060102-150405"))
	}
	return o, nil
}

// predictions measures what changes bring, or reads what was measured.
func (o *options) predictions(ctx context.Context) ([]calibration.Prediction, error) {
	if o.judge != "" {
		return read(ctx, o.judge)
	}
	view := progress.New(os.Stderr)
	defer view.End()
	o.suite.Say = view.Say
	if len(o.suite.Only) > 0 && isScenario(o.suite.Only[0]) {
		return ladders(ctx, o.suite.Only, o.suite, view)
	}
	return remedies(ctx, o.suite, view)
}

// cases runs the servers, or reads the cases of an earlier calibration.
func (o *options) cases(ctx context.Context) ([]calibration.Case, error) {
	if o.judge != "" {
		return suite.Read(ctx, o.judge)
	}
	view := progress.New(os.Stderr)
	defer view.End()
	o.suite.Say = view.Say
	o.suite.Done = func(n, total int, k calibration.Case) {
		v := calibration.Insider([]calibration.Case{k}, rules.Defaults)[0]
		view.Say(fmt.Sprintf("%s  %d of %d  %-14s %-6s %-22s %s  (%.0f s)", view.Elapsed(), n, total, k.Server, k.Inside, accuracy.Verdict(v), v.Outcome, k.Seconds))
	}
	return suite.Run(ctx, o.suite)
}
