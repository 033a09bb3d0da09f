package observe

import (
	"math"
	"testing"
)

const page = `# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{code="200",path="/a } b"} 12
http_requests_total{code="500"} 3 1700000000
process_cpu_seconds_total 1.5
go_gc_duration_seconds{quantile="0"} NaN
broken
also broken x
`

func TestParsePage(t *testing.T) {
	p := ParsePage([]byte(page), 2)
	for name, want := range map[string]float64{"http_requests_total": 15, `http_requests_total{code="500"}`: 3, "process_cpu_seconds_total": 1.5} {
		if got := p.Values[name]; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if len(p.Values) != 4 || p.At != 2 {
		t.Errorf("%+v", p)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte("# TotalAlloc = 12\n# NumGC = x\n#  = \n{} 1\n} 1\n{ 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, v := range ParsePage(text, 0).Values {
			if name == "" || math.IsNaN(v) {
				t.Errorf("%q: %v", name, v)
			}
		}
		if m := ParseMemory(text, 0); m != nil && (math.IsNaN(m.total) || math.IsInf(m.total, 0)) {
			t.Errorf("%+v", m)
		}
	})
}
