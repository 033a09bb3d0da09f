package ci

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// ErrNoSamples is returned if an experiment has no samples of each side.
var ErrNoSamples = errors.New("there are no samples for benchstat: it reads those of variants that take turns")

// units are the metrics that benchstat receives: its name for the unit, the factor to it, and its
// better direction if benchstat does not know that.
var units = []struct {
	metric, unit string
	factor       float64
	better       string
}{
	{compare.MetricWork, "req/s", 1, "higher"},
	{compare.MetricCPU, "cpu-ns/op", 1000, "lower"},
}

// Benchmarks writes the samples of a comparison as lines of Go benchmarks: a line for each batch of
// rounds, of which Dyno's own interval is made as well. benchstat -col /side compares the sides.
// The samples of both sides took turns; benchstat does not pair them, so its interval is wider.
func Benchmarks(w io.Writer, e *record.Experiment) error {
	if len(e.Slices) == 0 || len(e.Variants) < 2 {
		return ErrNoSamples
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "pkg: %s\n", word(e.Name))
	if e.Machine.CPU != "" {
		fmt.Fprintf(b, "cpu: %s\n", format.Visible(e.Machine.CPU))
	}
	for _, u := range units {
		fmt.Fprintf(b, "Unit %s better=%s\n", u.unit, u.better)
	}
	lines := 0
	for _, u := range units {
		for _, row := range compare.Ladder(e, u.metric, nil) {
			for _, x := range row.Data {
				fmt.Fprintf(b, "BenchmarkDyno/side=%s-%d 1 %.6g %s\n", word(row.Name), max(1, e.Machine.Cores), x*u.factor, u.unit)
				lines++
			}
		}
	}
	if lines == 0 {
		return ErrNoSamples
	}
	return b.Flush()
}

// word makes a name a part of a benchmark's name: no space ends it, and no slash or equals sign
// begins a key.
func word(name string) string {
	name = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c), !unicode.IsPrint(c), c == '/', c == '=':
			return '_'
		}
		return c
	}, name)
	if name == "" {
		return "_"
	}
	return name
}
