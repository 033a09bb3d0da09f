package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// madeJob is an experiment of a job over concurrency.
type madeJob struct{ *record.Experiment }

func newMadeJob(kind string) madeJob {
	slo, err := record.ParseSLO("p95=200ms,errors=0.1%")
	if err != nil {
		panic(err)
	}
	e := newMade(kind, "p95=200ms,errors=0.1%").Experiment
	e.Name, e.Service, e.SLO, e.Command, e.Scenario, e.Variants = "batches", "batches", slo, []string{"dyno", "run", "scenarios/batches.yaml"}, "name: batches\n", nil
	return madeJob{e}
}

// run adds a run with x units per second at concurrency n.
func (m madeJob) run(role, variant string, round, n int, x float64, bound map[string]float64) *record.Run {
	r := &record.Run{Version: record.Version, SLO: m.SLO, Machine: m.Machine, Length: 4 * time.Second,
		Step: record.Step{Role: role, Variant: variant, Round: round, Closed: true, Connections: n, Length: 4 * time.Second},
		Load: record.Load{Kind: record.KindJobs, Model: "closed", Engine: "job", Connections: n, Schedule: fmt.Sprintf("%d units in flight", n)}}
	r.ID = fmt.Sprintf("%s-%s-%d-%d", role, variant, round, n)
	ms := float64(n) / x * 1000
	done := int64(4 * x)
	r.Totals = record.Totals{Offered: done, Ended: done, Completed: done, OfferedPerS: x, AchievedPerS: x,
		Response: record.Quantiles{P50: 0.8 * ms, P90: 1.1 * ms, P95: 1.3 * ms, P99: 1.9 * ms, P999: 2 * ms, Max: 2 * ms, Mean: ms},
		Server:   &record.ServerTotals{CPUMicrosPerRequest: 1800, AllocsPerRequest: 120, BytesPerRequest: 40000, PeakRSS: 90 << 20}}
	for k := range 40 {
		r.Series = append(r.Series, record.Window{Start: int64(k) * int64(record.WindowLength), Phase: record.PhaseMeasure,
			Client: record.Client{Offered: done / 40, Completed: done / 40, P50Ms: 0.8 * ms, P99Ms: 1.9 * ms}, Server: &record.Server{Gauges: bound}})
	}
	m.Runs, m.Order = append(m.Runs, r), append(m.Order, r.ID)
	return r
}

// madeJobLadder is three steps: one after the other, in parallel up to a server's budget, and with a larger one.
func madeJobLadder() *record.Experiment {
	m := newMadeJob(record.KindLadder)
	for _, v := range []struct {
		name, change string
		roof         float64
		best         int
	}{{"plain", "the plain program", 40, 1}, {"shards", "ranges are fetched side by side", 240, 6}, {"scan", "answers are scanned, not decoded", 420, 11}} {
		m.Variants = append(m.Variants, record.Variant{Name: v.name, Change: v.change})
		bound := map[string]float64{"bound_server": 0.85, "bound_cpu": 0.1}
		for _, n := range []int{1, 2, 4, 6, 8, 11, 16, 32} {
			if v.name == "plain" && n > 1 {
				break
			}
			m.run(record.RoleSearch, v.name, 0, n, min(40*float64(n), v.roof)*(1+0.01*math.Sin(float64(n))), bound)
		}
		for round := 1; round <= 6; round++ {
			m.run(record.RoleMeasure, v.name, round, v.best, min(40*float64(v.best), v.roof)*(1+0.004*float64(round%3)), bound)
		}
	}
	for round := 1; round <= 6; round++ {
		m.run(record.RoleFloor, "plain", round, 1, 40*(1+0.004*float64((round+1)%3)), nil)
	}
	return m.Experiment
}

// madeSpans is a sweep over three loads per job, by the model that claims a knee.
func madeSpans() *record.Experiment {
	m := newMadeJob(record.KindSweep)
	for _, span := range []struct {
		units int
		at    []int
	}{{100, []int{16, 32, 64, 96, 128}}, {1000, []int{32, 64, 128, 256, 384}}, {5000, []int{64, 128, 256, 512, 768}}} {
		name := fmt.Sprintf("span-%d", span.units)
		m.Variants = append(m.Variants, record.Variant{Name: name, Units: span.units})
		for _, n := range span.at {
			x := 85 * math.Log2(float64(n)) * math.Exp(-0.0032*float64(span.units)/float64(n))
			m.run(record.RoleSweep, name, 1, n, x*(1+0.01*math.Cos(float64(n))), nil)
		}
	}
	return m.Experiment
}

func TestLadderOfAJob(t *testing.T) {
	r := Build(madeJobLadder())
	if r.Invalid != "" || r.Scaling == nil || len(r.Charts) != 0 {
		t.Fatalf("invalid %q, scaling %v, %d charts over rates", r.Invalid, r.Scaling, len(r.Charts))
	}
	for _, want := range []string{"scan carries", "p95 <= 200 ms", "with concurrency 11", "waiting for the server's budget or its answers (85%)"} {
		if !strings.Contains(r.Answer, want) {
			t.Errorf("answer %q, want %q in it", r.Answer, want)
		}
	}
	if s := r.Steps[1]; s.AtOnce != 6 || math.Abs(float64(s.Ratio)-6) > 0.01 || s.RatioInterval == nil || r.Floor == nil {
		t.Errorf("step %+v, floor %v", s, r.Floor)
	}
	shards := r.Scaling.Curves[1]
	if len(shards.Points) != 8 || len(shards.Ranked) == 0 || shards.Ranked[0].Model != "roof" || !strings.HasPrefix(shards.InWords, "min(k*c, roof) explains the points best") {
		t.Errorf("%d points, %s", len(shards.Points), shards.InWords)
	}
	if plain := r.Scaling.Curves[0]; len(plain.Ranked) != 0 || !strings.Contains(plain.InWords, "comparing models takes") {
		t.Errorf("a single point: %s", plain.InWords)
	}
}

func TestSpansSayWhereTheSourcesModelBends(t *testing.T) {
	r := Build(madeSpans())
	if r.Invalid != "" || len(r.Scaling.Curves) != 3 {
		t.Fatalf("%q, %v", r.Invalid, r.Scaling)
	}
	for _, want := range []string{"it shows no knee", "nowhere for L = 100, at c = 3.0 for L = 1,000 and at c = 11.0 for L = 5,000, not at the 2.4*L^0.42 = 16.6, 43.7 and 85.9"} {
		if !strings.Contains(r.Scaling.Joint, want) {
			t.Errorf("%q, want %q in it", r.Scaling.Joint, want)
		}
	}
	for _, c := range r.Scaling.Curves[1:] {
		if c.Ranked[0].Model != "log" {
			t.Errorf("%s is said to be %s: %s", c.Variant, c.Ranked[0].Model, c.InWords)
		}
	}
	if !strings.Contains(r.Answer, "span-1000 did") || !strings.Contains(r.Answer, "at concurrency 384") {
		t.Errorf("answer %q", r.Answer)
	}
}

// Every form of the report shows the points and says what explains them.
func TestScalingInEveryForm(t *testing.T) {
	for _, e := range []*record.Experiment{madeJobLadder(), madeSpans()} {
		r := Build(e)
		var page, text, mark, object bytes.Buffer
		for form, err := range map[string]error{"page": HTML(&page, r), "terminal": Terminal(&text, r, Style{}), "markdown": Markdown(&mark, r), "json": JSON(&object, r)} {
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
		}
		for form, out := range map[string]string{"page": page.String(), "terminal": text.String(), "markdown": strings.ReplaceAll(mark.String(), "\\", "")} {
			if !strings.Contains(out, "explains the points best") || !strings.Contains(out, "concurrency") {
				t.Errorf("%s of %s does not say what explains the points:\n%.2000s", form, e.Kind, out)
			}
		}
		if !strings.Contains(page.String(), `class="line fit-roof"`) {
			t.Error("no curve is drawn")
		}
		var read struct {
			Scaling []struct {
				Points []struct {
					Concurrency int     `json:"concurrency"`
					PerS        float64 `json:"per_s"`
				} `json:"points"`
				Fits []struct {
					Model       string  `json:"model"`
					LeaveOneOut float64 `json:"leave_one_out"`
				} `json:"fits"`
			} `json:"scaling"`
		}
		if err := json.Unmarshal(object.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
		if len(read.Scaling) != 3 || len(read.Scaling[2].Points) < 5 || read.Scaling[2].Fits[0].LeaveOneOut <= 0 || read.Scaling[2].Points[0].PerS <= 0 {
			t.Errorf("%+v", read)
		}
	}
}
