package exectrace

import (
	"bytes"
	"io"
	"runtime/trace"
	"strings"
	"sync"
	"testing"

	xtrace "golang.org/x/exp/trace"
)

// twoParts returns a trace of two whole generations.
func twoParts(t testing.TB) []byte {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := recorder.Start(); err != nil {
		t.Skipf("no flight recorder: %v", err)
	}
	return traced(t, func() {
		for n := range 3 {
			if n == 1 {
				recorder.WriteTo(io.Discard) // ends a generation of the trace, too
				recorder.Stop()
			}
			nap()
		}
	})
}

func TestTraceThatBreaksOff(t *testing.T) {
	raw := twoParts(t)
	whole := summarised(t, raw)
	cut := summarised(t, raw[:len(raw)-1])
	if cut.Seconds <= 0 || cut.Seconds >= whole.Seconds {
		t.Errorf("%v s of %v s are left", cut.Seconds, whole.Seconds)
	}
	if all, first := waitIn(t, whole, "sleep", "exectrace.nap"), waitIn(t, cut, "sleep", "exectrace.nap"); all.Count != 3 || first.Count != 1 {
		t.Errorf("%d naps in all and %d in the first part", all.Count, first.Count)
	}
	one := traced(t, nap)
	if s, err := Summarise(bytes.NewReader(one[:len(one)-1])); err == nil || !strings.Contains(err.Error(), "breaks off") {
		t.Errorf("of a trace without a whole part: %+v, %v", s, err)
	}
}

func TestNoTrace(t *testing.T) {
	header := traced(t, nap)[:16]
	for name, raw := range map[string]string{
		"nothing":  "",
		"a page":   "<html>",
		"a header": string(header),
		"later Go": "go 1.99 trace\x00\x00\x00",
		"garbage":  string(header) + strings.Repeat("\x01\x02", 100),
	} {
		if s, err := Summarise(strings.NewReader(raw)); err == nil {
			t.Errorf("%s was summed up as %+v", name, s)
		}
	}
}

// Any input gives a consistent summary, or an error.
func FuzzSummarise(f *testing.F) {
	f.Add(traced(f, nap))
	f.Add(twoParts(f))
	f.Add([]byte("go 1.26 trace\x00\x00\x00"))
	f.Add([]byte("go 1.21 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := Summarise(bytes.NewReader(raw)); err == nil {
			consistent(t, s)
		}
	})
}

// BenchmarkSummarise reports the number of events that are summarized per second.
func BenchmarkSummarise(b *testing.B) {
	raw := traced(b, func() {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				var mu sync.Mutex
				to, from := make(chan int), make(chan int)
				go func() {
					for n := range to {
						from <- n
					}
				}()
				for n := range 500 {
					to <- n
					<-from
					mu.Lock()
					go mu.Unlock()
				}
				close(to)
			})
		}
		all.Wait()
	})
	in, err := xtrace.NewReader(bytes.NewReader(raw))
	if err != nil {
		b.Fatal(err)
	}
	events := 0
	for ; err == nil; events++ {
		_, err = in.ReadEvent()
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Summarise(bytes.NewReader(raw)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
