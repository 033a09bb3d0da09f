package scenario

import (
	"math"
	"slices"
	"strconv"

	"dyno/lab/record"
)

func (c *checker) measure() {
	p, m := at("measure"), &c.s.Measure
	if m.StartRate > 0 && m.MaxRate > 0 && m.StartRate > m.MaxRate {
		c.faultAt(p.to("start_rate"), "%g/s is more than measure.max_rate, %g/s", m.StartRate, m.MaxRate)
	}
	c.withinMaxRate(p.to("start_rate"), m.StartRate)
	c.concurrency(p)
	c.per(p)
	most := c.mostPer()
	for i, rate := range m.Rates {
		c.withinMaxRate(p.to("rates", i), rate*most)
	}
	c.ramp(p, most)
	if c.has(p.to("rates")) && c.s.Mode != record.KindSweep {
		c.faultName(p.to("rates"), "belongs to mode: sweep; mode %s finds its rates itself", c.s.Mode)
	}
	if c.has(p.to("connections")) && c.s.Mode != record.KindLoad {
		c.faultName(p.to("connections"), "belongs to mode: load; write load.connections for mode %s", c.s.Mode)
	}
}

// per checks the axis by which rates are scaled.
func (c *checker) per(p path) {
	per := c.s.Measure.Per
	if !c.has(p.to("per")) {
		return
	}
	if c.s.Mode != record.KindSweep {
		c.faultName(p.to("per"), "belongs to mode: sweep; mode %s finds its rates itself", c.s.Mode)
		return
	}
	var names []string
	if c.s.Sweep != nil {
		for i, axis := range c.s.Sweep.Axes {
			if names = append(names, axis.Name); axis.Name != per {
				continue
			}
			for j, value := range axis.Values {
				if n, err := strconv.ParseFloat(value, 64); err != nil || !(n > 0) || math.IsInf(n, 0) {
					c.faultAt(at("sweep", "axes", i, "values", j), "found %q; measure.per scales by this axis, so its values must be numbers above 0", clip(value))
				}
			}
			return
		}
	}
	if len(names) == 0 {
		c.faultName(p.to("per"), "names an axis of sweep, which is missing")
		return
	}
	c.faultAt(p.to("per"), "unknown axis %q; %s", clip(per), didYouMean(per, names))
}

// mostPer returns the largest factor of the rates.
func (c *checker) mostPer() float64 {
	most := 1.0
	for _, v := range c.s.Variants {
		most = max(most, c.s.Scale(v))
	}
	return most
}

// ramp checks the rising rate under the mode and, for jobs, their arguments.
func (c *checker) ramp(p path, most float64) {
	r := c.s.Measure.Ramp
	p = p.to("ramp")
	if r == nil || !c.has(p) {
		return
	}
	if c.s.Mode != record.KindSweep {
		c.faultName(p, "belongs to mode: sweep; write load.schedule: {kind: ramp, from: 100, to: 2000} for mode load")
	}
	if r.From > 0 && r.From >= r.To {
		c.faultAt(p.to("to"), "%g is not above from, %g", r.To, r.From)
	}
	c.withinMaxRate(p.to("to"), r.To*most)
	if c.s.Load.Kind == Jobs && !c.mentions("${ramp_to}") {
		c.faultName(p, "load.args never mentions ${ramp_to}, so the job would not know it; write for example args: [--rate, \"${rate}\", --ramp-to, \"${ramp_to}\"]")
	}
}

func (c *checker) knobs() {
	names := make([]string, len(c.s.Knobs))
	for i, k := range c.s.Knobs {
		p := at("knobs", i)
		names[i] = k.Name
		c.needOne(p, "values: [1, 8, 32]", "values", "range")
		c.unique(k.Values, func(j int) path { return p.to("values", j) })
		if len(k.Values) > 0 && !slices.Contains(k.Values, k.Default) {
			c.faultAt(p.to("default"), "%s is not one of values; %s", clip(k.Default), didYouMean(k.Default, k.Values))
		}
		if k.Range != nil {
			c.knobRange(p, *k.Range, k.Default)
		}
	}
	c.unique(names, func(i int) path { return at("knobs", i, "name") })
}

func (c *checker) knobRange(p path, r Range, start string) {
	switch v, err := strconv.ParseFloat(start, 64); {
	case !c.has(p.to("range", "from")) || !c.has(p.to("range", "to")):
		// the schema asks for both
	case r.From >= r.To:
		c.faultAt(p.to("range", "to"), "%g is not above from, %g", r.To, r.From)
	case r.Scale == "log" && r.From <= 0:
		c.faultAt(p.to("range", "from"), "a log scale begins above 0")
	case err != nil || !(v >= r.From && v <= r.To):
		c.faultAt(p.to("default"), "%s is not within %g ... %g", clip(start), r.From, r.To)
	}
}
