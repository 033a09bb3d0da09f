package scenario

import (
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
	for i, rate := range m.Rates {
		c.withinMaxRate(p.to("rates", i), rate)
	}
	if c.has(p.to("rates")) && c.s.Mode != record.KindSweep {
		c.faultName(p.to("rates"), "belongs to mode: sweep; mode %s finds its rates itself", c.s.Mode)
	}
	if c.has(p.to("connections")) && c.s.Mode != record.KindLoad {
		c.faultName(p.to("connections"), "belongs to mode: load; write load.connections for mode %s", c.s.Mode)
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
