package main

import (
	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/spf13/cobra"
)

func newCapacity() *cobra.Command {
	var (
		c       common
		q       request.Flags
		variant string
		repeats int
	)
	cmd := &cobra.Command{
		Use:   "capacity URL|SCENARIO",
		Short: "Find the highest rate that meets the SLO, with the curve",
		Long: `Capacity drives the target as fast as it can work, and then sends requests at rates near that for a second each: the
highest rate at which 95% of these meet the SLO is the capacity, with its interval. Then it confirms that rate
by a longer run. It takes a minute and a half, --quick half a minute. A scenario's target is started afresh for each
generation, of which there are two or more: each lasts about eight times as long as its start took, at least 20 s.
A service that already runs at a URL is not restarted.`,
		Example: `  dyno capacity http://127.0.0.1:8080/ --slo p99=20ms,errors=0.1%
  dyno capacity scenarios/notify.yaml --variant reuse`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := request.Targets(args)
			if err != nil {
				return err
			}
			if repeats < 0 {
				return usage.Errorf("--repeats takes 1 or more, not %d", repeats)
			}
			sc, only, err := q.Target(record.KindCapacity, args[0], variant)
			switch {
			case err != nil:
				return err
			case repeats > 0 && sc.Load.Traits().Axis == workload.AxisRate:
				return usage.Errorf("--repeats is for jobs and sessions; --budget sets how long a capacity is measured")
			case request.IsURL(args[0]) && !sc.Bounded():
				return usage.Errorf("a capacity is the highest rate that meets an SLO: add --slo p99=20ms,errors=0.1%%")
			}
			return c.execute(cmd.Context(), experiment.Options{Samples: repeats, Scenario: sc, Only: only}, nil)
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	c.registerBudget(cmd)
	q.Register(cmd.Flags())
	cmd.Flags().StringVar(&variant, "variant", "", "the scenario's variant to measure (default: its last)")
	cmd.Flags().IntVar(&repeats, "repeats", 0, "jobs and sessions only: measurements at the best concurrency (default 6, or 1 with --quick)")
	return cmd
}
