package dyno

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// figure is where a stored result has what was measured. With a base, it is the step's value over
// that of the base. Without a step it is that of the result's only one.
type figure struct {
	File, Step, Base string
	At               float64 // of a sweep: the rate that was offered, or the concurrency
	Metric           string  // GROUP.NAME is one of a group's, as of bench/claims/plain
}

func (f figure) String() string {
	text := fmt.Sprintf("`%s`: %s", f.File, f.Metric)
	if f.Step != "" {
		text += fmt.Sprintf(" of `%s`", f.Step)
	}
	if f.Base != "" {
		text += fmt.Sprintf(" over `%s`", f.Base)
	}
	if f.At > 0 {
		text += " at " + digits(f.At)
	}
	return text
}

// steps are those that the figure is of; f may be nil.
func (f *figure) steps() (names []string) {
	if f != nil {
		names = slices.DeleteFunc([]string{f.Base, f.Step}, func(name string) bool { return name == "" })
	}
	return names
}

// stored reports whether the row's figure is there.
func (c claim) stored() bool {
	if c.Figure == nil {
		return false
	}
	r, err := stored(c.Figure.File)
	if err == nil {
		_, err = c.Figure.from(r)
	}
	return err == nil
}

// exact are the metrics that are counted, and the same each time.
var exact = []string{"bytes_per_message", "allocs_per_op", "connection_reuse"}

// measure is a value between the ends of its interval, which are the value itself without one.
type measure struct{ at, lo, hi float64 }

// from returns the figure of the stored result. The interval of a quotient of two figures is as
// wide as both allow.
func (f figure) from(r result) (measure, error) {
	v, err := f.of(r, f.Step)
	if err != nil || f.Base == "" {
		return v, err
	}
	base, err := f.of(r, f.Base)
	return measure{v.at / base.at, v.lo / base.hi, v.hi / base.lo}, err
}

// of returns the metric of a step. A ratio to the baseline is 1 for the baseline.
func (f figure) of(r result, step string) (measure, error) {
	if len(r.Steps) > 0 && r.Steps[0]["name"] == step && strings.HasSuffix(f.Metric, "ratio_to_baseline") {
		return measure{1, 1, 1}, nil
	}
	rows := f.rows(r, step)
	if len(rows) == 0 {
		return measure{}, fmt.Errorf("docs/results/%s.json has no step %q (at a rate or concurrency of %g, if that is above 0)", f.File, step, f.At)
	}
	var best measure
	found := false
	for _, row := range rows {
		if v, ok := f.in(row); ok && (!found || v.at > best.at) {
			best, found = v, true
		}
	}
	if !found {
		return measure{}, fmt.Errorf("docs/results/%s.json: step %q has no figure %q", f.File, step, f.Metric)
	}
	return best, nil
}

// rows are those of a step, with those of its databases. Of a job without a concurrency they are
// those of each. The highest figure counts.
func (f figure) rows(r result, step string) (rows []map[string]any) {
	if f.At == 0 && f.Metric != "per_s" {
		for _, s := range r.Steps {
			if s["name"] == step || step == "" && len(r.Steps) == 1 {
				rows = append(rows, s)
			}
		}
		for _, d := range r.Databases {
			if d["variant"] == step {
				rows = append(rows, d)
			}
		}
		return rows
	}
	for _, row := range r.Sweep {
		if rate, _ := row["offered_per_s"].(float64); row["variant"] == step && math.Abs(rate-f.At) <= f.At/20 {
			rows = append(rows, row)
		}
	}
	for _, curve := range r.Scaling {
		for _, point := range curve.Points {
			if curve.Variant == step && (f.At == 0 || point["concurrency"] == f.At) {
				rows = append(rows, point)
			}
		}
	}
	return rows
}

// in reads the metric of a row. Only one with an interval of its own may be 0.
func (f figure) in(row map[string]any) (v measure, ok bool) {
	value, interval := row[f.Metric], row[columns[f.Metric].interval]
	if group, name, named := strings.Cut(f.Metric, "."); named {
		of, _ := row[group].(map[string]any)
		value, interval = of[name], nil
	}
	if three, ok := value.([]any); ok {
		return between(three)
	}
	at, _ := value.(float64)
	v = measure{at, at, at}
	if of, _ := interval.([]any); len(of) == 2 {
		v, _ = between([]any{at, of[0], of[1]})
	}
	return v, at != 0
}

// between reads a value and the ends of its interval.
func between(of []any) (v measure, ok bool) {
	if len(of) != 3 {
		return measure{}, false
	}
	v.at, ok = of[0].(float64)
	v.lo, _ = of[1].(float64)
	v.hi, _ = of[2].(float64)
	return v, ok
}

// A figure is read of a step, of a rate or a concurrency of a sweep, and of the best concurrency.
func TestFigureOf(t *testing.T) {
	var r result
	if err := r.read([]byte(`{
		"steps": [{"name": "a", "work_per_s": 100, "work_interval": [90, 110]}, {"name": "b", "work_per_s": 200, "work_interval": [190, 210], "shares": {"json": [0.4, 0.3, 0.5], "pool": [0, 0, 0.02]}, "p95_ms": {"journal.Seal": 3}}],
		"databases": [{"variant": "b", "name": "reads", "connection_reuse": 0.9}, {"variant": "b", "name": "lists", "connection_reuse": null}],
		"sweep": [{"variant": "q=1,n=2", "offered_per_s": 998, "p99_ms": 20}, {"variant": "q=1,n=2", "offered_per_s": 250, "p99_ms": 5}, {"variant": "q=2,n=2", "offered_per_s": 1000, "p99_ms": 40}],
		"scaling": [{"variant": "a", "points": [{"concurrency": 4, "per_s": 70}, {"concurrency": 8, "per_s": 60}]}]}`)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		f    figure
		want measure // none: an error
	}{
		{figure{Step: "b", Base: "a", Metric: "work_per_s"}, measure{2, 190.0 / 110, 210.0 / 90}},
		{figure{Step: "b", Metric: "shares.json"}, measure{0.4, 0.3, 0.5}},
		{figure{Step: "b", Metric: "shares.pool"}, measure{0, 0, 0.02}},
		{figure{Step: "b", Metric: "p95_ms.journal.Seal"}, measure{3, 3, 3}},
		{figure{Step: "b", Metric: "connection_reuse"}, measure{0.9, 0.9, 0.9}},
		{figure{Step: "q=1,n=2", Base: "q=2,n=2", At: 1000, Metric: "p99_ms"}, measure{0.5, 0.5, 0.5}},
		{figure{Step: "a", At: 8, Metric: "per_s"}, measure{60, 60, 60}},
		{figure{Step: "a", Metric: "per_s"}, measure{70, 70, 70}},
		{figure{Step: "a", At: 16, Metric: "per_s"}, measure{}},
		{figure{Step: "a", Metric: "shares.json"}, measure{}},
		{figure{Metric: "work_per_s"}, measure{}}, // of which step?
	} {
		got, err := tt.f.from(r)
		if got != tt.want || (err != nil) != (tt.want == measure{}) {
			t.Errorf("%v: %+v, %v; want %+v", tt.f, got, err, tt.want)
		}
	}
	if err := (&r).read([]byte(`{"variant": "serve", "capacity_per_s": 900, "interval": [800, 1000], "steps": [{"offered_per_s": 900}]}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := (figure{Metric: "capacity_per_s"}).from(r); err != nil || got != (measure{900, 800, 1000}) {
		t.Errorf("a capacity: %+v, %v", got, err)
	}
}
