package main

import (
	"context"

	"dyno/cmd/dyno/revisions"
	"dyno/lab/experiment"
	"dyno/lab/report"

	"github.com/spf13/cobra"
)

func newBisect() *cobra.Command {
	var c common
	cmd := revisions.NewBisect(revisions.Lab{Folder: c.folder, JSON: &c.json, Say: c.say,
		Execute: func(ctx context.Context, o experiment.Options) (*report.Report, error) {
			exp, rep, err := c.measure(ctx, o)
			if err != nil {
				return rep, err
			}
			if ended := outcome(exp.Ended()); ended != nil {
				return rep, ended
			}
			return rep, nil
		}})
	c.register(cmd)
	c.registerDepth(cmd)
	c.registerBudget(cmd)
	return cmd
}
