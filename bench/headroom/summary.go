package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// summary counts how often the forecasts held.
type summary struct {
	Forecasts int `json:"forecasts"`
	Above     int `json:"above"`  // of which the lower bound was above the truth
	Missed    int `json:"missed"` // of which the truth was outside the bracket
	// One counts those of servers that a lock or one goroutine bounds, and Right those that named it.
	One   int `json:"one"`
	Right int `json:"right"`
}

func summarise(all []observation) (s summary) {
	for _, o := range all {
		s.Forecasts++
		above := o.AtLeast > o.Factor
		if above {
			s.Above++
		}
		if above || o.AtMost > 0 && o.AtMost < o.Factor {
			s.Missed++
		}
		if o.Truth == "lock" || o.Truth == "goroutine" {
			s.One++
			if o.First == o.Truth {
				s.Right++
			}
		}
	}
	return s
}

func table(w io.Writer, all []observation) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "server\ttruth\tload\trate/s\tpeak/s\tcan grow\tat least\tat most\tfirst\tcpu\tceiling\tothers")
	for _, o := range all {
		most, place := "-", "-"
		if o.AtMost > 0 {
			most = fmt.Sprintf("%.2f", o.AtMost)
			place = fmt.Sprintf("%s %s %.0f%%", o.Ceilings[0].Kind, o.Ceilings[0].Place, 100*o.Ceilings[0].Busy)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%.0f\t%.2f\t%.2f\t%s\t%s\t%.2f\t%s\t%.0f%%\n",
			o.Server, o.Truth, o.Schedule, o.Rate, o.Peak, o.Factor, o.AtLeast, most, o.First, o.CPU, place, 100*o.Others)
	}
	t.Flush()
	s := summarise(all)
	fmt.Fprintf(w, "\n%d forecasts: the lower bound was above the truth in %d, the bracket missed it in %d; of %d on servers that a lock bounds, %d named it\n",
		s.Forecasts, s.Above, s.Missed, s.One, s.Right)
}
