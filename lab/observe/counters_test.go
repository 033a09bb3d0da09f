package observe

import (
	"bytes"
	"fmt"
	"maps"
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
less -1
large 1e308
labelled{path="a # \"}{"} 7 # {trace_id="x"} 1.0 1520879607.7
plain_total 8 # {trace_id="x"} 1.0
open{path="a} 9
`

func TestParsePage(t *testing.T) {
	p := ParsePage([]byte(page), 2)
	want := map[string]float64{"http_requests_total": 15, `http_requests_total{code="200",path="/a } b"}`: 12, `http_requests_total{code="500"}`: 3,
		"process_cpu_seconds_total": 1.5, "labelled": 7, `labelled{path="a # \"}{"}`: 7, "plain_total": 8}
	if !maps.Equal(p.Values, want) || p.At != 2 {
		t.Errorf("%+v", p)
	}
}

// A page with too many series is none, instead of the first of them; of others, only the counters that
// a report may use are kept.
func TestLargePages(t *testing.T) {
	var text bytes.Buffer
	for i := range maxSeries {
		fmt.Fprintf(&text, "a%d_http_requests_total 1\n", i)
	}
	p := ParsePage(text.Bytes(), 0)
	if p == nil || len(p.Values) != maxSeries {
		t.Fatal("a page of the largest permitted number of series was refused")
	}
	p.Values[processSeconds], p.Values["jobs"], p.Values["others"] = 1, 2, 3
	if got := p.Only("jobs").Values; len(got) != maxLikely+2 || got[processSeconds] != 1 || got["jobs"] != 2 {
		t.Errorf("%d kept: %v", len(got), got)
	}
	text.WriteString("one_more 1\n")
	if p := ParsePage(text.Bytes(), 0); p != nil {
		t.Errorf("%d series", len(p.Values))
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 300: "300", 12345: "12300", 1.7e9: "1700000000", 0.0000123: "0.0000123", 2.0: "2", -1.234: "-1.23"} {
		if got := Number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte("# TotalAlloc = 12\n# NumGC = x\n#  = \n{} 1\n} 1\n{ 1"))
	f.Add([]byte("a{b=\"\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p := ParsePage(text, 0); p != nil {
			for name, v := range p.Values {
				if name == "" || !(v >= 0 && v <= maxCount*maxSeries) {
					t.Errorf("%q: %v", name, v)
				}
			}
		}
		if m := ParseMemory(text, 0); m != nil && (math.IsNaN(m.total) || math.IsInf(m.total, 0)) {
			t.Errorf("%+v", m)
		}
	})
}
