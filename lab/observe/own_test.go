package observe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
)

// paged are facts with a page each five seconds, each after a look.
func paged(texts ...string) Facts {
	f := traced(nil)
	f.Seconds = 5 * float64(len(texts)-1)
	for i, text := range texts {
		f.Readings = append(f.Readings, Reading{Page: ParsePage([]byte(text), float64(5*i)), Looking: i > 0})
	}
	return f
}

func profiled(cores float64) *record.Profile {
	return &record.Profile{Type: record.ValueCPU, Seconds: 1, Stacks: []record.Stack{{Frames: at("main.work"), Value: cores * 1e9}}}
}

func missing(r *Report, text string) bool {
	return slices.ContainsFunc(r.NotSeen, func(s string) bool { return strings.Contains(s, text) })
}

// Counters of several instances behind one address, or of one that began again, are none: what rises
// between two of them is no use.
func TestSeveralProcesses(t *testing.T) {
	page := func(cpu float64, started int) string {
		return fmt.Sprintf("process_cpu_seconds_total %v\nhttp_requests_total %v\nprocess_start_time_seconds %d\n", cpu, 1000*cpu, started)
	}
	for _, tt := range []struct {
		pages []string
		why   string
	}{
		{[]string{page(100, 1), page(9000, 1), page(101, 1), page(9001, 1)}, "http_requests_total fell from 9000000 to 101000"},
		{[]string{page(100, 1), page(9000, 2)}, "process_start_time_seconds changed"},
		{[]string{"jobs_sum 5", "jobs_sum 4", "jobs_sum 10"}, "jobs_sum fell from 5 to 4"},
	} {
		f := paged(tt.pages...)
		f.Counter = "jobs_sum"
		f.Looks[0].CPU = profiled(0.5)
		r := Of(f)
		if r.Rate != nil || *r.CPU.Cores != 0.5 || !missing(r, tt.why) || f.Readings[0].Page == nil {
			t.Errorf("%s: %+v, %+v, %q", tt.why, r.CPU, r.Rate, r.NotSeen)
		}
	}
	f := traced(nil)
	for i, total := range []int{1000, 90000, 1100, 90100} {
		f.Readings = append(f.Readings, Reading{Memory: ParseMemory(fmt.Appendf(nil, "# TotalAlloc = %d\n# HeapAlloc = 7\n", total), float64(5*i))})
	}
	if r := Of(f); r.Memory.Allocated != nil || r.Memory.Heap != nil || !missing(r, "TotalAlloc or NumGC of the runtime's statistics fell") {
		t.Errorf("%+v, %q", r.Memory, r.NotSeen)
	}
}

// A page of metrics that a sidecar serves has the sidecar's CPU time and requests.
func TestPageOfAnotherProcess(t *testing.T) {
	var texts []string
	for i := range 3 {
		texts = append(texts, fmt.Sprintf("process_cpu_seconds_total %v\nhttp_requests_total %d\njobs_total %d\n", 0.05*float64(i), i, 10*i))
	}
	f := paged(texts...)
	f.Looks[0].CPU = profiled(1.9)
	r := Of(f)
	if *r.CPU.Cores != 1.9 || !strings.Contains(r.CPU.Source, "CPU profile") || r.Cost.Cores != nil || r.Rate != nil || !missing(r, "of another process") {
		t.Errorf("%+v, %+v, %q", r.CPU, r.Rate, r.NotSeen)
	}
	f.Counter = "jobs_total"
	if r := Of(f); r.Rate == nil || r.Rate.PerS != 2 {
		t.Errorf("%+v", r.Rate)
	}
	for i := range f.Readings {
		f.Readings[i].Process = &Point{float64(5 * i), 2 * float64(i)}
	}
	if r := Of(f); *r.CPU.Cores != 0.4 || r.Cost.Cores != nil || missing(r, "/proc") {
		t.Errorf("%+v, %q", r.CPU, r.NotSeen)
	}
	for i := range f.Readings {
		f.Readings[i].Process.Value /= 8
	}
	if r := Of(f); *r.CPU.Cores != 1.9 || !missing(r, "process CPU time in /proc grew by less than half") {
		t.Errorf("%+v, %q", r.CPU, r.NotSeen)
	}
	f = paged(texts...)
	f.Looks[0].CPU = profiled(0.15) // 15 samples decide nothing
	if r := Of(f); *r.CPU.Cores != 0.01 || missing(r, "of another process") {
		t.Errorf("%+v, %q", r.CPU, r.NotSeen)
	}
}

// A process may use no more than its CPU quota, of which Go before 1.25 knows nothing.
func TestQuota(t *testing.T) {
	f := traced(nil)
	f.Looks[0].Trace.Procs, f.Looks[0].CPU, f.Quota = 64, profiled(1.9), 2
	r := Of(f)
	if o := r.Resources[0]; *r.CPU.Limit != 2 || *o.Busy != 0.95 || !strings.Contains(o.Detail, "1.9 cores of 2 (CPU quota; GOMAXPROCS is 64)") {
		t.Errorf("%+v, %+v", r.CPU, o)
	}
	f.Quota = 100
	if r := Of(f); *r.CPU.Limit != 64 {
		t.Errorf("%+v", r.CPU)
	}
}

// Counters that no request uses, which libraries register, do not come before those that grew.
func TestUnusedCounter(t *testing.T) {
	f := paged("grpc_server_handled_total{m=\"a\"} 0\nhttp_server_requests_total 5\nhttp_requests_total 0\n", "grpc_server_handled_total{m=\"a\"} 0\nhttp_server_requests_total 5\nhttp_requests_total 5000\n")
	if r := Of(f).Rate; r == nil || r.PerS != 1000 || r.Source != "the counter http_requests_total of the page of metrics" {
		t.Errorf("%+v", r)
	}
	f = paged("http_requests_total 0", "http_requests_total 0")
	f.Looks[0].Trace.Groups = []record.Group{{Entry: record.Frame{Function: "net/http.(*connReader).backgroundRead"}, Goroutines: 300, Started: 7}}
	if r := Of(f).Rate; r == nil || r.PerS != 7 {
		t.Errorf("%+v", r)
	}
}

// If the load falls, the CPU while the process was looked at says nothing of what that cost.
func TestCostWhileTheLoadFell(t *testing.T) {
	f := traced(nil)
	f.Seconds = 4
	for i, used := range []float64{0, 3, 3.1, 6.1, 6.2} {
		f.Readings = append(f.Readings, Reading{Process: &Point{float64(i), used}, Looking: i%2 == 0})
	}
	if c := Of(f).Cost; c.Cores != nil || c.Range != nil || !strings.Contains(c.How, "its load changed") {
		t.Errorf("%+v", c)
	}
}

// Whatever a page has, the report is JSON.
func TestLargestFigures(t *testing.T) {
	text := ""
	for i, name := range append(slices.Clone(used), "http_requests_total", "jobs_total") {
		for label := range 3 {
			text += fmt.Sprintf("%s{a=\"%d\"} %s\n", name, label, []string{"1e308", "1e18"}[i%2])
		}
	}
	f := paged("jobs_total 0\nhttp_requests_total 0\nprocess_cpu_seconds_total 0\n", text)
	f.Counter = "jobs_total"
	if _, err := json.Marshal(Of(f)); err != nil {
		t.Error(err)
	}
}
