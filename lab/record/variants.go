package record

import "slices"

// Variant returns the variant of the given name.
func (e *Experiment) Variant(name string) (Variant, bool) {
	for _, v := range e.Variants {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}

// VariantNames are the names of the variants in ladder order, then those found only in the runs.
func (e *Experiment) VariantNames() []string {
	var names []string
	for _, v := range e.Variants {
		names = append(names, v.Name)
	}
	for _, r := range e.Runs {
		if r.Spec.Role != RoleAblation && !slices.Contains(names, r.Spec.Variant) {
			names = append(names, r.Spec.Variant)
		}
	}
	return names
}

// Reference returns the name of the variant that the i-th one is compared with.
func (e *Experiment) Reference(i int) string {
	if v, ok := e.Variant(e.Variants[i].Reference); ok {
		return v.Name
	}
	return e.Variants[0].Name
}
