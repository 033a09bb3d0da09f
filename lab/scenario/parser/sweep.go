package parser

import (
	"slices"
	"strings"

	"dyno/lab/scenario"
	"dyno/lab/scenario/document"
)

// maxVariants bounds the variants of a sweep: at some seconds per run, more would take a night.
const maxVariants = 256

// sweep expands a sweep into variants.
func (c *checker) sweep() {
	s := c.s.Sweep
	if s == nil {
		return
	}
	c.axes(s)
	c.exceptions(s)
	if c.Err() != nil || c.decodeErr != nil {
		return // a sweep of half-read axes would only raise more errors
	}
	every := expansion{s}
	combinations, ok := every.combinations()
	switch {
	case !ok:
		c.FaultName(document.At("sweep", "axes"), "the axes have more than %d combinations; shorten them or list some under except", maxVariants)
	case len(combinations) == 0:
		c.FaultName(document.At("sweep", "except"), "excludes every combination")
	}
	names, room := make([]string, len(combinations)), document.MaxText
	for i, values := range combinations {
		v := every.variant(values, &room)
		if room < 0 {
			c.FaultName(document.At("sweep", "args"), "come to more than %d bytes for all combinations", document.MaxText)
			return
		}
		c.s.Variants, names[i] = append(c.s.Variants, v), v.Name
	}
	c.unique(names, func(int) document.Path { return document.At("sweep", "axes") })
}

func (c *checker) axes(s *scenario.Sweep) {
	names := make([]string, len(s.Axes))
	for i, axis := range s.Axes {
		p := document.At("sweep", "axes", i)
		names[i] = axis.Name
		c.unique(axis.Values, func(j int) document.Path { return p.To("values", j) })
		switch use := "${" + axis.Name + "}"; {
		case slices.Contains(reserved, axis.Name):
			c.FaultAt(p.To("name"), "%q is taken: %s means something else", axis.Name, use)
		case axis.Name != "" && !slices.ContainsFunc(s.Args, func(a string) bool { return strings.Contains(a, use) }):
			c.FaultAt(p.To("name"), "sweep.args never mentions %s, so that all its values would be the same", use)
		}
	}
	c.unique(names, func(i int) document.Path { return document.At("sweep", "axes", i, "name") })
}

func (c *checker) exceptions(s *scenario.Sweep) {
	var names []string
	for _, axis := range s.Axes {
		names = append(names, axis.Name)
	}
	for i, e := range s.Except {
		for name, value := range e {
			p := document.At("sweep", "except", i, name)
			j := slices.Index(names, name)
			if j < 0 {
				c.FaultName(p, "unknown axis; %s", scenario.DidYouMean(name, names))
			} else if !slices.Contains(s.Axes[j].Values, value) {
				c.FaultAt(p, "the axis has no value %q; %s", scenario.Clip(value), scenario.DidYouMean(value, s.Axes[j].Values))
			}
		}
	}
}

// expansion makes a sweep into variants.
type expansion struct{ *scenario.Sweep }

// combinations returns the values of every variant, by axis; the last axis changes fastest. It
// stops when there are too many.
func (s expansion) combinations() (all [][]string, ok bool) {
	var walk func(chosen []string) bool
	visited := 0
	walk = func(chosen []string) bool {
		if len(chosen) == len(s.Axes) {
			// Excluded combinations count, too: this bounds the work for a malicious file.
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
func (s expansion) excepted(values []string) bool {
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
// bytes of its arguments from room, and stops when none are left.
func (s expansion) variant(values []string, room *int) scenario.Variant {
	var names []string
	for i, axis := range s.Axes {
		names = append(names, axis.Name+"="+strings.Map(plainRune, values[i]))
	}
	v := scenario.Variant{Name: strings.Join(names, ","), Values: map[string]string{}}
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
func (s expansion) substitute(arg string, values []string, room *int) string {
	tokens, err := scenario.Tokens(arg)
	if err != nil {
		return arg // the check of placeholders reports it
	}
	var out strings.Builder
	for _, t := range tokens {
		text := t.Text
		if i := slices.IndexFunc(s.Axes, func(a scenario.Axis) bool { return a.Name == t.Name }); i >= 0 {
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
