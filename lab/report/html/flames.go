package html

import (
	"fmt"
	"html/template"
	"slices"

	"dyno/lab/report/view"
)

// flameKinds are the available kinds of flame graph.
func flameKinds(f *view.Profiles) (out []view.FlameKind) {
	for _, k := range view.FlameKinds {
		if slices.ContainsFunc(f.Graphs, func(g view.Flame) bool { return g.Kind == k.Key }) {
			out = append(out, k)
		}
	}
	return out
}

// flameVariants are the variants that have a flame graph.
func flameVariants(f *view.Profiles) (out []string) {
	for _, g := range f.Graphs {
		if !slices.Contains(out, g.Variant) {
			out = append(out, g.Variant)
		}
	}
	return out
}

// flameRoom reserves the space of the graph until the script draws it, so that the page does not
// shift.
func flameRoom(f view.Flame) template.HTML {
	const frame, frames = 19, 3 // px, as flame.js draws them; the root and the free space below
	return template.HTML(fmt.Sprintf(`<svg width="100%%" height="%d" aria-hidden="true"></svg>`, (f.Deepest+frames)*frame))
}
