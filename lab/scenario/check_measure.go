package scenario

import (
	"math"
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
	if c.has(p.to("cpu")) && c.s.Load.Kind != Jobs {
		c.faultName(p.to("cpu"), "belongs to load.kind: jobs; of a server that is sent requests the target's own CPU counts")
	}
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
