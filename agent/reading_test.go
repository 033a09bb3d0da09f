package agent

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"
)

// Every figure must exist in the Go that builds this: one that was renamed would read as 0 for
// ever.
func TestTheRuntimeHasEveryFigure(t *testing.T) {
	r := newReader()
	defer r.close()
	for i, s := range r.metrics {
		if s.Value.Kind() == metrics.KindBad {
			t.Errorf("figure %d: this runtime has no %s", i, s.Name)
		}
	}
}

var sink [][]byte

func TestSampleFollowsTheProcess(t *testing.T) {
	const objects, size = 100_000, 128
	r := newReader()
	defer r.close()
	var before, after Sample
	r.read(&before)
	sink = make([][]byte, 0, objects)
	for range objects {
		sink = append(sink, make([]byte, size))
	}
	runtime.GC()
	r.read(&after)
	sink = nil
	if n := after.Allocs - before.Allocs; n < objects || n > 2*objects {
		t.Errorf("%d allocations seen of %d", n, objects)
	}
	if n := after.AllocBytes - before.AllocBytes; n < objects*size {
		t.Errorf("%d bytes seen of %d", n, objects*size)
	}
	if after.GCCycles == before.GCCycles || after.GCPause <= before.GCPause || after.GCCPU <= before.GCCPU {
		t.Errorf("a collection left no trace: %+v after %+v", after, before)
	}
	if after.GCPauseMax <= 0 || after.GCPauseMax > 10 {
		t.Errorf("longest pause %v s", after.GCPauseMax)
	}
	if after.HeapLive < objects*size {
		t.Errorf("%d live bytes, %d are held", after.HeapLive, objects*size)
	}
	if after.CPU <= before.CPU || after.At <= before.At {
		t.Errorf("CPU %v s at %d ns after %v s at %d ns", after.CPU, after.At, before.CPU, before.At)
	}
}

// The pauses of a sample are those since the sample before, each in the bucket of its length.
func TestPausesSinceTheSampleBefore(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // no collections but those below
	r := newReader()
	defer r.close()
	var s Sample
	for _, collections := range []int{3, 0, 1} {
		for range collections {
			runtime.GC()
		}
		r.read(&s)
		count, longest, total := uint64(0), 0.0, 0.0
		for _, p := range s.GCPauses {
			if p.UpTo <= longest || p.Count == 0 {
				t.Errorf("pauses %v", s.GCPauses)
			}
			count, longest, total = count+p.Count, p.UpTo, total+float64(p.Count)*p.UpTo
		}
		if count < uint64(collections) || (count == 0) != (collections == 0) || longest != s.GCPauseMax {
			t.Errorf("%d pauses up to %v s in %d collections; the longest is said to be %v s", count, longest, collections, s.GCPauseMax)
		}
	}
}

// What the kernel did for the process is a part of its CPU time, and grows by it.
func TestSystemCPU(t *testing.T) {
	var s Sample
	r := newReader()
	defer r.close()
	r.read(&s)
	before := s.SystemCPU
	for deadline := time.Now().Add(30 * time.Second); s.SystemCPU <= before; r.read(&s) {
		for range 1000 {
			os.Getppid() // a system call
		}
		if time.Now().After(deadline) {
			t.Fatalf("system calls left no trace: %v s before and after", before)
		}
	}
	if s.SystemCPU > s.CPU {
		t.Errorf("%v s in the kernel of %v s in all", s.SystemCPU, s.CPU)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	r := newReader()
	defer r.close()
	var s Sample
	if n := testing.AllocsPerRun(100, func() { r.read(&s) }); n != 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

func TestHistogramDelta(t *testing.T) {
	edges := []float64{math.Inf(-1), 1, 2, 4, math.Inf(1)}
	steps := []struct {
		name   string
		counts []uint64
		q      float64
		want   float64
	}{
		{"everything so far", []uint64{0, 1, 0, 0}, 1, 2},
		{"nothing new", []uint64{0, 1, 0, 0}, 1, 0},
		{"an old bucket does not count", []uint64{5, 1, 0, 0}, 1, 1},
		{"the last bucket has no upper edge", []uint64{5, 1, 0, 1}, 1, 4},
		{"the upper half", []uint64{15, 1, 11, 1}, 0.5, 4},
		{"just the lower half", []uint64{25, 1, 20, 1}, 0.5, 1},
	}
	var d histogramDelta
	for _, s := range steps {
		d.advance(&metrics.Float64Histogram{Counts: s.counts, Buckets: edges})
		if got := d.quantile(&metrics.Float64Histogram{Counts: s.counts, Buckets: edges}, s.q); got != s.want {
			t.Errorf("%s: %v, want %v", s.name, got, s.want)
		}
	}
}

// The quantile of the gain must be the upper edge of the bucket in which the sorted values have it.
func TestHistogramDeltaAgreesWithSorting(t *testing.T) {
	seeded(t, func(t *testing.T, r *rand.Rand) {
		buckets := 1 + r.IntN(20)
		h := &metrics.Float64Histogram{Counts: make([]uint64, buckets), Buckets: make([]float64, buckets+1)}
		for i := range h.Buckets {
			h.Buckets[i] = float64(i)
		}
		var d histogramDelta
		for range 1 + r.IntN(4) {
			values := make([]int, 1+r.IntN(50))
			for i := range values {
				values[i] = r.IntN(buckets)
				h.Counts[values[i]]++
			}
			q := 0.01 + 0.99*r.Float64()
			slices.Sort(values)
			want := float64(values[int(math.Ceil(q*float64(len(values))))-1] + 1)
			d.advance(h)
			if got := d.quantile(h, q); got != want {
				t.Fatalf("quantile %v of %v: %v, want %v", q, values, got, want)
			}
		}
	})
}

func TestSum(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{1, 2, 1}, Buckets: []float64{math.Inf(-1), 1, 3, math.Inf(1)}}
	if got := sum(h); got != 1+2*2+3 {
		t.Errorf("sum %v, want 8", got)
	}
}
