package scenario

import (
	"slices"
	"strings"
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
	if len(c.errs) > 0 || c.decodeErr != nil {
		return // a sweep of half-read axes would only raise more errors
	}
	combinations, ok := s.combinations()
	switch {
	case !ok:
		c.faultName(at("sweep", "axes"), "the axes have more than %d combinations; shorten them or list some under except", maxVariants)
	case len(combinations) == 0:
		c.faultName(at("sweep", "except"), "excludes every combination")
	}
	names, room := make([]string, len(combinations)), maxText
	for i, values := range combinations {
		v := s.variant(values, &room)
		if room < 0 {
			c.faultName(at("sweep", "args"), "come to more than %d bytes for all combinations", maxText)
			return
		}
		c.s.Variants, names[i] = append(c.s.Variants, v), v.Name
	}
	c.unique(names, func(int) path { return at("sweep", "axes") })
}

func (c *checker) axes(s *Sweep) {
	names := make([]string, len(s.Axes))
	for i, axis := range s.Axes {
		p := at("sweep", "axes", i)
		names[i] = axis.Name
		c.unique(axis.Values, func(j int) path { return p.to("values", j) })
		switch use := "${" + axis.Name + "}"; {
		case slices.Contains(reserved, axis.Name):
			c.faultAt(p.to("name"), "%q is taken: %s means something else", axis.Name, use)
		case axis.Name != "" && !slices.ContainsFunc(s.Args, func(a string) bool { return strings.Contains(a, use) }):
			c.faultAt(p.to("name"), "sweep.args never mentions %s, so that all its values would be the same", use)
		}
	}
	c.unique(names, func(i int) path { return at("sweep", "axes", i, "name") })
}

func (c *checker) exceptions(s *Sweep) {
	var names []string
	for _, axis := range s.Axes {
		names = append(names, axis.Name)
	}
	for i, e := range s.Except {
		for name, value := range e {
			p := at("sweep", "except", i, name)
			j := slices.Index(names, name)
			if j < 0 {
				c.faultName(p, "unknown axis; %s", didYouMean(name, names))
			} else if !slices.Contains(s.Axes[j].Values, value) {
				c.faultAt(p, "the axis has no value %q; %s", clip(value), didYouMean(value, s.Axes[j].Values))
			}
		}
	}
}

// combinations returns the values of every variant, by axis; the last axis changes fastest. It
// stops when there are too many.
func (s *Sweep) combinations() (all [][]string, ok bool) {
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
// bytes of its arguments from room, and stops when none are left.
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
	tokens, err := split(arg)
	if err != nil {
		return arg // the check of placeholders reports it
	}
	var out strings.Builder
	for _, t := range tokens {
		text := t.text
		if i := slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == t.name }); i >= 0 {
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
