package scenario

import (
	"slices"
	"strings"

	"dyno/lab/record"
	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

// mentions reports whether the arguments of a job contain a placeholder.
func (c *checker) mentions(placeholder string) bool {
	return c.load.Job != nil && slices.ContainsFunc(c.load.Job.Args, func(a string) bool { return strings.Contains(a, placeholder) })
}

// jobTexts checks the placeholders of a job's arguments.
func (c *checker) jobTexts(p document.Path, before scope) {
	if c.load.Job != nil {
		c.textList(p.To("args"), c.load.Job.Args, scope{owners: before.owners, plain: c.jobPlaceholders()})
	}
}

func (c *checker) hasAny(p document.Path, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return c.Has(p.To(name)) })
}

// jobPlaceholders returns the placeholders of a job's arguments.
func (c *checker) jobPlaceholders() []string {
	names := []string{"duration", "warmup", "debug", workload.Scratch}
	if c.Has(document.At("load", "feeder")) {
		names = append(names, "rows")
	}
	if c.counted() {
		return append(names, "concurrency", "units")
	}
	return append(names, "rate", "ramp_to")
}

// byConcurrency checks a job whose load is a number of concurrent units.
func (c *checker) byConcurrency(p document.Path) {
	// Variants that are compared may each choose their own concurrency.
	if !c.mentions("${concurrency}") && !c.mode().pairs {
		c.FaultName(p.To("args"), "never mentions ${concurrency}, so that every run would be the same; write for example args: [--workers, \"${concurrency}\"]")
	}
	c.refuse(p, "is about units per second, and axis: concurrency starts a unit whenever another is done", "schedule", "max_rate")
	if c.s.SLO.On == record.OnDelivery {
		c.FaultAt(document.At("slo"), "counts until delivery, which axis: concurrency does not support; a unit counts when the job completes it")
	}
	for i, v := range c.s.Variants {
		if units := c.s.LoadOf(v).Units; units == 0 && strings.Contains(strings.Join(c.s.LoadOf(v).Job.Args, " "), "${units}") {
			c.FaultName(p.To("args"), "mentions ${units}, but variant %s has no units; write for example units: 1000", c.s.Variants[i].Name)
			return
		}
	}
	if len(c.s.Variants) == 0 && c.s.Load.Units == 0 && c.mentions("${units}") {
		c.FaultName(p.To("args"), "mentions ${units}, but load.units is missing; write for example units: 1000")
	}
}

// jobVariant checks the load of a job's variant.
func (c *checker) jobVariant(p document.Path) {
	c.refuse(p, "has no effect on jobs, which send nothing; write args for a variant", "headers", "body", "repeat", "array", "url", "check")
	if !c.counted() {
		c.refuse(p, "belongs to load.axis: concurrency", "units", "concurrency")
	}
}

// concurrency checks the fields of measure that only jobs by concurrency or sessions have, and
// those that they lack.
func (c *checker) concurrency(p document.Path) {
	m := &c.s.Measure
	if c.ofSessions() {
		c.refuse(p, "is about a rate, and the load is a number of sessions", "max_rate", "rates", "ramp", "per", "hold", "connections")
		c.refuse(p, "lists concurrencies of jobs; write load.sessions: [50, 100, 200]", "concurrency")
		if most := m.MaxConcurrency; most > 0 && m.StartConcurrency > most {
			c.FaultAt(p.To("start_concurrency"), "%d is more than measure.max_concurrency, %d", m.StartConcurrency, most)
		}
		return
	}
	if !c.counted() {
		c.refuse(p, "belongs to jobs by concurrency (load: {kind: jobs, axis: concurrency}) and to sessions", "start_concurrency", "max_concurrency", "concurrency")
		return
	}
	c.refuse(p, "is about a rate, and load.axis is concurrency", "max_rate", "rates", "ramp", "per", "hold")
	if c.Has(p.To("concurrency")) {
		c.refuse(p, "bounds a search, and measure.concurrency lists what is tried instead; keep one of them", "start_concurrency", "max_concurrency")
	}
	if most := m.MaxConcurrency; most > 0 && m.StartConcurrency > most {
		c.FaultAt(p.To("start_concurrency"), "%d is more than measure.max_concurrency, %d", m.StartConcurrency, most)
	}
	switch {
	case c.mode().once:
		c.FaultName(document.At("load", "axis"), "mode load drives at a rate; write mode: sweep with measure.concurrency for runs at known concurrencies")
	case c.mode().listed && len(c.s.Measure.Concurrency) == 0 && slices.ContainsFunc(c.s.Variants, c.nowhere):
		c.FaultName(document.At("measure"), "a sweep runs with every number of measure.concurrency, which is missing; write for example concurrency: [16, 32, 64, 128]")
	}
}

// nowhere reports whether a sweep has no concurrency at which to run a variant.
func (c *checker) nowhere(v Variant) bool { return len(c.s.ConcurrencyOf(v)) == 0 }
