package reporttest

import (
	"fmt"

	"dyno/lab/record"
)

// Queues is a sweep over three axes: a worker carries 1,000/s, a buffer adds nothing but
// waiting, and without one a third is refused at any rate. Each variant has a ramp that it
// follows up to what it carries.
func Queues() *Made {
	m := New(record.KindSweep, "delivery,p99=100ms,errors=1%")
	m.Name, m.Service = "queues", ""
	add := func(queue string, workers, buffer int) {
		name := fmt.Sprintf("queue=%s,workers=%d,buffer=%d", queue, workers, buffer)
		carries := 1000 * float64(workers)
		m.AddVariant(name, "", "", carries)
		m.Variants[len(m.Variants)-1].Values = map[string]string{"queue": queue, "workers": fmt.Sprint(workers), "buffer": fmt.Sprint(buffer)}
		for _, per := range []float64{600, 900, 1500} {
			offered := per * float64(workers)
			r := m.AddRun(record.RoleSweep, name, 1, offered)
			delivered := min(offered, carries)
			if buffer == 0 {
				delivered = offered * 2 / 3
			}
			t := &r.Totals
			t.Ended, t.Completed, t.Unfinished, t.ThroughputPerS, t.DeliveredPerS = t.Offered, t.Offered, 0, offered, delivered
			t.Failed = int64(float64(t.Offered) * (1 - delivered/offered))
			t.Delivery = record.Quantiles{P50: 1, P99: float64(1+buffer) / float64(workers)}
		}
		m.AddRamp(name, 200*float64(workers), 1700*float64(workers), carries)
	}
	for _, workers := range []int{1, 8} {
		add("unbuffered", workers, 0)
		for _, queue := range []string{"ring", "swap"} {
			add(queue, workers, 64)
			add(queue, workers, 1024)
		}
	}
	return m
}

// AddRamp adds a run under a rising rate, of which no more is delivered than the variant
// carries, and 10% more accepted.
func (m *Made) AddRamp(variant string, from, to, carries float64) *record.Run {
	r := m.AddRun(record.RoleSweep, variant, 1, from)
	r.Spec.RampTo = to
	r.Totals.OfferedPerS = (from + to) / 2
	for i := range r.Series {
		w := &r.Series[i]
		share := float64(w.Start+int64(record.WindowLength/2)-r.Begin) / float64(r.Length)
		offered := (from + (to-from)*max(0, min(1, share))) / 10
		accepted := min(offered, 1.1*carries/10)
		w.Client = record.Client{Offered: int64(offered), Ended: int64(offered), Failed: int64(offered) - int64(accepted),
			Delivered: int64(min(offered, carries/10)), DeliveryP99Ms: 3}
	}
	return r
}
