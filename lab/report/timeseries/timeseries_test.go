package timeseries

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
)

func named(all []Series, name string) (found []Series) {
	for _, s := range all {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// A ladder has the windows of its runs, a capacity for each step, and says that it is valid.
func TestOf(t *testing.T) {
	made := reporttest.Ladder()
	all := Of(made.Experiment, made.Report())
	offered := named(all, "dyno_offered_per_second")
	if len(offered) != len(made.Runs) {
		t.Fatalf("%d runs have offers, of %d", len(offered), len(made.Runs))
	}
	run := made.Runs[0]
	if s := offered[0]; len(s.Points) != len(run.Series) || s.Labels["run"] != run.ID || s.Labels["variant"] != run.Spec.Variant {
		t.Errorf("%d points of %d windows, labels %v", len(s.Points), len(run.Series), s.Labels)
	}
	if quantiles := named(all, "dyno_response_seconds"); len(quantiles) != 2*len(offered) || quantiles[0].Labels["quantile"] != "0.5" || offered[0].Labels["quantile"] != "" {
		t.Errorf("%d series of response times", len(quantiles))
	}
	if n := len(named(all, "dyno_capacity_per_second")); n == 0 || n > len(made.Variants) {
		t.Errorf("%d capacities", n)
	}
	if valid := named(all, "dyno_valid"); len(valid) != 1 || valid[0].Points[0].Value != 1 {
		t.Errorf("valid: %v", valid)
	}
	for _, s := range all {
		for _, p := range s.Points {
			if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
				t.Fatalf("%s has %v", s.Name, p.Value)
			}
		}
	}
}

// A ladder in turns has a point for each slice, where the wall clock was.
func TestOfTurns(t *testing.T) {
	made := reporttest.Turns(record.KindLadder)
	began := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	work, slo := 0, 0
	for i := range made.Slices {
		s := &made.Slices[i]
		s.At = began.Add(time.Duration(s.Start - made.Slices[0].Start))
		if s.Invalid == "" && s.Variant == "plain" && s.Kind == record.SliceSLO {
			slo++
		} else if s.Invalid == "" && s.Variant == "plain" && s.Role == record.RoleMeasure {
			work++
		}
	}
	made.Slices[0].Gauges = map[string]float64{"depth": 1} // of a work slice: not measured
	all := Of(made.Experiment, made.Report())
	points := map[string]int{}
	for _, s := range all {
		if s.Labels["variant"] == "plain" {
			points[s.Name+" "+s.Labels["quantile"]+s.Labels["run"]] += len(s.Points)
		}
	}
	for name, want := range map[string]int{
		"dyno_completed_per_second work slices": work, "dyno_target_cpu_cores work slices": work,
		"dyno_completed_per_second slo slices": slo, "dyno_response_seconds 0.99slo slices": slo, "dyno_slo_met slo slices": slo,
		"dyno_completed_per_second work slices of the twin": work, "dyno_target_gauge work slices": 0,
	} {
		if points[name] != want {
			t.Errorf("%s: %d points, want %d", name, points[name], want)
		}
	}
	first := named(all, "dyno_completed_per_second")[0]
	var of *record.Slice
	for i := range made.Slices {
		if s := &made.Slices[i]; of == nil && s.Invalid == "" && s.Variant == first.Labels["variant"] && s.Kind+" slices" == first.Labels["run"] {
			of = s
		}
	}
	if p := first.Points[0]; !p.At.Equal(of.At.Add(of.Length)) || p.Value != of.PerS() {
		t.Errorf("%v at %v, of a slice of %v/s at %v", p.Value, p.At, of.PerS(), of.At)
	}
	if valid := named(all, "dyno_valid"); valid[0].Points[0].At.Before(made.Slices[len(made.Slices)-1].At) {
		t.Errorf("the result is at %v, before the last slice", valid[0].Points[0].At)
	}
}

// Windows are where the wall clock was; a record of an earlier version is close to it.
func TestWall(t *testing.T) {
	began := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	r := &record.Run{Started: began.Add(-3 * time.Second), BeginAt: began, Begin: 5e9, Series: []record.Window{{Start: 4e9}}}
	r.Target.Ready = time.Second
	if at := wall(r)(6e9); !at.Equal(began.Add(time.Second)) {
		t.Errorf("%v", at)
	}
	r.BeginAt = time.Time{}
	if at := wall(r)(4e9); !at.Equal(began.Add(-2 * time.Second)) {
		t.Errorf("%v without BeginAt", at)
	}
}

// received keeps what a receiver got, decoded to lines.
func received(t *testing.T, decode func([]byte) []string) (url string, lines func() []string) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", r.URL, r.Header, err)
		}
		got = append(append(got, r.URL.Path), decode(body)...)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string { return got }
}

var few = []Series{{"dyno_backlog", map[string]string{"variant": "a", "run": ""}, []Point{{time.UnixMilli(1500), 2.5}, {time.UnixMilli(1600), 3}}}}

func TestOTLP(t *testing.T) {
	url, lines := received(t, func(body []byte) (said []string) {
		var data otlp.MetricsData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Error(err)
		}
		for _, r := range data.ResourceMetrics {
			for _, m := range r.ScopeMetrics[0].Metrics {
				for _, p := range m.GetGauge().DataPoints {
					said = append(said, fmt.Sprint(r.Resource.Attributes[0].Value.GetStringValue(), " ", m.Name, " ", len(p.Attributes), " ", p.GetAsDouble(), " at ", p.TimeUnixNano))
				}
			}
		}
		return said
	})
	for _, base := range []string{url, url + "/api/v1/otlp/v1/metrics"} {
		if err := OTLP(t.Context(), base, few); err != nil {
			t.Fatal(err)
		}
	}
	one := "dyno dyno_backlog 1 2.5 at 1500000000,dyno dyno_backlog 1 3 at 1600000000"
	if got, want := strings.Join(lines(), ","), "/v1/metrics,"+one+",/api/v1/otlp/v1/metrics,"+one; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Large experiments are sent in parts that keep every point.
func TestParts(t *testing.T) {
	long := Series{Name: "a", Points: make([]Point, 2*mostPoints+5)}
	var sizes []int
	err := inParts([]Series{{Name: "b", Points: make([]Point, 7)}, long}, func(part []Series) error {
		n := 0
		for _, s := range part {
			n += len(s.Points)
		}
		sizes = append(sizes, n)
		return nil
	})
	if got := fmt.Sprint(sizes); err != nil || got != fmt.Sprint([]int{mostPoints, mostPoints, 12}) {
		t.Errorf("%s, %v", got, err)
	}
}

// A refusal says what the receiver said, and how to make Prometheus take the series; no password is
// in it.
func TestRefused(t *testing.T) {
	status, said := 404, "404 page not found"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, said, status) }))
	defer server.Close()
	url := strings.Replace(server.URL, "http://", "http://user:secret@", 1)
	send := func(ctx context.Context) string { return fmt.Sprint(OTLP(ctx, url, few)) }
	if err := send(t.Context()); !strings.Contains(err, "--web.enable-otlp-receiver") || strings.Contains(err, "secret") {
		t.Error(err)
	}
	status, said = 400, "out of bounds"
	if err := send(t.Context()); !strings.Contains(err, "out_of_order_time_window") {
		t.Error(err)
	}
	for _, bad := range []string{"127.0.0.1:9090", "ftp://a", "http://", "%"} {
		if err := OTLP(t.Context(), bad, few); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:9090") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
