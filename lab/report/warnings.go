package report

import (
	"slices"
	"strings"
)

// AllWarnings are the warnings of the report and its analyses without duplicates. A warning that
// several steps share names them together.
func (r *Report) AllWarnings() []string {
	out := slices.Clone(r.Warnings)
	if r.Load != nil && r.Load.Run.Disturbed != "" {
		out = append(out, r.Load.Run.Disturbed)
	}
	if r.Capacity != nil {
		out = append(out, r.Capacity.Warnings...)
	}
	if r.Comparison != nil {
		out = append(out, r.Comparison.Warnings...)
	}
	var order []string
	names := map[string][]string{}
	of := func(variant string, warnings []string) {
		for _, w := range warnings {
			if slices.Contains(out, w) {
				continue
			}
			if names[w] == nil {
				order = append(order, w)
			}
			names[w] = append(names[w], variant)
		}
	}
	for _, s := range r.Steps {
		of(s.Name, s.Warnings)
	}
	for i := range r.Diagnoses {
		of(r.NameOf(&r.Diagnoses[i]), r.Diagnoses[i].Warnings)
	}
	for _, w := range order {
		out = append(out, strings.Join(slices.Compact(names[w]), ", ")+": "+w)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(w string) bool {
		again := seen[w]
		seen[w] = true
		return again
	})
}
