package sides

import (
	"cmp"
	"math"
	"slices"

	"dyno/lab/report/figure"
	"dyno/lab/report/flame"
)

// maxFunctions is how many functions a table of differences shows.
const maxFunctions = 15

// functionTable is the cost of functions on both sides, without their callees.
type functionTable struct {
	Name, Unit string
	Rows       []functionRow
	Left       int
}

// functionRow is a function with a cost on at least one side.
type functionRow struct {
	Name         string
	A, B, Change figure.Value
}

// functionTables compare the profiles that both sides have, by function, the largest difference
// first. Figures are per request, so that the rates at which the profiles were taken do not
// matter.
func functionTables(a, b *Side) (out []functionTable) {
	if a.Flames == nil || b.Flames == nil {
		return nil
	}
	for _, ga := range a.Flames.Graphs {
		for _, gb := range b.Flames.Graphs {
			if ga.Variant != a.Variant || gb.Variant != b.Variant || !ga.Comparable(gb) {
				continue
			}
			t := functionTable{Name: ga.Name, Unit: ga.Unit, Rows: functionRows(selfOf(a.Flames, ga), selfOf(b.Flames, gb))}
			if len(t.Rows) > maxFunctions {
				t.Rows, t.Left = t.Rows[:maxFunctions], len(t.Rows)-maxFunctions
			}
			if len(t.Rows) > 0 {
				out = append(out, t)
			}
		}
	}
	return out
}

// selfOf sums a graph by function.
func selfOf(f *flame.Profiles, g flame.Graph) map[string]float64 {
	sums := map[string]float64{}
	for i, fn := range g.Functions {
		if i < len(g.Self) && g.Self[i] != 0 && fn >= 0 && fn < len(f.Functions) {
			sums[f.Functions[fn]] += g.Self[i]
		}
	}
	return sums
}

func functionRows(a, b map[string]float64) (out []functionRow) {
	add := func(name string) {
		out = append(out, functionRow{name, figure.Value(a[name]), figure.Value(b[name]), figure.Value(b[name] - a[name])})
	}
	for name := range a {
		add(name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			add(name)
		}
	}
	slices.SortFunc(out, func(x, y functionRow) int {
		return cmp.Or(cmp.Compare(math.Abs(float64(y.Change)), math.Abs(float64(x.Change))), cmp.Compare(x.Name, y.Name))
	})
	return out
}
