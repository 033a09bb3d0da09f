package scenario

import (
	"slices"
	"strings"

	"dyno/lab/workload"
)

// maxVariants limits the variants of a sweep: at some seconds per run, more would take hours.
const maxVariants = 256

// combinations returns the values of every variant, by axis; the last axis changes fastest. It
// stops if there are more than maxVariants or too many excluded ones: ok is false then.
func (s *Sweep) combinations() (all [][]string, ok bool) {
	var walk func(chosen []string) bool
	visited := 0
	walk = func(chosen []string) bool {
		if len(chosen) == len(s.Axes) {
			// Excluded combinations count too, which limits the work for a malicious file.
			const maxVisited = 100 * maxVariants
			if visited++; visited > maxVisited {
				return false
			}
			if !s.excepted(chosen) {
				all = append(all, slices.Clone(chosen))
			}
			return len(all) <= maxVariants
		}
		for _, value := range s.Axes[len(chosen)].Values {
			if !walk(append(chosen, value)) {
				return false
			}
		}
		return true
	}
	return all, walk(nil)
}

// excepted reports whether a combination is excluded.
func (s *Sweep) excepted(values []string) bool {
	for _, e := range s.Except {
		matches := true
		for i, axis := range s.Axes {
			if want, named := e[axis.Name]; named && want != values[i] {
				matches = false
			}
		}
		if matches {
			return true
		}
	}
	return false
}

// variant returns the variant of one combination, named axis=value,axis=value. It subtracts the
// bytes of its arguments from room, and leaves out the rest when room is used up.
func (s *Sweep) variant(values []string, room *int) Variant {
	var names []string
	for i, axis := range s.Axes {
		names = append(names, axis.Name+"="+strings.Map(plainRune, values[i]))
	}
	v := Variant{Name: strings.Join(names, ","), Values: map[string]string{}}
	for i, axis := range s.Axes {
		v.Values[axis.Name] = values[i]
	}
	for _, arg := range s.Args {
		v.Args = append(v.Args, s.substitute(arg, values, room))
	}
	v.Change = strings.Join(names, ", ")
	return v
}

// substitute replaces the axes' placeholders and leaves all others, and $$, to Expand.
func (s *Sweep) substitute(arg string, values []string, room *int) string {
	tokens, err := workload.Tokens(arg)
	if err != nil {
		return arg // the check of placeholders reports it
	}
	var out strings.Builder
	for _, t := range tokens {
		text := t.Text
		if i := slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == t.Name }); i >= 0 {
			text = strings.ReplaceAll(values[i], "$", "$$")
		}
		if *room -= len(text); *room < 0 {
			break
		}
		out.WriteString(text)
	}
	return out.String()
}

// plainRune replaces characters that a variant's name may not contain.
func plainRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_.-", r):
		return r
	}
	return '-'
}
