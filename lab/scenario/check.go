package scenario

import "dyno/lab/record"

// checker finds faults that a schema cannot express. It asks the document whether a field exists,
// and the decoded scenario for its value: a field of the wrong type exists, and the schema
// reports its type.
type checker struct {
	*document
	rules     *schema
	s         *Scenario
	decodeErr error // the schema reports the same fault in better words
}

// decode fills in the scenario, as far as the types allow.
func (c *checker) decode() {
	c.decodeErr = c.root.Decode(c.s)
	c.slo()
	if c.s.Mode == "" {
		c.s.Mode = c.defaultMode()
	}
}

func (c *checker) defaultMode() string {
	switch {
	case c.has(at("sweep")):
		return record.KindSweep
	case c.has(at("variants")):
		return record.KindLadder
	case c.has(at("slo")):
		return record.KindCapacity
	}
	return record.KindLoad
}

func (c *checker) check() {
	c.target()
	c.companions()
	c.variants()
	c.sweep()
	c.mode()
	c.setup(at("setup"), c.s.Setup)
	c.load()
	c.schedule()
	c.measure()
	c.placeholders()
}

// mode checks the fields that a mode needs.
func (c *checker) mode() {
	mode, p := c.s.Mode, at("mode")
	if !c.has(p) && c.has(at("variants")) {
		p = at("variants") // the variants made it a ladder
	}
	switch mode {
	case record.KindLadder, record.KindCompare:
		if !c.has(at("variants", 1)) && !c.has(at("sweep")) {
			c.faultName(p, "a %s compares variants; list at least two under variants", mode)
		}
	case record.KindSweep:
		if !c.has(at("variants")) && !c.has(at("sweep")) {
			c.faultName(p, "a sweep needs something to vary: variants, or sweep with its axes")
		}
		if !c.has(at("measure", "rates")) && !c.s.ByConcurrency() {
			c.faultName(at("measure"), "a sweep runs at every rate of measure.rates, which is missing; write for example rates: [1000, 10000]")
		}
	}
	seeksCapacity := mode == record.KindLadder || mode == record.KindCompare || mode == record.KindCapacity
	if seeksCapacity && !c.has(at("slo")) {
		c.faultName(p, "mode %s looks for the highest rate that meets an slo, which is missing; write for example slo: p99=20ms,errors=0.1%%", mode)
	}
}

// needOne reports an error unless exactly one of the fields of the mapping at p exists.
func (c *checker) needOne(p path, example string, names ...string) {
	var there []string
	for _, name := range names {
		if c.has(p.to(name)) {
			there = append(there, name)
		}
	}
	switch {
	case len(there) == 0:
		c.faultName(p, "needs %s; write for example %s", oneOf(names), example)
	case len(there) > 1:
		c.onlyOne(p, names...)
	}
}

// onlyOne reports an error for each field of the mapping at p after the first of the given names.
func (c *checker) onlyOne(p path, names ...string) {
	first := ""
	for _, name := range names {
		switch {
		case !c.has(p.to(name)):
		case first == "":
			first = name
		default:
			c.faultName(p.to(name), "excludes %s; keep one of them", first)
		}
	}
}

// unique reports an error for each repeated name; where returns the place of the i-th.
func (c *checker) unique(names []string, where func(i int) path) {
	first := make(map[string]int, len(names))
	for i, name := range names {
		if j, twice := first[name]; twice && name != "" {
			c.faultAt(where(i), "%q is used already: see %s", clip(name), c.display(where(j)))
			continue
		}
		first[name] = i
	}
}

// oneOf returns "one of a, b or c".
func oneOf(names []string) string {
	out := "one of "
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			out += " or "
		default:
			out += ", "
		}
		out += name
	}
	return out
}
