package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"dyno/lab/record"
)

// madeQueues is a sweep over three axes: a worker carries 1,000/s, a buffer adds nothing but waiting, and
// without one a third is refused at any rate. Each variant has a ramp that it follows up to what it carries.
func madeQueues() *made {
	m := newMade(record.KindSweep, "delivery,p99=100ms,errors=1%")
	m.Name, m.Service = "queues", ""
	add := func(queue string, workers, buffer int) {
		name := fmt.Sprintf("queue=%s,workers=%d,buffer=%d", queue, workers, buffer)
		carries := 1000 * float64(workers)
		m.variant(name, "", "", carries)
		m.Variants[len(m.Variants)-1].Values = map[string]string{"queue": queue, "workers": fmt.Sprint(workers), "buffer": fmt.Sprint(buffer)}
		for _, per := range []float64{600, 900, 1500} {
			offered := per * float64(workers)
			r := m.run(record.RoleSweep, name, 1, offered)
			delivered := min(offered, carries)
			if buffer == 0 {
				delivered = offered * 2 / 3
			}
			t := &r.Totals
			t.Ended, t.Completed, t.Unfinished, t.AchievedPerS, t.DeliveredPerS = t.Offered, t.Offered, 0, offered, delivered
			t.Failed = int64(float64(t.Offered) * (1 - delivered/offered))
			t.Delivery = record.Quantiles{P50: 1, P99: float64(1+buffer) / float64(workers)}
			t.Server.Gauges = map[string]float64{GaugeRoom: float64(buffer + workers), GaugeServers: float64(workers), GaugeService: 1000}
		}
		m.ramp(name, 200*float64(workers), 1700*float64(workers), carries)
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

// ramp adds a run under a rising rate, of which no more is delivered than the variant carries, and 10%
// more accepted.
func (m *made) ramp(variant string, from, to, carries float64) *record.Run {
	r := m.run(record.RoleSweep, variant, 1, from)
	r.Step.RampTo = to
	r.Totals.OfferedPerS = (from + to) / 2
	for i := range r.Series {
		w := &r.Series[i]
		share := float64(w.Start+int64(record.WindowLength/2)-r.Begin) / float64(r.Length)
		offered := (from + (to-from)*max(0, min(1, share))) / 10
		accepted := min(offered, 1.1*carries/10)
		w.Client = record.Client{Offered: int64(offered), Completed: int64(offered), Failed: int64(offered) - int64(accepted),
			Delivered: int64(min(offered, carries/10)), DeliveryP99Ms: 3}
	}
	return r
}

func TestRampsSayHowFarTheyWereFollowed(t *testing.T) {
	got := madeQueues().report().Sweep.Ramps
	if len(got) != 10 {
		t.Fatalf("%d ramps of 10 variants", len(got))
	}
	r := got[0]
	// A stretch of 0.5 s is 125/s of the ramp's 1,500; 98% are still through just above what is carried.
	if math.Abs(float64(r.Delivered)-1000) > 140 || math.Abs(float64(r.Accepted)-1100) > 140 || r.From != 200 || r.To != 1700 {
		t.Errorf("%+v; want delivered to follow up to 1,000/s and accepted up to 1,100/s", r)
	}
	if len(r.Moments) != 0 || rampCells(got)[0][4] != "none" {
		t.Errorf("moments %v in a calm ramp", r.Moments)
	}
}

// A stall from which the target recovers is not where it stopped following.
func TestFollowedIgnoresAStall(t *testing.T) {
	m := newMade(record.KindSweep, "delivery,p99=100ms,errors=1%")
	m.variant("x", "", "", 5000)
	r := m.ramp("x", 100, 1000, 5000)
	for i := range 7 {
		r.Series[warmWindows+20+i].Client.Delivered = 0
	}
	delivered := func() Ramp { return m.report().Sweep.Ramps[0] }
	if got := delivered().Delivered; got != 1000 {
		t.Errorf("followed up to %v of 1000", got)
	}
	if words := delivered().FollowedWords(1000); words != "all the way" {
		t.Errorf("in words %q", words)
	}
	for i := range r.Series {
		r.Series[i].Client.Delivered = 0
	}
	if got := delivered().Delivered; got != 0 || delivered().FollowedWords(got) != "at no rate" {
		t.Errorf("followed up to %v where nothing came", got)
	}
}

// The three signs together are an inflection; the latency is that of deliveries.
func TestRampInflection(t *testing.T) {
	m := newMade(record.KindSweep, "delivery,p99=100ms,errors=1%")
	m.variant("x", "", "", 5000)
	r := m.ramp("x", 1000, 1600, 5000)
	for i := 40; i < 60; i++ {
		w := &r.Series[warmWindows+i]
		w.Client.Delivered /= 10
		w.Client.DeliveryP99Ms = 900
		w.Server = &record.Server{GCPauseMs: 30}
	}
	r.Series[warmWindows+52].Server.GCPauseMs = 290
	// p99 needs five seconds for its reference: it rises in the sixth.
	for i := 40; i < 50; i++ {
		r.Series[warmWindows+i].Client.DeliveryP99Ms = 3
	}
	got := m.report().Sweep.Ramps[0]
	if len(got.Moments) == 0 || !got.Moments[0].Joint || got.Moments[0].At != 1400 || !strings.HasPrefix(got.Moments[0].Words(), "inflection at 1,400/s: the rate fell by") {
		t.Errorf("%+v", got.Moments)
	}
	for _, i := range m.report().Inflections {
		if strings.Contains(i.Run, "1,600/s") {
			t.Errorf("the ramp is listed among the constant rates: %+v", i)
		}
	}
}

func TestRampsStayOutOfConstantRates(t *testing.T) {
	r := madeQueues().report()
	if len(r.Sweep.Rows) != 30 {
		t.Errorf("%d rows of 10 variants under 3 rates", len(r.Sweep.Rows))
	}
	for _, row := range r.Sweep.Rows {
		if strings.Contains(row.Variant, "workers=1,") && row.Offered != 600 && row.Offered != 900 && row.Offered != 1500 {
			t.Errorf("%+v", row)
		}
	}
}

func TestSweepAnswerSaysWhatEachAxisDid(t *testing.T) {
	got := madeQueues().report().Answer
	for _, want := range []string{
		"Capacity comes from the workers: at most 1,000/s delivered with 1, 8,000/s with 8;",
		"the buffer only buys latency: it changed the delivered rate by 0% and p99 under the highest rate by a factor of 16;",
		"the kind of queue changed the delivered rate by 0% and p99 under the highest rate by a factor of 1;",
		"unbuffered refused 33% to 33% even under the lowest rate, the others at most 0%.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func TestPanels(t *testing.T) {
	s := madeQueues().report().Sweep
	if len(s.Panels) != 2 || s.Panels[0].Name != "workers 1" || s.Panels[1].Name != "workers 8" {
		t.Fatalf("%d panels: %+v", len(s.Panels), s.Panels)
	}
	p := s.Panels[1]
	if len(p.Flows) != 5 || p.Flows[2].Name != "ring, buffer 1024" || len(p.Queues) != 5 || !p.Numbered() {
		t.Errorf("cells %d, queues %+v", len(p.Flows), p.Queues)
	}
	for _, q := range p.Queues {
		if q.Predicted == nil {
			t.Errorf("%s has no prediction", q.Name)
		}
	}
	var page bytes.Buffer
	if err := HTML(&page, madeQueues().report()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="chart-latency-1"`, "ring, buffer 1024", "Under a rising rate", "M/M/c/N"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

// Variants that were not reached, or one of which has lost a point, leave the others comparable.
func TestPanelsOfHalfASweep(t *testing.T) {
	m := madeQueues()
	for _, r := range m.Runs {
		if r.Step.Variant == "queue=ring,workers=1,buffer=64" && r.Step.Rate == 1500 {
			r.Invalid = "other processes took 40% of the machine"
		}
	}
	m.Runs = m.Select(func(r *record.Run) bool { return !strings.Contains(r.Step.Variant, "workers=8") })
	s := m.report().Sweep
	if len(s.Panels) != 1 || s.Panels[0].Name != "workers 1" || len(s.Panels[0].Queues) != 5 || s.Panels[0].At == 1500 {
		t.Errorf("%+v", s.Panels)
	}
}
