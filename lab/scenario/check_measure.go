package scenario

import (
	"math"
	"strconv"

	"dyno/lab/scenario/document"
)

func (c *checker) measure() {
	p, m := document.At("measure"), &c.s.Measure
	c.concurrency(p)
	c.per(p)
	most := c.mostPer()
	for i, rate := range m.Rates {
		c.withinMaxRate(p.To("rates", i), rate*most)
	}
	c.ramp(p, most)
	if c.s.Load.Traits().Sends {
		c.refuse(p, "belongs to load.kind: jobs; of a server that is sent requests the target's own CPU counts", "cpu")
	}
	if c.Has(p.To("rates")) && !c.mode().listed {
		c.FaultName(p.To("rates"), "belongs to mode: sweep; mode %s finds its rates itself", c.s.Mode)
	}
	if c.Has(p.To("connections")) && !c.mode().once {
		c.FaultName(p.To("connections"), "belongs to mode: load; write load.connections for mode %s", c.s.Mode)
	}
}

// per checks the axis by which rates are scaled.
func (c *checker) per(p document.Path) {
	per := c.s.Measure.Per
	if !c.Has(p.To("per")) {
		return
	}
	if !c.mode().listed {
		c.FaultName(p.To("per"), "belongs to mode: sweep; mode %s finds its rates itself", c.s.Mode)
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
					c.FaultAt(document.At("sweep", "axes", i, "values", j), "found %q; measure.per scales by this axis, so its values must be numbers above 0", document.Clip(value))
				}
			}
			return
		}
	}
	if len(names) == 0 {
		c.FaultName(p.To("per"), "names an axis of sweep, which is missing")
		return
	}
	c.FaultAt(p.To("per"), "unknown axis %q; %s", document.Clip(per), document.DidYouMean(per, names))
}

// mostPer returns the largest factor by which a variant scales the rates.
func (c *checker) mostPer() float64 {
	most := 1.0
	for _, v := range c.s.Variants {
		most = max(most, c.s.Scale(v))
	}
	return most
}

// ramp checks whether the mode has a rising rate, its bounds and, for jobs, their arguments.
func (c *checker) ramp(p document.Path, most float64) {
	r := c.s.Measure.Ramp
	p = p.To("ramp")
	if r == nil || !c.Has(p) {
		return
	}
	if !c.mode().listed {
		c.FaultName(p, "belongs to mode: sweep; write load.schedule: {kind: ramp, from: 100, to: 2000} for mode load")
	}
	if r.From > 0 && r.From >= r.To {
		c.FaultAt(p.To("to"), "%g is not above from, %g", r.To, r.From)
	}
	c.withinMaxRate(p.To("to"), r.To*most)
	if !c.s.Load.Traits().Sends && !c.mentions("${ramp_to}") {
		c.FaultName(p, "load.args never mentions ${ramp_to}, so the job would not know it; write for example args: [--rate, \"${rate}\", --ramp-to, \"${ramp_to}\"]")
	}
}
