package scenario

import (
	"slices"
	"strings"

	"dyno/lab/scenario/document"
)

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
	combinations, ok := s.combinations()
	switch {
	case !ok:
		c.FaultName(document.At("sweep", "axes"), "the axes have more than %d combinations; shorten them or list some under except", maxVariants)
	case len(combinations) == 0:
		c.FaultName(document.At("sweep", "except"), "excludes every combination")
	}
	names, room := make([]string, len(combinations)), document.MaxText
	for i, values := range combinations {
		v := s.variant(values, &room)
		if room < 0 {
			c.FaultName(document.At("sweep", "args"), "come to more than %d bytes for all combinations", document.MaxText)
			return
		}
		c.s.Variants, names[i] = append(c.s.Variants, v), v.Name
	}
	c.unique(names, func(int) document.Path { return document.At("sweep", "axes") })
}

func (c *checker) axes(s *Sweep) {
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

func (c *checker) exceptions(s *Sweep) {
	var names []string
	for _, axis := range s.Axes {
		names = append(names, axis.Name)
	}
	for i, e := range s.Except {
		for name, value := range e {
			p := document.At("sweep", "except", i, name)
			j := slices.Index(names, name)
			if j < 0 {
				c.FaultName(p, "unknown axis; %s", document.DidYouMean(name, names))
			} else if !slices.Contains(s.Axes[j].Values, value) {
				c.FaultAt(p, "the axis has no value %q; %s", document.Clip(value), document.DidYouMean(value, s.Axes[j].Values))
			}
		}
	}
}
