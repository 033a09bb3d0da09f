package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"dyno/bench/stored"
)

// summary counts how often the forecasts of a server held.
type summary struct {
	Name      string `json:"name"`
	Truth     string `json:"truth"`
	Forecasts int    `json:"forecasts"`
	Above     int    `json:"above"`  // of which the lower bound was above the truth
	Missed    int    `json:"missed"` // of which the truth was outside the bracket
	Named     int    `json:"named"`  // of which the first bound was the known one
}

// names are the first bounds that are right for a truth: the collector uses the CPU, and what others wait
// for is a goroutine of its own or, where the forecast has none, missed.
var names = map[string][]string{"cpu": {"cpu"}, "gc": {"cpu"}, "lock": {"lock"}, "wait": {"goroutine"}, "mixed": {"cpu", "lock"}}

func (s *summary) add(o observation) {
	s.Forecasts++
	above := o.AtLeast > o.Factor
	if above {
		s.Above++
	}
	if above || o.AtMost > 0 && o.AtMost < o.Factor {
		s.Missed++
	}
	if slices.Contains(names[o.Truth], o.First) {
		s.Named++
	}
}

// results are what a table in the documentation is made of.
type results struct {
	Schema       string        `json:"schema"`
	Steps        []summary     `json:"steps"` // of each server, and of all
	Observations []observation `json:"observations"`
	Made         stored.Made   `json:"made"`
}

// summarise counts by server, in their order, and over all.
func summarise(all []observation) []summary {
	out := []summary{}
	sum := summary{Name: "all", Truth: "-"}
	for _, o := range all {
		i := slices.IndexFunc(out, func(s summary) bool { return s.Name == o.Server })
		if i < 0 {
			i, out = len(out), append(out, summary{Name: o.Server, Truth: o.Truth})
		}
		out[i].add(o)
		sum.add(o)
	}
	return append(out, sum)
}

// keep replaces a server's observations in the file, or adds them. What others took of the machine is the
// highest of all.
func keep(file string, more []observation, made stored.Made) error {
	all := results{Schema: "dyno.headroom/1"}
	if err := stored.Read(file, &all); err != nil {
		return err
	}
	all.Observations = slices.DeleteFunc(all.Observations, func(was observation) bool {
		return slices.ContainsFunc(more, func(o observation) bool { return o.Server == was.Server })
	})
	all.Observations = append(all.Observations, more...)
	all.Steps, all.Made = summarise(all.Observations), made.Beside(all.Made)
	return stored.Write(file, all)
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
	fmt.Fprintln(t, "\nserver\ttruth\tforecasts\tlower bound above the truth\toutside the bracket\tfirst bound named")
	for _, s := range summarise(all) {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\n", s.Name, s.Truth, s.Forecasts, s.Above, s.Missed, s.Named)
	}
	t.Flush()
}
