package report_test

import (
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/view"
)

// A stall from which the target recovers is not where it stopped following.
func TestFollowedIgnoresAStall(t *testing.T) {
	m := reporttest.New(record.KindSweep, "delivery,p99=100ms,errors=1%")
	m.AddVariant("x", "", "", 5000)
	r := m.AddRamp("x", 100, 1000, 5000)
	for i := range 7 {
		r.Series[reporttest.WarmWindows+20+i].Client.Delivered = 0
	}
	delivered := func() view.Ramp { return m.Report().Sweep.Ramps[0] }
	if got := delivered().Delivered; got != 1000 {
		t.Errorf("followed up to %v of 1000", got)
	}
	if words := delivered().FollowedText(1000); words != "all the way" {
		t.Errorf("in words %q", words)
	}
	for i := range r.Series {
		r.Series[i].Client.Delivered = 0
	}
	if got := delivered().Delivered; got != 0 || delivered().FollowedText(got) != "at no rate" {
		t.Errorf("followed up to %v where nothing came", got)
	}
}

// The three signs together are an inflection; the latency is that of deliveries.
func TestRampInflection(t *testing.T) {
	m := reporttest.New(record.KindSweep, "delivery,p99=100ms,errors=1%")
	m.AddVariant("x", "", "", 5000)
	r := m.AddRamp("x", 1000, 1600, 5000)
	for i := 40; i < 60; i++ {
		w := &r.Series[reporttest.WarmWindows+i]
		w.Client.Delivered /= 10
		w.Client.DeliveryP99Ms = 900
		w.Server = &record.Server{GCPauseMs: 30}
	}
	r.Series[reporttest.WarmWindows+52].Server.GCPauseMs = 290
	// p99 needs five seconds for its reference: it rises in the sixth.
	for i := 40; i < 50; i++ {
		r.Series[reporttest.WarmWindows+i].Client.DeliveryP99Ms = 3
	}
	got := m.Report().Sweep.Ramps[0]
	if len(got.Moments) == 0 || !got.Moments[0].Joint || got.Moments[0].At != 1400 || !strings.HasPrefix(got.Moments[0].Line(), "inflection at 1,400/s: the rate fell by") {
		t.Errorf("%+v", got.Moments)
	}
	for _, i := range m.Report().Inflections {
		if strings.Contains(i.Run, "1,600/s") {
			t.Errorf("the ramp is listed among the constant rates: %+v", i)
		}
	}
}

func TestRampsStayOutOfConstantRates(t *testing.T) {
	r := reporttest.Queues().Report()
	if len(r.Sweep.Rows) != 30 {
		t.Errorf("%d rows of 10 variants under 3 rates", len(r.Sweep.Rows))
	}
	for _, row := range r.Sweep.Rows {
		if strings.Contains(row.Variant, "workers=1,") && row.Offered != 600 && row.Offered != 900 && row.Offered != 1500 {
			t.Errorf("%+v", row)
		}
	}
}

func TestSweepAnswerNamesWhatCarriesMost(t *testing.T) {
	got := reporttest.Queues().Report().Answer
	if want := "delivered the most with p99 <= 100 ms: 8,000/s."; !strings.Contains(got, want) || strings.Contains(got, "workers=1,") {
		t.Errorf("%q does not say %q, of eight workers alone", got, want)
	}
}

// Variants that were not reached, or one of which has lost a point, leave the others comparable.
func TestPanelsOfHalfASweep(t *testing.T) {
	m := reporttest.Queues()
	for _, r := range m.Runs {
		if r.Spec.Variant == "queue=ring,workers=1,buffer=64" && r.Spec.Rate == 1500 {
			r.Invalid = "other processes took 40% of the machine"
		}
	}
	m.Runs = m.Select(func(r *record.Run) bool { return !strings.Contains(r.Spec.Variant, "workers=8") })
	s := m.Report().Sweep
	if len(s.Panels) != 1 || s.Panels[0].Name != "workers 1" {
		t.Errorf("%+v", s.Panels)
	}
}
