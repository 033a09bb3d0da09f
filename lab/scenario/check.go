package scenario

import (
	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

// checker finds faults that a schema cannot express. It asks the document whether a field exists,
// and the decoded scenario for its value. A field of the wrong type exists too; the schema reports
// its type.
type checker struct {
	*document.Document
	s         *Scenario
	load      *Fields // the fields of load, as the file has them
	decodeErr error   // reported only if nothing else is: the schema describes the same fault better
}

// decode fills in the scenario, as far as the types allow.
func (c *checker) decode() {
	file := File{Scenario: *c.s}
	c.decodeErr = c.Decode(&file)
	*c.s, c.load = file.Scenario, &file.Load
	c.s.Load = file.Load.Whole()
	var err error
	if c.s.SLO, err = readSLO(c.Document, document.At("slo")); c.decodeErr == nil {
		c.decodeErr = err
	}
	if c.s.Mode == "" {
		c.s.Mode = defaultMode(c.Has(document.At("sweep")), c.Has(document.At("variants")), c.Has(document.At("slo")))
	}
}

func (c *checker) check() {
	c.target()
	c.companions()
	c.variants()
	c.sweep()
	c.needed()
	c.setup(document.At("setup"), c.s.Setup)
	c.loads()
	c.schedule()
	c.measure()
	c.placeholders()
}

// counted reports whether the size of the load is a number, of units or of sessions, and not a rate.
func (c *checker) counted() bool    { return c.s.Load.Traits().Axis != workload.AxisRate }
func (c *checker) ofSessions() bool { return c.s.Load.Traits().Axis == workload.AxisSessions }

// needed checks that the fields that the mode needs exist.
func (c *checker) needed() {
	of, p := c.mode(), document.At("mode")
	if !c.Has(p) && c.Has(document.At("variants")) {
		p = document.At("variants") // the variants made it a ladder
	}
	if of.compares && !c.Has(document.At("variants", 1)) && !c.Has(document.At("sweep")) {
		c.FaultName(p, "a %s compares variants; list at least two under variants", c.s.Mode)
	}
	if of.listed && !c.Has(document.At("variants")) && !c.Has(document.At("sweep")) {
		c.FaultName(p, "a sweep needs something to vary: variants, or sweep with its axes")
	}
	if of.listed && !c.Has(document.At("measure", "rates")) && !c.counted() {
		c.FaultName(document.At("measure"), "a sweep runs at every rate of measure.rates, which is missing; write for example rates: [1000, 10000]")
	}
	if of.searches && !c.s.Load.Traits().Searchable() {
		c.FaultName(document.At("load", "kind"), "mode %s does not measure jobs at a rate; write axis: concurrency with \"${concurrency}\" in args, or mode: sweep with measure.rates", c.s.Mode)
	}
	if of.searches && !c.Has(document.At("slo")) {
		c.FaultName(p, "mode %s looks for the highest rate that meets an slo, which is missing; write for example slo: p99=20ms,errors=0.1%%", c.s.Mode)
	}
}

// refuse reports an error at each of the fields of the mapping at p that exists.
func (c *checker) refuse(p document.Path, message string, names ...string) {
	for _, name := range names {
		if c.Has(p.To(name)) {
			c.FaultName(p.To(name), "%s", message)
		}
	}
}

// needOne reports an error unless exactly one of the fields of the mapping at p exists.
func (c *checker) needOne(p document.Path, example string, names ...string) {
	var there []string
	for _, name := range names {
		if c.Has(p.To(name)) {
			there = append(there, name)
		}
	}
	switch {
	case len(there) == 0:
		c.FaultName(p, "needs %s; write for example %s", oneOf(names), example)
	case len(there) > 1:
		c.onlyOne(p, names...)
	}
}

// onlyOne reports an error for each field of the mapping at p after the first of the given names.
func (c *checker) onlyOne(p document.Path, names ...string) {
	first := ""
	for _, name := range names {
		switch {
		case !c.Has(p.To(name)):
		case first == "":
			first = name
		default:
			c.FaultName(p.To(name), "excludes %s; keep one of them", first)
		}
	}
}

// unique reports an error for each repeated name; where returns the place of the i-th.
func (c *checker) unique(names []string, where func(i int) document.Path) {
	first := make(map[string]int, len(names))
	for i, name := range names {
		if j, twice := first[name]; twice && name != "" {
			c.FaultAt(where(i), "%q is used already: see %s", document.Clip(name), c.Display(where(j)))
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
