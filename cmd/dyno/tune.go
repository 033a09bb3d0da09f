package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/experiment/tuning"
	"dyno/lab/report/progress"
	"dyno/lab/report/tuned"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
)

// tunable are the metrics that dyno tune can improve.
var tunable = []string{compare.MetricWork, compare.MetricCPU, compare.MetricP99}

func newTune() *cobra.Command {
	var (
		c common
		o tuning.Options
	)
	cmd := &cobra.Command{
		Use:   "tune SCENARIO",
		Short: "Search for better settings, and prove the winner against the start",
		Long: `Tune starts the scenario's service with other settings and lets them take turns with its start
configuration: GOGC, GOMEMLIMIT and GOMAXPROCS, a build with the CPU profile of the start (PGO), and what
the service declares (SERVICE assemblies --json). Changes that are not worth it go first, the better half
is measured again, and the best are combined. The winner is then compared with the start on fresh data,
under the SLO: the usual answer is that nothing is worth it.

It tries the settings that change speed and memory only; others, and other implementations of a seam, have
to be named with --only.`,
		Example: `  dyno tune scenarios/notify.yaml
  dyno tune scenarios/orders.yaml --budget 15m --metric cpu
  dyno tune my-service.yaml --only gogc,gomemlimit,pgo`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Experiment.Metric = strings.ToLower(o.Experiment.Metric)
			switch {
			case request.IsURL(args[0]):
				return usage.Errorf("tune takes a scenario file, since it starts the program itself; dyno init writes one")
			case o.Experiment.Metric != "" && !slices.Contains(tunable, o.Experiment.Metric):
				return usage.Errorf("unknown metric %q; tune improves %s", o.Experiment.Metric, strings.Join(tunable, ", "))
			case cmd.Flags().Changed("at") && (o.Experiment.Metric != compare.MetricP99 || !(o.Experiment.Rate > 0 && o.Experiment.Rate <= request.MostPerSecond)):
				return usage.Errorf("--at takes a rate above 0 and up to %.0f per second, and belongs to --metric p99", request.MostPerSecond)
			case c.budget != 0 && c.budget < leastTune:
				return usage.Errorf("--budget takes %v or more, not %v", leastTune, c.budget)
			}
			var err error
			if o.Experiment.Scenario, err = request.Open(args[0]); err != nil {
				return err
			}
			return c.tune(cmd, o)
		},
	}
	c.register(cmd)
	f := cmd.Flags()
	usage.Duration(f, &c.budget, "budget", "", 0, "time limit of search and proof, without building (default 8m)")
	f.StringVar(&o.Experiment.Metric, "metric", "", "what to improve: work (peak work rate; default), cpu (per request) or p99")
	f.StringVar(&o.Variant, "variant", "", "the variant to start from (default: the scenario's last)")
	f.StringSliceVar(&o.Settings, "only", nil, "settings to try: gogc, gomemlimit, gomaxprocs, pgo, or settings and seams of the service")
	usage.Rate(f, &o.Experiment.Rate, "at", "", "with --metric p99: the rate per second (default 0.7 of the capacity)")
	return cmd
}

// leastTune is enough time to measure the start, one group of changes, and the final comparison.
const leastTune = 2 * time.Minute

// asExit gives an error of an invalid experiment its exit code.
func asExit(err error) error {
	if errors.Is(err, experiment.ErrUnfit) {
		return &exit{exitInvalid, err}
	}
	return err
}

// tune carries out a search and prints its result.
func (c *common) tune(cmd *cobra.Command, o tuning.Options) error {
	e := &o.Experiment
	e.Permit, e.NoPMQoS, e.Budget = c.permit, c.noPMQoS, c.budget
	e.Command = append([]string{"dyno"}, os.Args[1:]...)
	e.Out = c.folder(e.Scenario.Name + "-tune")
	view := progress.New(os.Stderr)
	e.Progress = view
	release, err := c.agents.Gather(cmd.Context(), e, agentsVersion())
	if err != nil {
		view.End()
		return err
	}
	defer release()
	found, err := tuning.Run(cmd.Context(), o)
	view.End()
	if fault := new(scenario.Fault); errors.As(err, &fault) {
		return usage.Of(err)
	}
	if cmd.Context().Err() != nil {
		err = errInterrupted
	}
	if found == nil || len(found.Trials) == 0 && err != nil {
		return asExit(err)
	}
	result := tuned.Build(found, e.Out, filepath.Join(e.Out, tuning.ProfileFile))
	if err != nil {
		result.Valid, result.Reason = false, err.Error()
	}
	unwritten := writeFile(filepath.Join(e.Out, tuned.File), result, tuned.JSON)
	show := tuned.Print
	if c.json {
		show = tuned.JSON
	}
	return errors.Join(show(cmd.OutOrStdout(), result), asExit(err), unwritten)
}
