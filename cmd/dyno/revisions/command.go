package revisions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/report"
	"dyno/lab/revision"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
)

// Lab holds what the bisect command needs of the measuring commands.
type Lab struct {
	Execute func(ctx context.Context, o experiment.Options) (*report.Report, error)
	Folder  func(name string) string // returns the folder for the records of all measurements
	JSON    *bool
	Say     func(text string)
}

// ErrNotFound is returned by the command if it has not found a single first bad commit. The
// command has printed the reason.
var ErrNotFound = errors.New("no single commit was found")

// NewBisect returns the command dyno bisect.
func NewBisect(lab Lab) *cobra.Command {
	var (
		q               request.Flags
		program         request.Program
		good, bad, gate string
	)
	cmd := &cobra.Command{
		Use:   "bisect PACKAGE|SCENARIO --good REVISION [--bad REVISION] --gate CONDITION",
		Short: "Find the first commit that misses a gate",
		Long: `Bisect builds commits between a good and a bad revision, compares each in turns with the good one, and finds by halves
the first that misses the gate. It follows first parents. A commit that does not build is skipped; one whose interval
contains the bound is not decided, and never guessed: the answer then lists every commit that may be the first.
Commits that build the same program are measured once. --budget and --quick count for each measurement.`,
		Example: `  dyno bisect ./cmd/server --good v1.4.0 --bad HEAD --gate 'capacity>=0.95' --slo p99=20ms --args '-addr 127.0.0.1:0'
  dyno bisect scenarios/notify.yaml --good HEAD~20 --gate 'cpu<=1.1' --budget 2m`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if good == "" || gate == "" {
				return usage.Errorf("bisect needs --good REVISION and --gate CONDITION, as in --good HEAD~20 --gate 'work>=0.95'")
			}
			condition, err := compare.ParseGate(gate)
			if err != nil {
				return usage.Of(err)
			}
			start, err := q.Start(cmd.Context(), &program, args[0])
			if err != nil {
				return err
			}
			if m := condition.Metric; (m == compare.MetricCapacity || m == compare.MetricP99) && !start.Scenario.Bounded() {
				return usage.Errorf("a gate on %s needs --slo p99=20ms,errors=0.1%%", m)
			}
			source, err := Open(cmd.Context(), start, lab.Say)
			if err != nil {
				return err
			}
			defer source.Close()
			folder := lab.Folder("bisect-" + start.Scenario.Name)
			found, err := source.Find(cmd.Context(), good, cmp.Or(bad, "HEAD"), condition, lab.measure(condition.Metric, folder))
			if err != nil {
				return err
			}
			unwritten := found.keep(folder)
			if *lab.JSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(found)
			} else {
				err = found.print(cmd.OutOrStdout())
			}
			if err = errors.Join(err, unwritten); err == nil && found.First == nil {
				err = ErrNotFound
			}
			return err
		},
	}
	q.Register(cmd.Flags())
	program.Register(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&good, "good", "", "a revision that is fast enough: every other is compared with it")
	f.StringVar(&bad, "bad", "", "a later revision that misses the gate (default HEAD)")
	f.StringVar(&gate, "gate", "", "condition on the ratio to the good revision, as in 'capacity>=0.95'")
	return cmd
}

// measure returns a Measure that puts each measurement into a folder of its own.
func (lab Lab) measure(metric, folder string) Measure {
	return func(ctx context.Context, sc *scenario.Scenario, n int) (*compare.Comparison, string, error) {
		out := filepath.Join(folder, fmt.Sprintf("%02d", n))
		rep, err := lab.Execute(ctx, experiment.Options{Scenario: sc, Metric: metric, Out: out})
		if err != nil {
			return nil, out, err
		}
		if rep.Comparison == nil {
			return nil, out, errors.New("the experiment contains no comparison")
		}
		return rep.Comparison, out, nil
	}
}

// print prints a table of the commits that were tried, and the answer.
func (f *Found) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "commit\tverdict\tratio\t95%\tsubject")
	fmt.Fprintf(t, "%s\t%s\t\t\t\n", f.Good, "good (given)")
	for _, c := range f.Tried {
		ratio, between := "", ""
		if c.Ratio > 0 {
			ratio = fmt.Sprintf("%.3f", c.Ratio)
		}
		if c.Interval != nil {
			between = fmt.Sprintf("[%.3f, %.3f]", c.Interval[0], c.Interval[1])
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", revision.Revision{Hash: c.Hash}.Short(), c.State, ratio, between, c.Subject)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n(%d of %d commits tried)\n", f.Answer, len(f.Tried), f.Commits)
	return err
}
