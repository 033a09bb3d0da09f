package calibration

import (
	"math"
	"strings"
	"testing"

	"dyno/lab/record"
)

// taken is a run whose profile has that CPU time, in us per request, at each function that a
// handler calls.
func taken(requests float64, us map[string]float64) *record.Run {
	p := &record.Profile{Type: record.ValueCPU, Seconds: 2, Requests: requests}
	for function, each := range us {
		frames := []record.Frame{{Function: "main.handle", File: "/src/main.go", Line: 10}, {Function: "net/http.HandlerFunc.ServeHTTP"}}
		if function != "main.handle" {
			frames = append([]record.Frame{{Function: function}}, frames...)
		}
		p.Stacks = append(p.Stacks, record.Stack{Frames: frames, Value: each * 1e3 * requests})
	}
	return &record.Run{FixtureProfiles: []*record.Profile{p}}
}

func TestCompare(t *testing.T) {
	before := taken(10_000, map[string]float64{"main.handle": 100, "encoding/json.Marshal": 60, "fmt.Sprintf": 10})
	after := taken(20_000, map[string]float64{"main.handle": 100, "strconv.AppendInt": 15, "fmt.Sprintf": 10})
	d, ok := Compare(before, after, [2]float64{})
	if !ok || math.Abs(d.Gone-60) > 1e-6 || math.Abs(d.New-15) > 1e-6 || math.Abs(d.Before-170) > 1e-6 || math.Abs(d.After-125) > 1e-6 {
		t.Fatalf("%v %+v", ok, d)
	}
	if d.GoneIn != "main.handle calling encoding/json.Marshal" || d.NewIn != "main.handle calling strconv.AppendInt" {
		t.Errorf("%+v", d)
	}
	if r := d.Removal(); math.Abs(r.CPU-60.0/170) > 1e-9 || !strings.Contains(r.CPUOf, "encoding/json.Marshal") {
		t.Errorf("%+v", r)
	}
}

// With a hundred samples, a place that has two of them more is no difference; but a total that
// fell by a half is, even if no place alone shows it.
func TestCompareFewSamples(t *testing.T) {
	few := func(each float64) *record.Run {
		us := map[string]float64{}
		for _, f := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			us["strings."+f] = each
		}
		return taken(1000, us)
	}
	if d, ok := Compare(few(50), few(60), [2]float64{}); !ok || d.Gone != 0 || d.New != 0 {
		t.Errorf("%v %+v", ok, d)
	}
	if d, ok := Compare(few(50), few(20), [2]float64{}); !ok || math.Abs(d.Gone-300) > 1e-6 || d.New != 0 {
		t.Errorf("%v %+v", ok, d)
	}
	if d, ok := Compare(few(50), &record.Run{}, [2]float64{}); ok {
		t.Errorf("without a profile: %+v", d)
	}
}

// What a request costs was measured in turns; the profiles divide it, however few their samples.
func TestCompareOfMeasured(t *testing.T) {
	before := taken(10_000, map[string]float64{"main.handle": 100, "encoding/json.Marshal": 60})
	after := taken(10_000, map[string]float64{"main.handle": 100, "strconv.AppendInt": 100})
	d, ok := Compare(before, after, [2]float64{80, 40})
	if !ok || math.Abs(d.Gone-60) > 1e-6 || math.Abs(d.New-20) > 1e-6 || math.Abs(d.Before-80) > 1e-6 || math.Abs(d.After-40) > 1e-6 {
		t.Errorf("%v %+v", ok, d)
	}
	if d, ok := Compare(before, &record.Run{}, [2]float64{80, 40}); !ok || d.Gone != 40 || d.New != 0 || d.GoneIn != "" {
		t.Errorf("without a profile: %v %+v", ok, d)
	}
	one := taken(1, map[string]float64{"main.handle": 100})
	if d, ok := Compare(one, one, [2]float64{80, 40}); !ok || math.Abs(d.Gone-40) > 1e-6 || d.New != 0 {
		t.Errorf("%v %+v", ok, d)
	}
}

func TestShareOf(t *testing.T) {
	r := taken(1000, map[string]float64{"main.handle": 30, "encoding/json.Marshal": 50, "runtime.mallocgc": 10})
	p := r.FixtureProfiles[0]
	p.Stacks = append(p.Stacks, record.Stack{Frames: []record.Frame{{Function: "runtime.gcBgMarkWorker"}}, Value: 10 * 1e3 * 1000})
	if s := ShareOf(r, "encoding/json.Marshal"); math.Abs(s-0.5) > 1e-9 {
		t.Errorf("%v", s)
	}
	if s := ShareOf(r, "main.handle"); math.Abs(s-1) > 1e-9 { // it allocates, so the collector works for it
		t.Errorf("%v", s)
	}
	if s := ShareOf(&record.Run{}, "main.handle"); s != 0 {
		t.Errorf("without a profile: %v", s)
	}
}
