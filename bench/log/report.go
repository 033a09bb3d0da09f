package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"dyno/lab/compare"
	"dyno/lab/probe"
	"dyno/lab/record"
)

// report is what all rounds showed.
type report struct {
	Schema     string         `json:"schema"`
	Machine    record.Machine `json:"machine"`
	Redis      string         `json:"redis,omitempty"`
	SyncMicros []float64      `json:"sync_us"` // of 4 KiB, before the first round and after each
	Rounds     int            `json:"rounds"`
	Length     string         `json:"length"`
	Record     int            `json:"record_bytes"`
	Skipped    []string       `json:"skipped"`
	Subjects   []*result      `json:"subjects"`
	Ratios     []ratio        `json:"ratios"`
	json       bool
}

// result is a subject's, over the rounds.
type result struct {
	Name   string     `json:"name"`
	About  string     `json:"about"`
	Runs   []measured `json:"runs"`
	Median measured   `json:"median"` // of each figure by itself
	// PerSecond is the geometric mean of records/s with its 95% t interval; nil with fewer than 6 rounds.
	PerSecond float64     `json:"records_per_s"`
	Interval  *[2]float64 `json:"interval"`
}

// ratio compares the rates of two subjects.
type ratio struct {
	compare.Comparison
	Worst float64 `json:"worst"` // b's slowest run over a's fastest
}

func newReport(o options, skipped []string) *report {
	return &report{Schema: "dyno.bench.log/1", Rounds: o.rounds, Length: o.length.String(), Record: recordBytes, Skipped: append([]string{}, skipped...), json: o.json}
}

// conditions notes what the figures belong to.
func (r *report) conditions(dir string) error {
	r.Machine = probe.Machine()
	if out, err := exec.Command("redis-server", "--version").Output(); err == nil {
		r.Redis, _, _ = strings.Cut(string(out), " sha=")
	}
	return r.again(dir)
}

// again measures what a sync costs.
func (r *report) again(dir string) error {
	took, err := syncTime(dir)
	r.SyncMicros = append(r.SyncMicros, float64(took)/float64(time.Microsecond))
	return err
}

func (r *report) add(s subject, m measured) {
	i := slices.IndexFunc(r.Subjects, func(x *result) bool { return x.Name == s.name })
	if i < 0 {
		i = len(r.Subjects)
		r.Subjects = append(r.Subjects, &result{Name: s.name, About: s.about})
	}
	r.Subjects[i].Runs = append(r.Subjects[i].Runs, m)
}

func (r *report) result(name string) *result {
	i := slices.IndexFunc(r.Subjects, func(x *result) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return r.Subjects[i]
}

func (x *result) of(figure func(measured) float64) []float64 {
	out := make([]float64, len(x.Runs))
	for i, m := range x.Runs {
		out[i] = figure(m)
	}
	return out
}

func (x *result) rates() []float64 { return x.of(func(m measured) float64 { return m.PerSecond }) }

// finish works out medians, intervals and ratios.
func (r *report) finish() {
	rank := func(x *result) int {
		return slices.IndexFunc(subjects, func(s subject) bool { return s.name == x.Name })
	}
	slices.SortFunc(r.Subjects, func(a, b *result) int { return rank(a) - rank(b) })
	for _, x := range r.Subjects {
		x.Median = measured{
			Records:    int64(median(x.of(func(m measured) float64 { return float64(m.Records) }))),
			PerSecond:  median(x.rates()),
			P50:        median(x.of(func(m measured) float64 { return m.P50 })),
			P99:        median(x.of(func(m measured) float64 { return m.P99 })),
			Written:    median(x.of(func(m measured) float64 { return m.Written })),
			Flushes:    median(x.of(func(m measured) float64 { return m.Flushes })),
			PerRequest: x.Runs[0].PerRequest,
		}
		// A mean of rates is a ratio to one record a second.
		ones := slices.Repeat([]float64{1}, len(x.Runs))
		mean := compare.Ratio(compare.MetricCapacity, ones, x.rates())
		x.PerSecond, x.Interval = mean.Ratio, mean.Interval
	}
	r.Ratios = []ratio{}
	for _, c := range comparisons {
		a, b := r.result(c.a), r.result(c.b)
		if a == nil || b == nil {
			continue
		}
		found := compare.Ratio(compare.MetricCapacity, a.rates(), b.rates())
		found.A, found.B = c.a, c.b
		r.Ratios = append(r.Ratios, ratio{found, slices.Min(b.rates()) / slices.Max(a.rates())})
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

func (r *report) print(w io.Writer) error {
	r.finish()
	if r.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Fprintf(w, "%s\n\n", r.where())
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "subject\trecords/s, median\t95%% interval\tx %s\tp50 ms\tp99 ms\tdisk flushes/s\tbytes/record\t\n", reference)
	base := r.result(reference)
	for _, x := range r.Subjects {
		over := "-"
		if base != nil {
			over = figure(compare.Ratio(compare.MetricCapacity, base.rates(), x.rates()).Ratio)
		}
		fmt.Fprintf(table, "%s\t%.0f\t%s\t%s\t%.2f\t%.2f\t%s\t%s\t\n", x.Name, x.Median.PerSecond, span(x.Interval, "%.0f"), over,
			x.Median.P50/1000, x.Median.P99/1000, known(x.Median.Flushes), known(x.Median.Written))
	}
	table.Flush()
	fmt.Fprintf(w, "\nRatios of the same rounds; the worst is the slowest run over the other's fastest.\n")
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\tover\tratio\t95%% interval\tworst\t\t\n")
	for _, c := range r.Ratios {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", c.B, c.A, figure(c.Ratio), span(c.Interval, "%.2f"), figure(c.Worst), c.Verdict)
	}
	table.Flush()
	fmt.Fprintln(w)
	for _, x := range r.Subjects {
		fmt.Fprintf(w, "%s: %s\n", x.Name, x.About)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "skipped: %s\n", s)
	}
	return nil
}

// where is the line of the conditions.
func (r *report) where() string {
	s := fmt.Sprintf("%s; %d rounds of %s, records of %d bytes; a sync of 4 KiB took %.0f us (%.0f to %.0f over the rounds)",
		r.Machine, r.Rounds, r.Length, r.Record, median(r.SyncMicros), slices.Min(r.SyncMicros), slices.Max(r.SyncMicros))
	if r.Redis != "" {
		s += "; " + r.Redis
	}
	if median(r.SyncMicros) < 20 {
		s += "\nSuch a sync reaches no disk: is the folder in memory? See --dir."
	}
	return s
}

// figure writes a ratio with three digits.
func figure(x float64) string {
	if x == 0 || math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(x)))), x)
}

func known(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", x)
}

func span(in *[2]float64, format string) string {
	if in == nil {
		return "-"
	}
	return fmt.Sprintf(format+" to "+format, in[0], in[1])
}
