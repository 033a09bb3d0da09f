package gobench

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Units that every benchmark has, and CPU time, which this package adds.
const (
	Time   = "ns/op"     // elapsed time
	CPU    = "cpu-ns/op" // CPU time of the whole process, without its start; ns/op of what keeps one CPU busy (runs.go)
	Bytes  = "B/op"
	Allocs = "allocs/op"
)

// standard are the directions of the units of the testing package: 1, a higher value is better.
var standard = map[string]int{Time: -1, CPU: -1, Bytes: -1, Allocs: -1}

// derived are the units that say the same as another.
var derived = map[string]bool{"MB/s": true}

// reading is a line of output: a benchmark and its figures by unit.
type reading struct {
	name   string // without "Benchmark" and without the suffix of GOMAXPROCS
	n      int
	values map[string]float64
}

// output is what a process of benchmarks printed.
type output struct {
	readings []reading
	units    map[string]int // better direction of each unit that is declared
	failed   []string       // names of benchmarks that failed
	skipped  []string       // names of benchmarks that skipped themselves
}

// parse reads the output of benchmarks that ran with one value of GOMAXPROCS. What is not a line of
// a result is ignored: benchmarks print what they like.
func parse(text []byte, procs int) (o output) {
	o.units = map[string]int{}
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) > 2 && string(fields[0]) == "---" {
			name := bare(strings.TrimPrefix(string(fields[2]), "Benchmark"), procs)
			switch string(fields[1]) {
			case "FAIL:":
				o.failed = append(o.failed, name)
				continue
			case "SKIP:":
				o.skipped = append(o.skipped, name)
				continue
			}
		}
		// Line by line, a line that is too long for the reader costs no other.
		for lines := benchfmt.NewReader(bytes.NewReader(line), ""); lines.Scan(); {
			switch record := lines.Result().(type) {
			case *benchfmt.Result:
				if r, ok := readingOf(record, procs); ok {
					o.readings = append(o.readings, r)
				}
			case *benchfmt.UnitMetadata:
				if better, ok := map[string]int{"higher": 1, "lower": -1}[record.Value]; ok && record.Key == "better" {
					o.units[record.OrigUnit] = better
				}
			}
		}
	}
	return o
}

func readingOf(record *benchfmt.Result, procs int) (reading, bool) {
	r := reading{name: bare(string(record.Name), procs), n: record.Iters, values: map[string]float64{}}
	for _, v := range record.Values {
		unit, value := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, value = v.OrigUnit, v.OrigValue
		}
		if !derived[unit] && !math.IsNaN(value) && !math.IsInf(value, 0) {
			r.values[unit] = value
		}
	}
	return r, r.n > 0 && len(r.values) > 0
}

// bare removes the suffix of GOMAXPROCS from a name; there is none for 1.
func bare(name string, procs int) string {
	if procs > 1 {
		name = strings.TrimSuffix(name, "-"+strconv.Itoa(procs))
	}
	return name
}
