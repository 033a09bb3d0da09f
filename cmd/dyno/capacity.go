package main

import (
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
)

const repeatsAreOfJobs = "--repeats is for jobs; --budget sets how long a capacity is measured"

func newCapacity() *cobra.Command {
	var (
		c       common
		q       requestFlags
		variant string
		repeats int
	)
	cmd := &cobra.Command{
		Use:   "capacity URL|SCENARIO",
		Short: "Find the highest rate that meets the SLO, with the curve",
		Long: `Capacity drives the target as fast as it can work, and then offers rates near that for a second each: the
highest rate at which 95% of these meet the SLO is the capacity, with its interval. Then it holds that rate
for longer. It takes a minute and a half, --quick half a minute. A scenario's target is started afresh for each
generation, of which there are two or more: each lasts about eight times as long as its start took, at least 20 s.
A service that already runs at a URL is not restarted.`,
		Example: `  dyno capacity http://127.0.0.1:8080/ --slo p99=20ms,errors=0.1%
  dyno capacity scenarios/notify.yaml --variant reuse`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if repeats < 0 {
				return usage("--repeats takes 1 or more, not %d", repeats)
			}
			o := experiment.Options{Rounds: repeats}
			if isTarget(args[0]) {
				switch {
				case variant != "":
					return usage("--variant belongs to a scenario; a URL has none")
				case repeats > 0:
					return usage("%s", repeatsAreOfJobs)
				}
				sc, err := q.scenario(record.KindCapacity, args[0])
				if err != nil {
					return err
				}
				if len(sc.SLO.Latency)+len(sc.SLO.Gauges) == 0 {
					return usage("a capacity is the highest rate that meets an SLO: add --slo p99=20ms,errors=0.1%%")
				}
				o.Scenario = sc
				return c.execute(cmd.Context(), o, nil)
			}
			var err error
			if o.Scenario, o.Only, err = q.oneVariant(cmd, args[0], variant); err != nil {
				return err
			}
			if repeats > 0 && !o.Scenario.ByConcurrency() {
				return usage("%s", repeatsAreOfJobs)
			}
			o.Scenario.Mode = record.KindCapacity
			return c.execute(cmd.Context(), o, nil)
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	c.registerBudget(cmd)
	q.register(cmd)
	cmd.Flags().StringVar(&variant, "variant", "", "the scenario's variant to measure (default: its last)")
	cmd.Flags().IntVar(&repeats, "repeats", 0, "jobs only: measurements at the best concurrency (default 6, or 1 with --quick)")
	return cmd
}

// override makes given flags replace the scenario's values.
func (q *requestFlags) override(cmd *cobra.Command, sc *scenario.Scenario) error {
	f := cmd.Flags()
	for _, name := range []string{"method", "header", "body", "insecure", "http2", "debug"} {
		if f.Changed(name) {
			return usage("--%s belongs to a URL; for a scenario, change its file", name)
		}
	}
	if f.Changed("connections") {
		sc.Load.Connections = q.connections
	}
	if f.Changed("engine") {
		sc.Load.Engine = q.engine
	}
	if f.Changed("timeout") {
		sc.Load.Timeout = q.timeout
	}
	if f.Changed("max-rate") {
		sc.Load.MaxRate = q.maxRate
	}
	if f.Changed("pipeline") {
		sc.Load.Pipeline = q.pipeline
	}
	if f.Changed("slo") {
		slo, err := record.ParseSLO(q.slo)
		if err != nil {
			return &exit{exitUsage, err}
		}
		sc.SLO = slo
	}
	return nil
}
