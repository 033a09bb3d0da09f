package agent

import (
	"database/sql"
	"net/http"
	"testing"
	"time"
)

// loaded is an Agent as a service with a database has it: ten gauges.
func loaded() *Agent {
	a := New(Config{})
	a.DBStats("orders", func() sql.DBStats { return sql.DBStats{} })
	a.Gauge("async_queue_depth", func() float64 { return 1 })
	a.Gauge("async_oldest_age_seconds", func() float64 { return 0.25 })
	h := a.StartTime(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	h.ServeHTTP(nil, request(ago(0)))
	return a
}

// maxSampleAllocs is what a sample with ten gauges may allocate: its line, which the listeners
// share, and what encoding/json takes for a map.
const maxSampleAllocs = 20

func TestSampleAllocatesLittle(t *testing.T) {
	a, r := loaded(), newReader()
	defer r.close()
	s, timeout := Sample{Gauges: map[string]float64{}}, time.NewTimer(time.Hour)
	n := testing.AllocsPerRun(100, func() {
		if _, err := a.take(r, &s, timeout); err != nil {
			t.Fatal(err)
		}
	})
	if n > maxSampleAllocs {
		t.Errorf("a sample allocates %v times", n)
	}
	if s.Gauges["async_queue_depth"] != 1 {
		t.Errorf("gauges %v", s.Gauges)
	}
}

// A sample may cost 100 us: ten a second are then 0.1% of a core.
func BenchmarkSample(b *testing.B) {
	a, r := loaded(), newReader()
	defer r.close()
	s, timeout := Sample{Gauges: map[string]float64{}}, time.NewTimer(time.Hour)
	b.ReportAllocs()
	before, _ := ProcessCPU()
	for b.Loop() {
		if _, err := a.take(r, &s, timeout); err != nil {
			b.Fatal(err)
		}
	}
	reportCore(b, before)
}

// reportCore says what part of a core it takes to do ten times a second what a benchmark has done
// since the process's CPU time was read. The time that others held the processor is not in it.
func reportCore(b *testing.B, before float64) {
	after, _ := ProcessCPU()
	b.ReportMetric((after-before)/float64(b.N)*SamplesPerSecond*100, "%core")
}
