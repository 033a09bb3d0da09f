package sides

import (
	"maps"
	"slices"
	"strings"

	"dyno/lab/report/inside"
	"dyno/lab/report/words"
)

// condition is a condition that differs between the sides.
type condition struct{ Name, A, B string }

// conditions returns the differing conditions of two results, other than the program.
func conditions(a, b *Side) (out []condition) {
	add := func(name, va, vb string) {
		if va != vb {
			out = append(out, condition{name, va, vb})
		}
	}
	add("machine", a.Machine.String(), b.Machine.String())
	settings := map[string]bool{}
	for _, m := range []map[string]string{a.Machine.Settings, b.Machine.Settings} {
		for name := range m {
			settings[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		add(name, a.Machine.Settings[name], b.Machine.Settings[name])
	}
	add("SLO", words.SLO(a.SLO), words.SLO(b.SLO))
	add("kind", words.Kinds[a.Kind], words.Kinds[b.Kind])
	if ra, rb := a.load(), b.load(); ra != nil && rb != nil {
		add("schedule", ra.Load.Schedule, rb.Load.Schedule)
		add("URL", ra.Load.URL, rb.Load.URL)
	}
	return out
}

// textDifference is the difference of two texts.
type textDifference struct {
	Name  string
	Lines []diffLine // differing lines with some lines around them
	Words string     // instead of lines
}

// texts compares the inputs: the scenarios, and the assemblies of the variants.
func texts(a, b *Side) (out []textDifference) {
	if a.Name != b.Name {
		out = append(out, compareTexts("Scenario", a.Scenario, b.Scenario))
	}
	va, vb := a.assembly(), b.assembly()
	out = append(out, compareTexts("Started as", onLines(va.Command), onLines(vb.Command)))
	if va.JSON != nil || vb.JSON != nil {
		out = append(out, compareTexts("Resolved to", string(va.JSON), string(vb.JSON)))
	}
	return slices.DeleteFunc(out, func(d textDifference) bool { return d.Words == "" && d.Lines == nil })
}

// onLines writes each argument of a command on its own line.
func onLines(command string) string { return strings.ReplaceAll(command, " ", "\n") }

// assembly is the assembly of the side's variant.
func (s *Side) assembly() inside.Assembly {
	for _, as := range s.Assemblies {
		if as.Variant == s.Variant || s.Variant == "" {
			return as
		}
	}
	return inside.Assembly{}
}

// compareTexts returns the difference of two texts.
func compareTexts(name, a, b string) textDifference {
	switch {
	case a == "" && b == "":
		return textDifference{}
	case a == b:
		return textDifference{Name: name, Words: "the same on both sides."}
	case b == "":
		return textDifference{Name: name, Words: "only A has a record of it."}
	case a == "":
		return textDifference{Name: name, Words: "only B has a record of it."}
	}
	lines, ok := diff(splitLines(a), splitLines(b))
	if !ok {
		return textDifference{Name: name, Words: "they differ, and are too long to be compared here."}
	}
	return textDifference{Name: name, Lines: lines}
}

func splitLines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }

// diffLine is a line of a difference.
type diffLine struct {
	Class string // minus: in A only; plus: in B only; gap: equal lines left out; empty: in both
	Text  string
}

const (
	maxDiff = 1500 // differing lines per side: the table has the square of it as entries
	around  = 2    // equal lines shown around a difference
)

// diff compares two texts by line: it returns the lines outside a longest common subsequence. False
// when the texts are too long.
func diff(a, b []string) ([]diffLine, bool) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(midA) > maxDiff || len(midB) > maxDiff {
		return nil, false
	}
	var out []diffLine
	keep := func(lines []string) {
		for _, l := range lines {
			out = append(out, diffLine{"", "  " + l})
		}
	}
	keep(a[:head])
	out = append(out, walk(midA, midB, commonTable(midA, midB))...)
	keep(a[len(a)-tail:])
	return fold(out), true
}

// commonTable holds at [i][j] how many lines a[i:] and b[j:] have in common, in order.
func commonTable(a, b []string) [][]int16 {
	t := make([][]int16, len(a)+1)
	for i := range t {
		t[i] = make([]int16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				t[i][j] = t[i+1][j+1] + 1
			} else {
				t[i][j] = max(t[i+1][j], t[i][j+1])
			}
		}
	}
	return t
}

func walk(a, b []string, common [][]int16) (out []diffLine) {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{"", "  " + a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, diffLine{"minus", "A " + a[i]})
			i++
		default:
			out = append(out, diffLine{"plus", "B " + b[j]})
			j++
		}
	}
	return out
}

// fold leaves out equal lines far from a difference.
func fold(lines []diffLine) (out []diffLine) {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.Class == "" {
			continue
		}
		for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
			near[j] = true
		}
	}
	for i, l := range lines {
		switch {
		case near[i]:
			out = append(out, l)
		case i == 0 || near[i-1]:
			out = append(out, diffLine{"gap", "…"})
		}
	}
	return out
}
