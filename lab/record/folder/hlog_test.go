package folder

import (
	"bytes"
	"testing"
	"time"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// The library's reader reads back every histogram that was written.
func TestIntervalLogReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		log := newIntervalLog(&out)
		var want []*hdrhistogram.Histogram
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			h := record.NewHistogram()
			for range rapid.IntRange(0, 50).Draw(t, "values") {
				v := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, 1e9), rapid.Int64Range(0, int64(time.Hour))).Draw(t, "ns")
				if err := h.RecordValues(v, rapid.Int64Range(1, 1e6).Draw(t, "times")); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, h)
			if err := log.write("response.200", int64(len(want))*100, 100, h); err != nil {
				t.Fatal(err)
			}
		}
		reader := hdrhistogram.NewHistogramLogReader(&out)
		for i, h := range want {
			got, err := reader.NextIntervalHistogram()
			if err != nil || got == nil {
				t.Fatalf("line %d: %v, %v", i+1, got, err)
			}
			if !got.Equals(h) || got.Tag() != "response.200" || got.StartTimeMs() != int64(i+1)*100 || got.EndTimeMs() != int64(i+2)*100 {
				t.Fatalf("line %d reads back with %d counts, tag %q, from %d to %d ms", i+1, got.TotalCount(), got.Tag(), got.StartTimeMs(), got.EndTimeMs())
			}
		}
	})
}

// The counts are encoded to the byte as the library does it.
func TestIntervalLogPayload(t *testing.T) {
	h := record.NewHistogram()
	for _, v := range []int64{0, 100, 300, 5000, 5100, 1e6, 7e9} {
		h.RecordValues(v, v%7+1)
	}
	log := newIntervalLog(&bytes.Buffer{})
	if err := log.encode(h); err != nil {
		t.Fatal(err)
	}
	again := newIntervalLog(&bytes.Buffer{})
	library, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := hdrhistogram.Decode(library)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.encode(decoded); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(log.payload, again.payload) {
		t.Error("the payload changes when it goes through the library")
	}
}

func BenchmarkIntervalLog(b *testing.B) {
	h := record.NewHistogram()
	for i := range int64(10_000) { // a window at 100,000/s
		h.RecordValue(300_000 + i*i%400_000)
	}
	var out bytes.Buffer
	log := newIntervalLog(&out)
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := log.write("response.200", 100, 100, h); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "bytes/line")
}

func BenchmarkIntervalLogOfLibrary(b *testing.B) {
	h := record.NewHistogram()
	for i := range int64(10_000) {
		h.RecordValue(300_000 + i*i%400_000)
	}
	var out bytes.Buffer
	log := hdrhistogram.NewHistogramLogWriter(&out)
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := log.OutputIntervalHistogram(h); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "bytes/line")
}
