package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"dyno/cmd/dyno/foresee"
	"dyno/cmd/dyno/usage"
	"dyno/lab/diagnose/calibration"
	"dyno/lab/diagnose/rules"
	"dyno/lab/experiment/calibrate"
	"dyno/lab/report/confusion"
	"dyno/lab/report/progress"

	"github.com/spf13/cobra"
)

func newCalibrate() *cobra.Command {
	var (
		c       common
		o       calibrate.Options
		inside  string
		again   string
		verbose bool
		whatIf  bool
	)
	cmd := &cobra.Command{
		Use:   "calibrate [SERVER|FAMILY|SCENARIO]...",
		Short: "Diagnose servers whose bound is known, and print how often the verdict is right",
		Long: `Calibrate runs the servers of subjects/bounds, each bound by a known cause, with parameters drawn from a
seed, through a diagnosis each, and prints the confusion matrix. Each family of servers is judged by
thresholds that were fitted to the other families, so the figure is what to expect of a server that is
not among them. A right verdict that says it is unconfirmed counts as right. It needs this repository's source, and half
a minute per server. The families node and python are servers in these languages, seen from outside; they are skipped
where node or python3 is missing.

--what-if measures the estimates instead, the most that a change can bring: for servers, each is diagnosed, a known
part of its bound is taken away by a parameter, and both are compared in turns; for a ladder's scenario, each step is
reckoned from the record of the step before. What is off by more than 25% is marked and explained.`,
		Example: `  dyno calibrate                              every server once, with the agent inside
  dyno calibrate --repeats 5 --inside agent,pprof
  dyno calibrate lock mutex-short --seed 7    one family and one server
  dyno calibrate node python --quick          servers that Go did not build
  dyno calibrate --judge dyno-out/calibrate-20260102-150405
  dyno calibrate --what-if mutex-block pool-sql
  dyno calibrate --what-if scenarios/notify.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Only, o.Depth, o.NoPMQoS = args, c.depth(), c.noPMQoS
			for _, name := range strings.Split(inside, ",") {
				if name != "agent" && name != "pprof" && name != "none" {
					return usage.Errorf("--inside takes agent, pprof and none, not %q", name)
				}
				if !slices.Contains(o.Inside, name) {
					o.Inside = append(o.Inside, name)
				}
			}
			if o.Repeats < 1 || o.Repeats > 1000 {
				return usage.Errorf("--repeats takes 1 to 1000, not %d", o.Repeats)
			}
			show := func(cases []calibration.Case) error {
				if c.json {
					return confusion.JSON(cmd.OutOrStdout(), cases)
				}
				confusion.Print(cmd.OutOrStdout(), cases, verbose)
				return nil
			}
			foreseen := func(all []calibration.Foresight, err error) error {
				switch {
				case len(all) == 0:
					return err
				case c.json:
					return errors.Join(confusion.ForesightJSON(cmd.OutOrStdout(), all), err)
				}
				confusion.Foresight(cmd.OutOrStdout(), all)
				return err
			}
			if whatIf && again != "" {
				return foreseen(foresee.Read(cmd.Context(), again))
			}
			if again != "" {
				cases, err := calibrate.Read(cmd.Context(), again)
				if err != nil {
					return err
				}
				return show(cases)
			}
			if c.out == "" {
				c.out = c.folder("calibrate")
			}
			o.Out = c.out
			view := progress.New(os.Stderr)
			o.Say = view.Say
			if whatIf {
				measure := foresee.Servers
				if len(args) > 0 && foresee.Scenario(args[0]) {
					measure = foresee.Ladders(args, c.permit)
				}
				all, err := measure(cmd.Context(), o, view)
				view.End()
				return foreseen(all, err)
			}
			o.Done = func(n, total int, k calibration.Case) {
				v := calibration.Insider([]calibration.Case{k}, rules.Defaults)[0]
				view.Say(fmt.Sprintf("%s  %d of %d  %-14s %-6s %-22s %s  (%.0f s)", view.Elapsed(), n, total, k.Server, k.Inside, confusion.Verdict(v), v.Outcome, k.Seconds))
			}
			cases, err := calibrate.Run(cmd.Context(), o)
			view.End()
			if errors.Is(err, calibrate.ErrNoServer) {
				return usage.Of(err)
			}
			if len(cases) == 0 {
				return err
			}
			if showErr := show(cases); err == nil {
				err = showErr
			}
			return err
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	f := cmd.Flags()
	f.IntVar(&o.Repeats, "repeats", 1, "runs of each server, with other parameters each time")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the first repeat's parameters; each further repeat uses the next number")
	f.StringVar(&inside, "inside", "agent", "interface of the servers for the diagnosis: agent, pprof or none; several separated by commas")
	f.BoolVar(&o.BesideBurn, "beside-burn", false, "run every server beside a process that burns a core")
	f.StringVar(&again, "judge", "", "folder of an earlier calibration, to judge its cases again instead of running any")
	f.BoolVar(&whatIf, "what-if", false, "hold the most that changes can bring against what they bring")
	f.BoolVarP(&verbose, "verbose", "v", false, "print every case with its signals")
	return cmd
}
