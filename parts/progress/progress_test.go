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

// clock is the bubble's, as a monotonic one that began at an odd time.
func clock() func() int64 {
	begin := time.Now()
	return func() int64 { return 12_345_650_000_000 + int64(time.Since(begin)) }
}

// told is what a Writer printed.
type told struct {
	windows []windowLine
	end     bool
	err     string
}

func read(t rapid.TB, text string) (out told) {
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

// counts are the values in all windows' histograms, by tag.
func (o told) counts(t rapid.TB) map[string]int64 {
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
		w := start(&out, Measure, clock())
		depth := 0.0
		w.Gauge("depth", func() float64 { depth++; return depth })
		w.Gauge("nonsense", func() float64 { return math.NaN() })
		first, second := w.Start(), w.Start()
		time.Sleep(40 * time.Millisecond)
		first.Done(1000, false)
		first.Done(1000, false)              // said before
		time.Sleep(30 * time.Millisecond)    // the next window, since the clock began in the middle of one
		w.Done(20*time.Millisecond, 0, true) // one whose beginning nobody told
		time.Sleep(200 * time.Millisecond)
		if err := w.Close(nil); err != nil {
			t.Fatal(err)
		}
		second.Done(1, false) // too late
		if w.Start() != (Unit{}) {
			t.Error("a unit after the end")
		}
		Unit{}.Done(1, false)
		o := read(t, out.String())
		if !o.end || o.err != "" || len(o.windows) != 4 {
			t.Fatalf("%+v", o)
		}
		base := int64(12_345_600_000_000)
		for i, want := range []windowLine{
			{Start: base, Phase: "measure", Client: client{Offered: 2, Sent: 2, Completed: 1, Backlog: 1}},
			{Start: base + 1e8, Phase: "measure", Client: client{Offered: 1, Sent: 1, Completed: 1, Failed: 1, Backlog: 1}},
			{Start: base + 2e8, Phase: "measure", Client: client{Backlog: 1}},
			{Start: base + 3e8, Phase: "drain"}, // no whole window
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
		if h, err = hdrhistogram.Decode([]byte(o.windows[3].Hists["response.unfinished"])); err != nil || !h.ValuesAreEquivalent(h.Max(), 270e6) {
			t.Errorf("response.unfinished: %v, %v", h, err)
		}
	})
}

func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := start(&out, Warmup, clock())
		warm := w.Start()
		w.Phase(Measure)  // from the next window on
		cold := w.Start() // still before it
		w.Phase(Warmup)   // that is over
		time.Sleep(60 * time.Millisecond)
		counted := w.Start()
		warm.Done(0, false)
		cold.Done(0, true)
		time.Sleep(100 * time.Millisecond)
		counted.Done(0, false)
		w.Phase(Drain)
		time.Sleep(200 * time.Millisecond)
		w.Close(nil)
		o := read(t, out.String())
		var phases []string
		for _, win := range o.windows {
			phases = append(phases, win.Phase)
		}
		if got := strings.Join(phases, " "); got != "warmup measure measure drain drain" {
			t.Errorf("phases %s", got)
		}
		if c := o.counts(t); c["warmup.ok"] != 1 || c["warmup.other"] != 1 || c["response.ok"] != 1 || len(c) != 3 {
			t.Errorf("histograms %v", c)
		}
	})
}

// What was done within one window is measured, unless it was to warm up.
func TestShortJob(t *testing.T) {
	for _, first := range []Phase{Warmup, Measure} {
		var out bytes.Buffer
		w := New(&out, first)
		w.Start().Done(1, false)
		if err := w.Close(errors.New("no more")); err != nil {
			t.Fatal(err)
		}
		o := read(t, out.String())
		if n := len(o.windows); n == 0 || !o.end || o.err != "no more" || o.windows[0].Phase != first.String() {
			t.Errorf("%+v", o)
		}
		out.Reset()
		if w.Close(nil); out.Len() > 0 {
			t.Error("closed twice")
		}
	}
}

func TestJobThatFailsWithoutSayingWhy(t *testing.T) {
	var out bytes.Buffer
	New(&out, Measure).Close(errors.New(""))
	if o := read(t, out.String()); o.err == "" {
		t.Error("a failure that reads like success")
	}
}

// failing takes so many writes.
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
		w := start(f, Measure, clock())
		time.Sleep(time.Second)
		if err := w.Close(nil); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
		if f.left != -1 {
			t.Errorf("%d writes after the one that failed", -1-f.left)
		}
	})
}

// While the pipe is full, the job goes on and nothing is lost; what is kept is bounded.
func TestReaderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe := io.Pipe()
		w := start(pipe, Measure, clock())
		for range 1000 {
			w.Start().Done(0, false)
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
			t.Errorf("%d units are told, want 1000", n)
		}
	})
}

// What is offered ends or is unfinished, whatever happens when, and windows come in order.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		actions := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 60).Draw(rt, "actions")
		first := rapid.SampledFrom([]Phase{Warmup, Measure}).Draw(rt, "first")
		synctest.Test(t, func(*testing.T) {
			var out bytes.Buffer
			w := start(&out, first, clock())
			var units []Unit
			started := 0
			for _, a := range actions {
				switch {
				case a < 3:
					units = append(units, w.Start())
					started++
				case a < 6 && len(units) > 0:
					units[0].Done(1, a == 3)
					units = units[1:]
				case a == 6:
					w.Done(time.Millisecond, 1, false)
					started++
				case a == 7:
					w.Phase(Measure)
				default:
					time.Sleep(time.Duration(a) * 17 * time.Millisecond)
				}
			}
			w.Close(nil)
			check(rt, read(rt, out.String()), started)
		})
	})
}

func check(t rapid.TB, o told, started int) {
	var offered, measured, completed, last int64
	for i, w := range o.windows {
		if i > 0 && w.Start != last+windowLength {
			t.Errorf("window %d begins at %d after %d", i, w.Start, last)
		}
		last = w.Start
		offered += w.Client.Offered
		completed += w.Client.Completed
		if w.Phase != "warmup" {
			measured += w.Client.Offered
		}
	}
	c := o.counts(t)
	if offered != int64(started) {
		t.Errorf("%d were offered, %d told", started, offered)
	}
	if n := c[tagOK] + c[tagFailed] + c[tagWarmOK] + c[tagWarmFailed]; n != completed {
		t.Errorf("%d completed, %d in histograms", completed, n)
	}
	if n := c[tagOK] + c[tagFailed] + c[tagUnfinished]; n != measured {
		t.Errorf("%d measured, %d in histograms", measured, n)
	}
}

func BenchmarkUnit(b *testing.B) {
	w := New(io.Discard, Measure)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w.Start().Done(100, false)
		}
	})
	w.Close(nil)
}
