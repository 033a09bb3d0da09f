package request

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario/document"
)

// Record reads the folder of a finished experiment or run.
func Record(dir string) (*record.Experiment, error) {
	at, err := os.Stat(dir)
	switch {
	case err != nil:
		if near := nearRun(dir); near != "" {
			return nil, usage.Errorf("there is no folder %s; did you mean %s?", dir, near)
		}
	case at.IsDir():
		exp, err := folder.Open(dir)
		if !errors.Is(err, folder.ErrNotARecord) {
			return exp, err
		}
		if runs := runsIn(dir); len(runs) > 0 {
			return nil, usage.Errorf("%s holds the folders of runs: name one of them, the last being %s", dir, filepath.Join(dir, runs[0]))
		}
		return nil, usage.Of(err)
	}
	exp, err := folder.Open(dir)
	if err != nil {
		err = usage.Of(err)
	}
	return exp, err
}

// OutFolder is the default folder of runs, unless --out names another.
const OutFolder = "dyno-out"

// nearRun returns the folder of a run that the user probably meant: the latest one whose name
// begins with the given name, or the one with the most similar name. It is empty if there is
// none.
func nearRun(dir string) string {
	parent, name := filepath.Split(filepath.Clean(dir))
	for _, in := range []string{filepath.Clean(parent), OutFolder} {
		names := runsIn(in)
		for _, n := range names {
			if strings.HasPrefix(n, name) {
				return filepath.Join(in, n)
			}
		}
		if near, ok := document.Nearest(name, names); ok {
			return filepath.Join(in, near)
		}
	}
	return ""
}

// runsIn lists the folders below dir that hold a record, the last written first.
func runsIn(dir string) []string {
	const most = 1000 // bounds the work in a large folder
	entries, _ := os.ReadDir(dir)
	written := map[string]time.Time{}
	for _, e := range entries[:min(most, len(entries))] {
		for _, file := range []string{folder.ExperimentFile, folder.RunFile} {
			if at, err := os.Stat(filepath.Join(dir, e.Name(), file)); err == nil {
				written[e.Name()] = at.ModTime()
			}
		}
	}
	return slices.SortedFunc(maps.Keys(written), func(a, b string) int {
		return cmp.Or(written[b].Compare(written[a]), cmp.Compare(b, a))
	})
}

// Recorded reads an earlier experiment as a comparison of two of its variants by a metric; an
// empty metric selects the default.
func Recorded(ctx context.Context, dir, metric, a, b string) (*record.Experiment, error) {
	exp, err := folder.Open(dir)
	if errors.Is(err, folder.ErrNotARecord) {
		return nil, usage.Errorf("%s holds neither a Go program nor a record of dyno%s", dir, programsBelow(ctx, dir))
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

// programsBelow suggests the Go programs below a folder. It is empty if there are none.
func programsBelow(ctx context.Context, dir string) string {
	names := Programs(ctx, dir)
	const most = 3
	if len(names) == 0 {
		return ""
	}
	return "; there is " + strings.Join(names[:min(most, len(names))], ", ")
}
