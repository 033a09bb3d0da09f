package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"dyno/lab/record"

	"pgregory.net/rapid"
)

// The published model with its own figures: its author puts the knee at 2.4*L^0.42, and there is
// none.
func TestInflectionOfTheSourcesModel(t *testing.T) {
	const b = publishedB
	for _, tt := range []struct {
		l, c float64 // c 0: none
	}{{100, 0}, {1000, 3.0}, {5000, 11.0}} {
		c, ok := inflection(b, tt.l)
		if ok != (tt.c > 0) || math.Abs(c-tt.c) > 0.05 {
			t.Errorf("L = %g: %.2f, %v; want %.1f", tt.l, c, ok, tt.c)
		}
		claimed := claimedInflection(tt.l)
		if math.Abs(c/claimed-1) < 0.5 {
			t.Errorf("L = %g: %.2f lies at what is claimed, %.1f", tt.l, c, claimed)
		}
		// At that point the curve bends downwards and still rises.
		if second(b*tt.l, claimed) >= 0 || bent(b*tt.l, claimed*1.01) <= bent(b*tt.l, claimed) {
			t.Errorf("L = %g: at %.1f the curve does something else", tt.l, claimed)
		}
	}
}

func bent(u, c float64) float64 { return math.Log2(c) * math.Exp(-u/c) }

// second is the second derivative by differences.
func second(u, c float64) float64 {
	h := 1e-3 * c
	return (bent(u, c+h) - 2*bent(u, c) + bent(u, c-h)) / h / h
}

func TestInflectionIsWhereTheBendTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Float64Range(0.05, 200).Draw(t, "u")
		at, ok := inflection(u, 1)
		if ok != (u > 0.5) {
			t.Fatalf("u = %g: %v", u, ok)
		}
		for _, c := range []float64{1.05, 1.5, 2, 5, 20, 100, 1000} {
			if c > 0.95*at && c < 1.05*at {
				continue // too close to separate by differences
			}
			if up := second(u, c) > 0; up != (ok && c < at) {
				t.Fatalf("u = %g, inflection %g: at %g it bends upwards: %v", u, at, c, up)
			}
		}
	})
}

func TestFitRecoversItsParametersAndHasNoKnee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := curve{rapid.Float64Range(1, 1e5).Draw(t, "a"), rapid.Float64Range(0.01, 3).Draw(t, "b")}
		var points []point
		for _, n := range []float64{2, 4, 8, 16, 32, 64} {
			points = append(points, point{n, 2, want.at(n, 2)})
		}
		c, err := fit(points)
		if err != nil || math.Abs(c.a/want.a-1) > 1e-6 || math.Abs(c.b/want.b-1) > 1e-5 {
			t.Fatalf("got %+v, want %+v (%v)", c, want, err)
		}
		for n := 1.1; n < 1e6; n *= 1.3 {
			if c.at(n*1.01, 2) <= c.at(n, 2) {
				t.Fatalf("falls at %g", n)
			}
		}
	})
	if _, err := fit([]point{{1, 1, 1}, {2, 1, 1}, {4, 1, 1}}); err == nil {
		t.Error("it was fitted at c = 1, where it is 0")
	}
}

// Spans as they would be if the published formula held.
func TestCompare(t *testing.T) {
	e := &record.Experiment{}
	for _, units := range []int{100, 1000, 5000} {
		name := fmt.Sprint(units)
		e.Variants = append(e.Variants, record.Variant{Name: name, Units: units})
		for _, n := range []int{16, 64, 256} {
			e.Runs = append(e.Runs, &record.Run{Spec: record.RunSpec{Variant: name, Connections: n}, Load: record.LoadInfo{Kind: record.KindJobs, Model: "closed"},
				Totals: record.Totals{ThroughputPerS: curve{850, publishedB}.at(float64(n), float64(units))}})
		}
	}
	var b strings.Builder
	if err := compare(&b, e); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a = 850/s, b = 0.0032, error 0.0%", "no knee", "L = 100: none", "L = 1000: 3.0 as fitted", "L = 5000: 11.0 as fitted", "claimed 85.9"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// What is stored has the fit, and the range of those of the rounds.
func TestWriteJSON(t *testing.T) {
	e := &record.Experiment{Name: "spans"}
	for _, units := range []int{1000, 5000} {
		name := fmt.Sprint(units)
		e.Variants = append(e.Variants, record.Variant{Name: name, Units: units})
		for round, b := range []float64{0.002, 0.004} {
			for _, n := range []int{16, 64, 256} {
				e.Runs = append(e.Runs, &record.Run{Spec: record.RunSpec{Variant: name, Connections: n, Round: round}, Load: record.LoadInfo{Kind: record.KindJobs, Model: "closed"},
					Totals: record.Totals{ThroughputPerS: curve{850, b}.at(float64(n), float64(units))}})
			}
		}
	}
	var out bytes.Buffer
	if err := writeJSON(&out, e); err != nil {
		t.Fatal(err)
	}
	var got struct{ Steps []step }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Steps) != 1 || math.Abs(got.Steps[0].OfRound[0]-0.002) > 1e-4 || math.Abs(got.Steps[0].OfRound[1]-0.004) > 1e-4 || got.Steps[0].B <= 0.002 || got.Steps[0].B >= 0.004 {
		t.Errorf("%+v", got.Steps)
	}
}
