package main

import (
	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/experiment"

	"github.com/spf13/cobra"
)

func newRun() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Start a service, climb its ladder, find each step's capacity, and write a report",
		Long: `Run starts every variant of the scenario's service side by side and gives them turns of some tenths of a
second: the work rate of each, its CPU per request, and the rate that it carries under the SLO, with intervals.
Then it profiles each, and writes report.html.

It takes four minutes once everything is built, --quick two, --thorough twenty (and leaves each step out once);
--budget sets another limit. It ends early when everything is decided.`,
		Example: `  dyno run scenarios/notify.yaml
  dyno run --quick --json scenarios/notify.yaml | jq '.steps[] | {name, capacity_per_s}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if request.IsURL(args[0]) {
				return usage.Errorf("run takes a scenario file; for a URL use dyno load or dyno capacity")
			}
			sc, err := request.Open(args[0])
			if err != nil {
				return err
			}
			return c.execute(cmd.Context(), experiment.Options{Scenario: sc}, nil)
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	c.registerBudget(cmd)
	return cmd
}
