package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
)

// metrics are the figures that can be compared.
var metrics = []string{compare.MetricCapacity, compare.MetricWork, compare.MetricCPU, compare.MetricP99}

func newCompare() *cobra.Command {
	var (
		c            common
		q            requestFlags
		a, b         string
		metric, gate string
		pairs        int
		at           float64
	)
	cmd := &cobra.Command{
		Use:   "compare SCENARIO|DIR [--a VARIANT --b VARIANT] | compare URL_A URL_B",
		Short: "Measure two variants in turns, and give their ratio with its interval",
		Long: `Compare runs A and B side by side and lets them take turns of some tenths of a second: their work rates, the CPU
of a request, and their capacities under the SLO, as ratios with intervals, beside the ratio of A to
its own twin on this machine. It ends as soon as everything is decided, after four minutes at most (--budget).
Two URLs compare services that already run. With a DIR it compares two variants of an earlier experiment.

--gate sets the exit code for CI: the whole interval must be on the right side, else 3.`,
		Example: `  dyno compare scenarios/notify.yaml --a baseline --b batch
  dyno compare scenarios/notify.yaml --a baseline --b reuse --gate 'capacity>=0.97'
  dyno compare http://127.0.0.1:8080/ http://127.0.0.1:8081/ --slo p99=20ms --metric p99 --pairs 10`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if metric != "" && !slices.Contains(metrics, metric) {
				return usage("unknown metric %q; the metrics are %s", metric, strings.Join(metrics, ", "))
			}
			var condition *compare.Gate
			if gate != "" {
				g, err := compare.ParseGate(gate)
				if err != nil {
					return &exit{exitUsage, err}
				}
				if cmd.Flags().Changed("metric") && g.Metric != metric {
					return usage("the gate tests %s, but --metric is %s", g.Metric, metric)
				}
				metric, condition = g.Metric, &g
			}
			switch {
			case pairs < 0:
				return usage("--pairs takes 1 or more, not %d", pairs)
			case cmd.Flags().Changed("at") && !(at > 0 && at <= mostPerSecond):
				return usage("--at takes a rate above 0 and up to %.0f per second, not %g", mostPerSecond, at)
			case isTarget(args[0]) && (a != "" || b != ""):
				return usage("--a and --b name variants of a scenario; of two URLs the first is A")
			}
			judge := func(rep *report.Report) error { return judgeComparison(rep, condition) }
			if isFolder(args[0]) && len(args) == 1 {
				return compareRecorded(&c, args[0], metric, a, b, judge)
			}
			o := experiment.Options{Metric: metric, Rounds: pairs, Rate: at}
			var err error
			if isTarget(args[0]) {
				o.Scenario, err = q.pair(args)
			} else {
				o.Scenario, o.Only, err = q.variants(cmd, args, a, b)
			}
			if err != nil {
				return err
			}
			switch {
			case o.Metric == "" && at > 0:
				o.Metric = compare.MetricP99
			case o.Metric == "" && o.Scenario.ByConcurrency():
				o.Metric = compare.MetricCapacity
			case o.Metric == "":
				o.Metric = compare.MetricWork
			case !o.Scenario.ByConcurrency() && len(o.Scenario.SLO.Latency)+len(o.Scenario.SLO.Gauges) == 0 && at == 0 && (metric == compare.MetricCapacity || metric == compare.MetricP99):
				return usage("a comparison by %s needs --slo p99=20ms,errors=0.1%%, or --at RATE to compare at one rate", metric)
			}
			return c.execute(cmd.Context(), o, judge)
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	c.registerBudget(cmd)
	q.register(cmd)
	f := cmd.Flags()
	f.StringVar(&a, "a", "", "the variant to compare against (default: the scenario's first)")
	f.StringVar(&b, "b", "", "the variant that may be better (default: the scenario's last)")
	f.StringVar(&metric, "metric", "", "metric of the comparison: work (peak work rate; default), cpu (per request), capacity or p99")
	f.StringVar(&gate, "gate", "", "condition on the ratio B/A, as in 'capacity>=0.97'")
	f.IntVar(&pairs, "pairs", 0, "samples per side after which to stop (4 give an interval; jobs: rounds, default 6)")
	f.Float64Var(&at, "at", 0, "one rate per second at which to compare p99 and CPU")
	return cmd
}

// pair makes a scenario from two URLs.
func (q *requestFlags) pair(args []string) (*scenario.Scenario, error) {
	if len(args) != 2 || !isTarget(args[1]) {
		return nil, usage("compare needs two URLs, or one scenario")
	}
	sc, err := q.scenario(record.KindCompare, args[0])
	if err != nil {
		return nil, err
	}
	sc.Name += " and " + titleOf(args[1])
	sc.Variants = []scenario.Variant{{Name: "A", Change: args[0], URL: args[0]}, {Name: "B", Change: args[1], URL: args[1]}}
	return sc, nil
}

// variants reads a scenario and the names of the two variants to compare.
func (q *requestFlags) variants(cmd *cobra.Command, args []string, a, b string) (*scenario.Scenario, []string, error) {
	if len(args) != 1 {
		return nil, nil, usage("comparing the variants of a scenario takes one file, not %d arguments", len(args))
	}
	sc, err := readScenario(args[0])
	if err != nil {
		return nil, nil, err
	}
	if err := q.override(cmd, sc); err != nil {
		return nil, nil, err
	}
	if len(sc.Variants) == 0 {
		return nil, nil, usage("%s declares no variants to compare", args[0])
	}
	sc.Mode = record.KindCompare
	if a == "" {
		a = sc.Variants[0].Name
	}
	if b == "" {
		b = sc.Variants[len(sc.Variants)-1].Name
	}
	if a == b {
		return nil, nil, usage("A and B are both %q: name two different variants with --a and --b", a)
	}
	for _, name := range []string{a, b} {
		if _, err := sc.Variant(name); err != nil {
			return nil, nil, &exit{exitUsage, err}
		}
	}
	return sc, []string{a, b}, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// compareRecorded compares two variants of an earlier experiment.
func compareRecorded(c *common, dir, metric, a, b string, judge func(*report.Report) error) error {
	exp, err := record.Open(dir)
	if err != nil {
		return err
	}
	if len(exp.Variants) < 2 {
		return usage("%s holds one variant; there is nothing to compare", dir)
	}
	if a == "" {
		a = exp.Variants[0].Name
	}
	if b == "" {
		b = exp.Variants[len(exp.Variants)-1].Name
	}
	if a == b {
		return usage("A and B are both %q: name two different variants with --a and --b", a)
	}
	var sides []record.Variant
	for _, name := range []string{a, b} {
		v, ok := exp.Variant(name)
		if !ok {
			return usage("%s has no variant %q", dir, name)
		}
		sides = append(sides, v)
	}
	if metric == "" {
		metric = compare.MetricCapacity
		if len(exp.Slices) > 0 {
			metric = compare.MetricWork
		}
	}
	exp.Kind, exp.Metric, exp.Variants = record.KindCompare, metric, sides
	rep := report.Build(exp)
	if err := c.print(rep); err != nil {
		return err
	}
	return judge(rep)
}

// judgeComparison turns a comparison into the exit code.
func judgeComparison(rep *report.Report, gate *compare.Gate) error {
	cmp := rep.Comparison
	switch {
	case cmp == nil:
		return errors.New("the experiment contains no comparison")
	case gate == nil:
		return nil
	}
	outcome := gate.Judge(*cmp)
	fmt.Fprintln(os.Stderr, outcome.InWords)
	if outcome.Verdict != compare.Pass {
		return &exit{code: exitMissed}
	}
	return nil
}
