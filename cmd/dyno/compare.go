package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/revisions"
	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/report"
	"dyno/lab/revision"
	"dyno/lab/workload"

	"github.com/spf13/cobra"
)

// metrics are the metrics by which variants can be compared.
var metrics = []string{compare.MetricCapacity, compare.MetricWork, compare.MetricCPU, compare.MetricP99}

func newCompare() *cobra.Command {
	var (
		c            common
		q            request.Flags
		program      request.Program
		files        verdictFiles
		sides        *[2]revision.Revision // nil: no revisions are compared
		a, b         string
		metric, gate string
		pairs        int
		at           float64
	)
	cmd := &cobra.Command{
		Use:   "compare PACKAGE|SCENARIO [--a REVISION --b REVISION] | compare SCENARIO|DIR [--a VARIANT --b VARIANT] | compare URL_A URL_B",
		Short: "Measure two revisions or variants in turns, and give their ratio with its interval",
		Long: `Compare runs A and B side by side and lets them take turns of some tenths of a second: their work rates, the CPU
of a request, and their capacities under the SLO, as ratios with intervals, with the ratio of A to
a second process of A on this machine. It ends as soon as everything is decided, after four minutes at most (--budget).
Two URLs compare services that already run. With a DIR it compares two variants of an earlier experiment.

PACKAGE is the folder of a Go program in a git repository. Compare builds it at both revisions in temporary folders
(default: HEAD against the folder as it is now, which is called .), starts both, finds the port at which each listens,
and names the functions whose CPU or allocations per request changed. A program with a fixed port is started for each turn.

--gate sets the exit code for CI: the whole interval must be on the right side, else 3. Intervals of work rate and CPU
include the noise floor: by how much two processes of A differ on this machine.`,
		Example: `  dyno compare ./cmd/server --a main --b HEAD --args '-addr 127.0.0.1:0' --slo p99=20ms --gate 'capacity>=0.97'
  dyno compare scenarios/notify.yaml --a main --b .
  dyno compare scenarios/notify.yaml --a baseline --b batch
  dyno compare scenarios/notify.yaml --a baseline --b reuse --gate 'capacity>=0.97'
  dyno compare http://127.0.0.1:8080/ http://127.0.0.1:8081/ --slo p99=20ms --metric p99 --pairs 10`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := request.Targets(args)
			if err != nil {
				return err
			}
			if metric = strings.ToLower(metric); metric != "" && !slices.Contains(metrics, metric) {
				return usage.Errorf("unknown metric %q; %s", metric, compare.Suggest(metric))
			}
			var condition *compare.Gate
			if gate != "" {
				g, err := compare.ParseGate(gate)
				if err != nil {
					return usage.Of(err)
				}
				if cmd.Flags().Changed("metric") && g.Metric != metric {
					return usage.Errorf("the gate tests %s, but --metric is %s", g.Metric, metric)
				}
				metric, condition = g.Metric, &g
			}
			switch {
			case pairs < 0:
				return usage.Errorf("--pairs takes 1 or more, not %d", pairs)
			case cmd.Flags().Changed("at") && !(at > 0 && at <= request.MostPerSecond):
				return usage.Errorf("--at takes a rate above 0 and up to %.0f per second, not %g", request.MostPerSecond, at)
			case request.IsURL(args[0]) && (a != "" || b != ""):
				return usage.Errorf("--a and --b name variants of a scenario; of two URLs the first is A")
			case len(args) == 1 && !request.IsURL(args[0]) && !exists(args[0]):
				return usage.Errorf("there is no %s: name a scenario, the folder of an earlier run, or that of a Go package in a git repository", args[0])
			}
			if err := files.Check(); err != nil {
				return err
			}
			written := false
			write := func(rep *report.Report, outcome *compare.Outcome) error {
				written = true
				return files.Write(verdict{Experiment: c.exp, Report: rep, Gate: outcome, Sides: sides})
			}
			judge := func(rep *report.Report) error {
				outcome, err := checkGate(cmd.ErrOrStderr(), rep, condition)
				return cmp.Or(write(rep, outcome), err)
			}
			built := len(args) == 1 && revisions.Wanted(args[0], a, b)
			if err := program.Unused(); err != nil && !built {
				return err
			}
			if !built && isFolder(args[0]) && len(args) == 1 {
				if c.exp, err = request.Recorded(cmd.Context(), args[0], metric, a, b); err != nil {
					return err
				}
				rep := report.Build(c.exp)
				return cmp.Or(c.print(rep), judge(rep))
			}
			o := experiment.Options{Metric: metric, Samples: pairs, Rate: at}
			var start *request.Start
			switch {
			case built:
				if start, err = q.Start(cmd.Context(), &program, args[0]); err == nil {
					o.Scenario = start.Scenario
				}
			case request.IsURL(args[0]):
				o.Scenario, err = q.TwoURLs(args)
			default:
				o.Scenario, o.Only, err = q.TwoVariants(args, a, b)
			}
			if err != nil {
				return err
			}
			switch {
			case o.Metric == "" && at > 0:
				o.Metric = compare.MetricP99
			case o.Metric == "" && o.Scenario.Load.Traits().Axis != workload.AxisRate:
				o.Metric = compare.MetricCapacity
			case o.Metric == "":
				o.Metric = compare.MetricWork
			case o.Scenario.Load.Traits().Axis == workload.AxisRate && !o.Scenario.Bounded() && at == 0 && (metric == compare.MetricCapacity || metric == compare.MetricP99):
				return usage.Errorf("a comparison by %s needs --slo p99=20ms,errors=0.1%%, or --at RATE to compare at one rate", metric)
			}
			if built {
				source, err := revisions.Open(cmd.Context(), start, c.say)
				if err != nil {
					return err
				}
				defer source.Close()
				pair, err := source.Pair(cmd.Context(), a, b)
				if err != nil {
					return err
				}
				sides = &[2]revision.Revision{pair.A.Revision, pair.B.Revision}
				if pair.Same() {
					return c.same(pair, o.Metric, judge)
				}
				o.Scenario, o.Profiled, o.Revisions = pair.Scenario, true, []string{pair.A.Revision.Hash, pair.B.Revision.Hash}
			}
			err = c.execute(cmd.Context(), o, judge)
			if c.exp != nil && !written { // the experiment ended without a result
				err = cmp.Or(write(report.Build(c.exp), nil), err)
			}
			return err
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	c.registerBudget(cmd)
	q.Register(cmd.Flags())
	program.Register(cmd.Flags())
	files.Register(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&a, "a", "", "the variant or revision to compare against (default: the scenario's first variant; HEAD)")
	f.StringVar(&b, "b", "", "the variant or revision that may be better (default: the scenario's last variant; . for the folder as it is)")
	f.StringVar(&metric, "metric", "", "metric of the comparison: work (peak work rate; default), cpu (per request), capacity or p99")
	f.StringVar(&gate, "gate", "", "condition on the ratio B/A, as in 'capacity>=0.97'")
	f.IntVar(&pairs, "pairs", 0, "samples per side after which to stop (4 give an interval; jobs: rounds, default 6)")
	usage.Rate(f, &at, "at", "", "one rate per second at which to compare p99 and CPU")
	return cmd
}

// say reports progress before an experiment.
func (c *common) say(text string) { fmt.Fprintln(c.cmd.ErrOrStderr(), text) }

// same prints the result for two revisions that build the same program, which need no
// measurement.
func (c *common) same(pair revisions.Pair, metric string, judge func(*report.Report) error) error {
	rep := pair.Report(metric)
	var err error
	if c.json {
		err = c.print(rep)
	} else {
		_, err = fmt.Fprintln(c.cmd.OutOrStdout(), rep.Answer)
	}
	return cmp.Or(err, judge(rep))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
