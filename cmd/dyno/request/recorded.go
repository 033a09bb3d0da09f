package request

import (
	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// Recorded reads an earlier experiment as a comparison of two of its variants by a metric; empty:
// the default.
func Recorded(dir, metric, a, b string) (*record.Experiment, error) {
	exp, err := folder.Open(dir)
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
