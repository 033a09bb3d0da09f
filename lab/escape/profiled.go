package escape

import (
	"slices"

	"dyno/lab/record"
)

// LastProfiled returns the last valid profiled run of a variant (empty: of any variant), or if none
// is valid, the last one. It also returns the variants that have a profiled run. A single run
// counts as profiled whatever its role.
func LastProfiled(runs []*record.Run, variant string) (have []string, found *record.Run) {
	for _, r := range runs {
		if r.Spec.Role != record.RoleProfile && len(runs) > 1 {
			continue
		}
		if !slices.Contains(have, r.Spec.Variant) {
			have = append(have, r.Spec.Variant)
		}
		counts := r.Invalid == "" || found == nil || found.Invalid != ""
		if counts && (variant == "" || r.Spec.Variant == variant) {
			found = r
		}
	}
	return have, found
}
