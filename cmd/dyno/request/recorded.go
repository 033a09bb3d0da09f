package request

import (
	"errors"
	"path/filepath"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/source/programs"
)

// Recorded reads an earlier experiment as a comparison of two of its variants by a metric; empty:
// the default.
func Recorded(dir, metric, a, b string) (*record.Experiment, error) {
	exp, err := folder.Open(dir)
	if errors.Is(err, folder.ErrForeign) {
		return nil, usage.Errorf("%s holds neither a Go program nor a record of dyno%s", dir, programsBelow(dir))
	}
	if err != nil {
		return nil, err
	}
	if len(exp.Variants) < 2 {
		return nil, usage.Errorf("%s holds one variant; there is nothing to compare", dir)
	}
	names := make([]string, len(exp.Variants))
	for i, v := range exp.Variants {
		names[i] = v.Name
	}
	named, err := Sides(names, a, b)
	if err != nil {
		return nil, err
	}
	var sides []record.Variant
	for _, name := range named {
		v, ok := exp.Variant(name)
		if !ok {
			return nil, usage.Errorf("%s has no variant %q", dir, name)
		}
		sides = append(sides, v)
	}
	if metric == "" {
		metric = compare.MetricCapacity
		if len(exp.Slices) > 0 {
			metric = compare.MetricWork
		}
	}
	exp.Kind, exp.Metric, exp.Variants = record.KindCompare, metric, sides
	return exp, nil
}

// programsBelow suggests the Go programs below a folder; empty: none was found.
func programsBelow(dir string) string {
	found, err := programs.Find(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, p := range found {
		if p.Build != "" {
			names = append(names, filepath.Join(dir, p.Build))
		}
	}
	const most = 3
	if len(names) == 0 {
		return ""
	}
	return "; there is " + strings.Join(names[:min(most, len(names))], ", ")
}
