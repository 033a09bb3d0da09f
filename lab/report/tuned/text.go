package tuned

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"dyno/lab/report/format"
)

// JSON writes the result as one object.
func JSON(w io.Writer, r *Result) error { return format.JSON(w, r) }

// Print writes the result for people.
func Print(w io.Writer, r *Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (tune)\n%s\n\n", format.Visible(r.Scenario), format.Visible(r.Answer))
	if r.Chosen != nil {
		r.printChoice(&b)
	}
	r.printTried(&b)
	for _, n := range r.Notes {
		fmt.Fprintln(&b, "note:", format.Visible(n))
	}
	if slo := format.SLO(r.SLO); slo != "" {
		fmt.Fprintln(&b, "SLO:", slo)
	}
	fmt.Fprintln(&b, "record:", r.Out)
	if !r.Valid {
		fmt.Fprintln(&b, "incomplete:", format.Visible(r.Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) printChoice(b *strings.Builder) {
	verb := "seemed better"
	if r.Verdict == Proved {
		verb = "to set"
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	if len(r.Chosen.Args) > 0 {
		fmt.Fprintf(t, "%s\t%s\t(arguments)\n", verb, format.Command(r.Chosen.Args))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Chosen.Environment)) {
		fmt.Fprintf(t, "%s\t%s=%s\t(environment)\n", verb, name, r.Chosen.Environment[name])
	}
	if len(r.Chosen.Build) > 0 {
		fmt.Fprintf(t, "%s\t%s\t(build)\n", verb, format.Command(r.Chosen.Build))
	}
	t.Flush()
	for _, c := range r.Ratios {
		fmt.Fprintln(b, "proof:", format.Ratio(c.Metric, format.Measured(c.Ratio), format.IntervalOf(c.Interval), c.Verdict))
	}
	if m := r.Chosen.Memory; m[0].Known() && m[1].Known() {
		fmt.Fprintf(b, "memory: %s, before %s (%s)\n", format.Size(m[1]), format.Size(m[0]), format.Times(m[1]/m[0]))
	}
	for _, c := range r.Ratios[:min(1, len(r.Ratios))] {
		for _, w := range c.Warnings {
			fmt.Fprintln(b, "warning:", format.Visible(w))
		}
	}
	if r.slo != "" {
		fmt.Fprintln(b, "under the SLO:", r.slo)
	}
	fmt.Fprintln(b)
}

// printTried prints the table of the candidates.
func (r *Result) printTried(b *strings.Builder) {
	if len(r.Tried) == 0 {
		return
	}
	var untried []string
	rows := 0
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "tried\t%s\t95%%\tmemory\trounds\tverdict of the search\n", format.Metrics[r.Metric])
	for _, row := range r.Tried {
		if row.Rounds == 0 && row.Why == "" {
			untried = append(untried, row.Name)
			continue
		}
		rows++
		verdict := row.Verdict
		if row.Why != "" {
			verdict += ": " + row.Why
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", row.Name, times(row.Ratio), interval(row.Interval), times(row.Memory), row.Rounds, format.Visible(verdict))
	}
	if rows > 0 {
		t.Flush()
		fmt.Fprintln(b, "(each interval is for that change alone: of 20 changes without effect, one is outside)")
	}
	if len(untried) > 0 {
		fmt.Fprintf(b, "not tried, for lack of time: %s; a longer --budget or --only tries them\n", strings.Join(untried, ", "))
	}
	fmt.Fprintln(b)
}

func times(v format.Value) string {
	if !v.Known() {
		return "-"
	}
	return format.Times(v)
}

func interval(i *format.Interval) string {
	if i == nil {
		return "-"
	}
	return format.BetweenRatios(i)
}
