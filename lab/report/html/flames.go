package html

import (
	"fmt"
	"html/template"
	"slices"

	"dyno/lab/report/view"
)

// flameKinds returns the kinds of flame graph that a report has.
func flameKinds(f *view.Profiles) (out []view.FlameKind) {
	for _, k := range view.FlameKinds {
		if slices.ContainsFunc(f.Graphs, func(g view.Flame) bool { return g.Kind == k.Key }) {
			out = append(out, k)
		}
	}
	return out
}

func flameVariants(f *view.Profiles) (out []string) {
	for _, g := range f.Graphs {
		if !slices.Contains(out, g.Variant) {
			out = append(out, g.Variant)
		}
	}
	return out
}

// flameRoom reserves the space of a flame graph until the script draws it, so that the page's
// layout does not shift.
func flameRoom(f view.Flame) template.HTML {
	const frame, frames = 19, 3 // px per frame, as flame.js draws it; frames for the root and the free space below
	return template.HTML(fmt.Sprintf(`<svg width="100%%" height="%d" aria-hidden="true"></svg>`, (f.Deepest+frames)*frame))
}
