package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock returns the bubble's time as a monotonic clock with an odd start value.
func clock() func() int64 {
	begin := time.Now()
	return func() int64 { return 12_345_650_000_000 + int64(time.Since(begin)) }
}

// output is what is printed by a Writer.
type output struct {
	windows []windowLine
	end     bool
	err     string
}

func read(t rapid.TB, text string) (out output) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Fatalf("the last line is cut off: %q", text)
	}
	for line := range strings.Lines(text) {
		if out.end {
			t.Fatalf("a line after the last: %s", line)
		}
		var l struct {
			windowLine
			End   bool
			Error string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if out.end, out.err = l.End, l.Error; !l.End {
			out.windows = append(out.windows, l.windowLine)
		}
	}
	return out
}

// counts returns the number of values in all windows' histograms, by tag.
func (o output) counts(t rapid.TB) map[string]int64 {
	sum := map[string]int64{}
	for _, w := range o.windows {
		for tag, text := range w.Hists {
			h, err := hdrhistogram.Decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			sum[tag] += h.TotalCount()
		}
	}
	return sum
}

func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := start(&out, clock())
		depth := 0.0
		w.Gauge("depth", func() float64 { depth++; return depth })
		w.Gauge("nonsense", func() float64 { return math.NaN() })
		w.Done(40*time.Millisecond, 1000, false)
		time.Sleep(70 * time.Millisecond) // the next window, since the clock began in the middle of one
		w.Done(20*time.Millisecond, 0, true)
		time.Sleep(200 * time.Millisecond)
		w.Done(time.Millisecond, 1, false)
		if err := w.Close(nil); err != nil {
			t.Fatal(err)
		}
		w.Done(1, 1, false) // too late
		o := read(t, out.String())
		if !o.end || o.err != "" || len(o.windows) != 4 {
			t.Fatalf("%+v", o)
		}
		base := int64(12_345_600_000_000)
		for i, want := range []windowLine{
			{Start: base, Phase: "measure", Client: client{Offered: 1, Sent: 1, Completed: 1}},
			{Start: base + 1e8, Phase: "measure", Client: client{Offered: 1, Sent: 1, Completed: 1, Failed: 1}},
			{Start: base + 2e8, Phase: "measure"},
			{Start: base + 3e8, Phase: "drain", Client: client{Offered: 1, Sent: 1, Completed: 1}}, // not a whole window
		} {
			if got := o.windows[i]; got.Start != want.Start || got.Phase != want.Phase || got.Client != want.Client {
				t.Errorf("window %d is %+v, want %+v", i, got, want)
			}
		}
		if g := o.windows[0].Gauges; len(g) != 2 || g["depth"] != 1 || g[gaugeBytes] != 10_000 {
			t.Errorf("gauges %v", g)
		}
		h, err := hdrhistogram.Decode([]byte(o.windows[0].Hists["response.ok"]))
		if err != nil || h.TotalCount() != 1 || !h.ValuesAreEquivalent(h.Max(), 40e6) {
			t.Errorf("response.ok: %v, %v", h, err)
		}
		if h, err = hdrhistogram.Decode([]byte(o.windows[1].Hists["response.other"])); err != nil || !h.ValuesAreEquivalent(h.Max(), 20e6) {
			t.Errorf("response.other: %v, %v", h, err)
		}
	})
}

// Units that ended within one window are measured.
func TestShortJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := start(&out, clock())
		w.Done(1, 1, false)
		if err := w.Close(errors.New("no more")); err != nil {
			t.Fatal(err)
		}
		o := read(t, out.String())
		if len(o.windows) != 1 || !o.end || o.err != "no more" || o.windows[0].Phase != "measure" || o.counts(t)[tagOK] != 1 {
			t.Errorf("%+v", o)
		}
		out.Reset()
		if w.Close(nil); out.Len() > 0 {
			t.Error("closed twice")
		}
	})
}

func TestJobThatFailsWithoutSayingWhy(t *testing.T) {
	var out bytes.Buffer
	New(&out).Close(errors.New(""))
	if o := read(t, out.String()); o.err == "" {
		t.Error("a failure that reads like success")
	}
}

// failing accepts a number of writes and fails afterwards.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{left: 1}
		w := start(f, clock())
		time.Sleep(time.Second)
		if err := w.Close(nil); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
		if f.left != -1 {
			t.Errorf("%d writes after the one that failed", -1-f.left)
		}
	})
}

// While the pipe is full, the job continues and no unit is lost; the memory is bounded.
func TestReaderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe := io.Pipe()
		w := start(pipe, clock())
		for range 1000 {
			w.Done(1, 0, false)
			time.Sleep(10 * time.Millisecond)
		}
		w.mu.Lock()
		kept := len(w.closed)
		w.mu.Unlock()
		if kept != maxClosed {
			t.Errorf("%d windows are kept, want %d", kept, maxClosed)
		}
		var out bytes.Buffer
		var reading sync.WaitGroup
		reading.Go(func() { io.Copy(&out, r) })
		w.Close(nil)
		pipe.Close()
		reading.Wait()
		o := read(t, out.String())
		if n := o.counts(t)["response.ok"]; n != 1000 {
			t.Errorf("%d units are reported, want 1000", n)
		}
	})
}

// Every reported unit is printed once, in any sequence of events, and windows come in order.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		actions := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 60).Draw(rt, "actions")
		synctest.Test(t, func(*testing.T) {
			var out bytes.Buffer
			w := start(&out, clock())
			units, failed := int64(0), int64(0)
			for _, a := range actions {
				if a > 5 {
					time.Sleep(time.Duration(a) * 17 * time.Millisecond)
					continue
				}
				w.Done(time.Millisecond, 1, a == 0)
				units++
				if a == 0 {
					failed++
				}
			}
			w.Close(nil)
			check(rt, read(rt, out.String()), units, failed)
		})
	})
}

func check(t rapid.TB, o output, units, failed int64) {
	var sum client
	for i, w := range o.windows {
		if i > 0 && w.Start != o.windows[i-1].Start+windowLength {
			t.Errorf("window %d begins at %d after %d", i, w.Start, o.windows[i-1].Start)
		}
		if last := i > 0 && i == len(o.windows)-1; (w.Phase == phaseDrain) != last {
			t.Errorf("window %d of %d is of phase %s", i, len(o.windows), w.Phase)
		}
		sum.Offered += w.Client.Offered
		sum.Sent += w.Client.Sent
		sum.Completed += w.Client.Completed
		sum.Failed += w.Client.Failed
	}
	if sum != (client{units, units, units, failed}) {
		t.Errorf("%d units, of which %d failed, are reported as %+v", units, failed, sum)
	}
	if c := o.counts(t); c[tagOK] != units-failed || c[tagFailed] != failed {
		t.Errorf("%d units, of which %d failed, are in histograms as %v", units, failed, c)
	}
}

func BenchmarkDone(b *testing.B) {
	w := New(io.Discard)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w.Done(time.Millisecond, 100, false)
		}
	})
	w.Close(nil)
}
