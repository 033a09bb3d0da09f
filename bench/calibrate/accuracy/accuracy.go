// Package accuracy shows how often the verdicts of a calibration are right: the confusion matrix
// of verdicts and truths, how many are right, and how far each threshold may move. WhatIf shows the
// same of estimates of what changes bring.
//
// It is not for running the cases (package suite), for judging them (package calibration)
// or for the report of an experiment. It starts no goroutines.
package accuracy

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"dyno/bench/calibrate/calibration"
	"dyno/lab/diagnose/rules"
)

// Verdict returns the verdict on a case in a word or two.
func Verdict(j calibration.Judged) string {
	verdict := string(j.Verdict.Bottleneck)
	if j.Kind != "" && j.Verdict.Kind != "" {
		verdict += " " + j.Verdict.Kind
	}
	if j.Disturbed() {
		return verdict + " (unconfirmed)"
	}
	return verdict
}

// Print writes the results of the cases: the confusion matrix, how often the verdicts are right,
// and how far the thresholds may move; first, if verbose, every case with its signals.
func Print(w io.Writer, cases []calibration.Case, verbose bool) {
	outside, inside := calibration.Outsider(cases, rules.Defaults), calibration.Insider(cases, rules.Defaults)
	if verbose {
		printCases(w, inside)
	}
	fmt.Fprintln(w, "Verdicts by thresholds that were fitted to the other families (rows: the truth)")
	if slices.ContainsFunc(cases, func(c calibration.Case) bool { return c.Fixed }) {
		fmt.Fprintln(w, "(by those in use, of servers that Go did not build)")
	}
	printMatrix(w, calibration.Confusion(outside))
	for _, j := range outside {
		if j.Outcome != calibration.Right {
			fmt.Fprintf(w, "%s: %s with %s inside (seed %d) is bound by %s, the verdict was %s\n", j.Outcome, j.Server, j.Inside, j.Seed, strings.TrimSpace(string(j.Truth[0])+" "+j.Kind), Verdict(j))
		}
	}
	printTally(w, "leaving one family out", outside)
	printTally(w, "by the thresholds in use", inside)
	fmt.Fprintln(w, "\nRoom of the thresholds")
	printRooms(w, calibration.Rooms(cases, rules.Defaults))
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
		fmt.Fprintf(t, "%s\t%.2g\t%.2g\t%s\t%.2g\t%s\n", name, rules.Defaults[name].Value, r.Low, r.LowBy, r.High, r.HighBy)
	}
	t.Flush()
}

func printCases(w io.Writer, judged []calibration.Judged) {
	for _, j := range judged {
		fmt.Fprintf(w, "%s %s %d: %s (truth %v) %s placed=%v %.0fs\n  %s\n", j.Server, j.Inside, j.Seed, j.Verdict.Bottleneck, j.Truth, j.Outcome, j.Placed, j.Seconds, j.Verdict.Text)
		for _, e := range j.Verdict.Evidence {
			fmt.Fprintf(w, "    %-16s %8.3g  %s\n", e.Signal, e.Value, e.Means)
		}
		for _, i := range j.Verdict.Interventions {
			fmt.Fprintf(w, "    %s: %s; saw %s (held: %v)\n", i.Changed, i.Predicted, i.Saw, i.Held)
		}
		for _, p := range j.Verdict.Sites {
			fmt.Fprintf(w, "    %3.0f%% %s %s:%d\n", p.Share*100, p.Function, p.File, p.Line)
		}
		for _, u := range j.Verdict.Unseen {
			fmt.Fprintf(w, "    unseen: %s\n", u)
		}
	}
}

// Object is the JSON of calibrate --json.
type Object struct {
	Schema string `json:"schema"`
	Cases  []Row  `json:"cases"`
	// Outside and Inside count the verdicts by outcome, under thresholds that were fitted to the
	// other families of servers, and under those in use.
	Outside map[calibration.Outcome]int `json:"leaving_one_family_out"`
	Inside  map[calibration.Outcome]int `json:"by_thresholds_in_use"`
	Matrix  any                         `json:"matrix"`
}

// Row is a case of a calibration.
type Row struct {
	Server  string              `json:"server"`
	Inside  string              `json:"inside"`
	Seed    uint64              `json:"seed"`
	Truth   []rules.Bottleneck  `json:"truth"`
	Verdict rules.Bottleneck    `json:"verdict"`
	Confirm bool                `json:"confirmed"`
	Outcome calibration.Outcome `json:"outcome"`
	Placed  bool                `json:"placed"`
	Seconds float64             `json:"seconds"`
}

// JSON writes the results of the cases as one object.
func JSON(w io.Writer, cases []calibration.Case) error {
	outside, inside := calibration.Outsider(cases, rules.Defaults), calibration.Insider(cases, rules.Defaults)
	rows := []Row{}
	for _, j := range outside {
		rows = append(rows, Row{j.Server, j.Inside, j.Seed, j.Truth, j.Verdict.Bottleneck, j.Verdict.Confirmed, j.Outcome, j.Placed, j.Seconds})
	}
	return json.NewEncoder(w).Encode(Object{"dyno.calibration/1", rows, calibration.Tally(outside), calibration.Tally(inside), calibration.Confusion(outside).Counts})
}
