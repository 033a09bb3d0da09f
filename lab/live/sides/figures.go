package sides

import (
	"cmp"
	"fmt"

	"dyno/lab/compare"
	"dyno/lab/report"
	"dyno/lab/report/figure"
)

// figureRows returns the figures that at least one side has.
func figureRows(a, b figures) (out []figureRow) {
	add := func(key, name, unit string, write func(figure.Value) string, va, vb figure.Value) *figureRow {
		if !va.Known() && !vb.Known() {
			return &figureRow{} // not shown
		}
		out = append(out, figureRow{key: key, Name: name, Unit: unit, A: write(va), B: write(vb), Ratio: ratio(va, vb)})
		return &out[len(out)-1]
	}
	c := add(compare.MetricCapacity, "capacity", cmp.Or(a.unit, b.unit, "requests per second"), figure.Format, a.capacity, b.capacity)
	c.DetailA, c.DetailB = capacityDetail(a), capacityDetail(b)
	add(compare.MetricWork, "peak work rate", "requests per second", figure.Format, a.work, b.work)
	add("offered", "offered", "requests per second", figure.Format, a.offered, b.offered)
	add("achieved", "achieved", "requests per second", figure.Format, a.achieved, b.achieved)
	add("errors", "errors", "of offers", figure.Percent, a.errors, b.errors)
	for _, f := range report.Figures {
		add(f.Key, f.Name, f.Unit, f.Write, a.figure(f.Key), b.figure(f.Key))
	}
	add("machine", "machine", "MB/s at a fixed amount of work, before the runs", figure.Format, a.speed, b.speed)
	return out
}

// capacityDetail is the data behind a capacity.
func capacityDetail(f figures) string {
	switch {
	case !f.capacity.Known():
		return ""
	case f.interval != nil && f.votes > 0:
		return fmt.Sprintf("%s, %d slices", figure.Between(f.interval), f.votes)
	case f.interval != nil:
		return fmt.Sprintf("%s, %d rounds", figure.Between(f.interval), f.rounds)
	}
	return "no interval"
}

// ratio is B over A.
func ratio(a, b figure.Value) figure.Value {
	if a > 0 && b > 0 {
		return b / a
	}
	return figure.Unknown
}
