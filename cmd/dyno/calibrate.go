package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/calibration"
	"dyno/lab/experiment/calibrate"

	"github.com/spf13/cobra"
)

func newCalibrate() *cobra.Command {
	var (
		c       common
		o       calibrate.Options
		inside  string
		again   string
		verbose bool
	)
	cmd := &cobra.Command{
		Use:   "calibrate [SERVER|FAMILY]...",
		Short: "Diagnose servers whose bound is known, and print how often the verdict is right",
		Long: `Calibrate runs the servers of subjects/bounds, each bound by a known cause, with parameters drawn from a
seed, through a diagnosis each, and prints the confusion matrix. Each family of servers is judged by
thresholds that were fitted to the other families, so the figure is what to expect of a server that is
not among them. A right verdict that says it is unconfirmed counts as right. It needs this repository's source, and half a minute per server.`,
		Example: `  dyno calibrate                              every server once, with the agent inside
  dyno calibrate --repeats 5 --inside agent,pprof
  dyno calibrate lock mutex-short --seed 7    one family and one server
  dyno calibrate --judge dyno-out/calibrate-20260102-150405`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Only, o.Depth, o.NoPMQoS = args, c.depth(), c.noPMQoS
			for _, name := range strings.Split(inside, ",") {
				if name != "agent" && name != "pprof" && name != "none" {
					return usage("--inside takes agent, pprof and none, not %q", name)
				}
				if !slices.Contains(o.Inside, name) {
					o.Inside = append(o.Inside, name)
				}
			}
			if o.Repeats < 1 || o.Repeats > 1000 {
				return usage("--repeats takes 1 to 1000, not %d", o.Repeats)
			}
			if again != "" {
				cases, err := calibrate.Read(cmd.Context(), again)
				if err != nil {
					return err
				}
				return c.judged(cmd.OutOrStdout(), cases, verbose)
			}
			if c.out == "" {
				c.out = c.folder("calibrate")
			}
			o.Out = c.out
			view := newProgress(os.Stderr)
			o.Say = view.Say
			o.Done = func(n, total int, k calibration.Case) {
				v := calibration.Insider([]calibration.Case{k}, diagnose.Defaults)[0]
				view.Say(fmt.Sprintf("%s  %d of %d  %-14s %-6s %-22s %s  (%.0f s)", view.elapsed(), n, total, k.Server, k.Inside, verdict(v), v.Outcome, k.Seconds))
			}
			cases, err := calibrate.Run(cmd.Context(), o)
			view.end()
			if errors.Is(err, calibrate.ErrNoServer) {
				return &exit{exitUsage, err}
			}
			if len(cases) == 0 {
				return err
			}
			if showErr := c.judged(cmd.OutOrStdout(), cases, verbose); err == nil {
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
	f.BoolVarP(&verbose, "verbose", "v", false, "print every case with its signals")
	return cmd
}

// verdict returns the verdict on a case in a word or two.
func verdict(j calibration.Judged) string {
	if j.Verdict.Confirmed || j.Verdict.Bound == diagnose.Unknown {
		return string(j.Verdict.Bound)
	}
	return string(j.Verdict.Bound) + " (unconfirmed)"
}

// judged prints the results of the cases.
func (c *common) judged(w io.Writer, cases []calibration.Case, verbose bool) error {
	outside := calibration.Outsider(cases, diagnose.Defaults)
	inside := calibration.Insider(cases, diagnose.Defaults)
	if c.json {
		return json.NewEncoder(w).Encode(calibrationJSON(cases, outside, inside))
	}
	if verbose {
		printCases(w, inside)
	}
	fmt.Fprintln(w, "Verdicts by thresholds that were fitted to the other families (rows: the truth)")
	printMatrix(w, calibration.Confusion(outside))
	for _, j := range outside {
		if j.Outcome != calibration.Right {
			fmt.Fprintf(w, "%s: %s with %s inside (seed %d) is bound by %s, the verdict was %s\n", j.Outcome, j.Server, j.Inside, j.Seed, j.Truth[0], verdict(j))
		}
	}
	printTally(w, "leaving one family out", outside)
	printTally(w, "by the thresholds in use", inside)
	fmt.Fprintln(w, "\nRoom of the thresholds")
	printRooms(w, calibration.Rooms(cases, diagnose.Defaults))
	return nil
}

func printMatrix(w io.Writer, m calibration.Matrix) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, v := range m.Verdicts {
		fmt.Fprintf(t, "%s\t", v)
	}
	fmt.Fprintln(t)
	for _, truth := range m.Truths {
		fmt.Fprintf(t, "%s\t", truth)
		for _, v := range m.Verdicts {
			if n := m.Counts[truth][v]; n > 0 {
				fmt.Fprintf(t, "%d\t", n)
			} else {
				fmt.Fprint(t, ".\t")
			}
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func printTally(w io.Writer, name string, judged []calibration.Judged) {
	tally, placed, places, longest := calibration.Tally(judged), 0, 0, 0.0
	for _, j := range judged {
		longest = max(longest, j.Seconds)
		if j.Outcome == calibration.Right && j.Function != "" && !j.Hidden {
			places++
			if j.Placed {
				placed++
			}
		}
	}
	n := len(judged)
	fmt.Fprintf(w, "%s: %d of %d right (%.0f%%; %d of them unconfirmed), %d unknown, %d wrong; the function that is the cause was named in %d of %d",
		name, tally[calibration.Right], n, 100*float64(tally[calibration.Right])/float64(max(n, 1)), calibration.Unconfirmed(judged), tally[calibration.Unknown], tally[calibration.Wrong], placed, places)
	if longest > 0 {
		fmt.Fprintf(w, "; the longest verdict took %.0f s", longest)
	}
	fmt.Fprintln(w)
}

func printRooms(w io.Writer, rooms map[string]calibration.Room) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "threshold\tin use\tmust be above\tby\tand at most\tby")
	for _, name := range calibration.Names(rooms) {
		r := rooms[name]
		fmt.Fprintf(t, "%s\t%.2g\t%.2g\t%s\t%.2g\t%s\n", name, diagnose.Defaults[name].Value, r.Low, r.LowBy, r.High, r.HighBy)
	}
	t.Flush()
}

func printCases(w io.Writer, judged []calibration.Judged) {
	for _, j := range judged {
		fmt.Fprintf(w, "%s %s %d: %s (truth %v) %s placed=%v %.0fs\n  %s\n", j.Server, j.Inside, j.Seed, j.Verdict.Bound, j.Truth, j.Outcome, j.Placed, j.Seconds, j.Verdict.InWords)
		for _, e := range j.Verdict.Evidence {
			fmt.Fprintf(w, "    %-16s %8.3g  %s\n", e.Signal, e.Value, e.Means)
		}
		for _, i := range j.Verdict.Interventions {
			fmt.Fprintf(w, "    %s: %s; saw %s (held: %v)\n", i.Changed, i.Predicted, i.Saw, i.Held)
		}
		for _, p := range j.Verdict.Where {
			fmt.Fprintf(w, "    %3.0f%% %s %s:%d\n", p.Share*100, p.Function, p.File, p.Line)
		}
		for _, u := range j.Verdict.Unseen {
			fmt.Fprintf(w, "    unseen: %s\n", u)
		}
	}
}

// calibrationJSON returns the object that --json prints.
func calibrationJSON(cases []calibration.Case, outside, inside []calibration.Judged) map[string]any {
	type row struct {
		Server  string              `json:"server"`
		Inside  string              `json:"inside"`
		Seed    uint64              `json:"seed"`
		Truth   []diagnose.Bound    `json:"truth"`
		Verdict diagnose.Bound      `json:"verdict"`
		Confirm bool                `json:"confirmed"`
		Outcome calibration.Outcome `json:"outcome"`
		Placed  bool                `json:"placed"`
		Seconds float64             `json:"seconds"`
	}
	rows := []row{}
	for _, j := range outside {
		rows = append(rows, row{j.Server, j.Inside, j.Seed, j.Truth, j.Verdict.Bound, j.Verdict.Confirmed, j.Outcome, j.Placed, j.Seconds})
	}
	return map[string]any{"schema": "dyno.calibration/1", "cases": rows,
		"leaving_one_family_out": calibration.Tally(outside), "by_thresholds_in_use": calibration.Tally(inside),
		"matrix": calibration.Confusion(outside).Counts}
}
