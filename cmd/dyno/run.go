package main

import (
	"dyno/lab/experiment"

	"github.com/spf13/cobra"
)

func newRun() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Start a service, climb its ladder, find each step's capacity, and write a report",
		Long: `Run starts the scenario's service and what stands beside it, finds the capacity of every variant under
the SLO, measures them again in rotated rounds of fresh processes, and writes report.html.

--quick takes about two minutes for scenarios/notify.yaml and gives no intervals; the default takes about
six minutes; --thorough takes what it needs and leaves each step out once.`,
		Example: `  dyno run scenarios/notify.yaml
  dyno run --quick --json scenarios/notify.yaml | jq '.steps[] | {name, capacity_per_s}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isTarget(args[0]) {
				return usage("run takes a scenario file; for a URL there are dyno load and dyno capacity")
			}
			sc, err := readScenario(args[0])
			if err != nil {
				return err
			}
			return c.execute(cmd.Context(), experiment.Options{Scenario: sc}, nil)
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	return cmd
}
