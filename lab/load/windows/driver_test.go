package windows

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"dyno/lab/load"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// began is the time at which the tests begin to read their streams; the windows in these follow
// it.
const began = 1000 * windowLength

// read drives a stream given as text.
func read(text string) *run {
	d := New("fake", strings.NewReader(text))
	d.now = func() int64 { return began + int64(100*record.WindowLength) }
	return drive(context.Background(), otherPlan, d, nil)
}

// at returns the line of the window k windows after the beginning; rest follows its time and
// phase.
func at(k int, phase, rest string) string {
	return fmt.Sprintf(`{"t_ns":%d,"phase":%q%s}`, began+int64(k)*windowLength, phase, rest) + "\n"
}

func measure(rest string) string { return at(0, "measure", rest) }

const end = `{"end":true}` + "\n"

// encoded returns a histogram that holds n values of 1 ms.
func encoded(t testing.TB, h *hdrhistogram.Histogram, values int64) string {
	t.Helper()
	if err := h.RecordValues(ms, values); err != nil {
		t.Fatal(err)
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPhasesInTheLinesDecide(t *testing.T) {
	r := read(at(0, "warmup", `,"client":{"offered":50,"completed":50}`) +
		at(3, "measure", `,"client":{"offered":10,"sent":10,"completed":8,"failed":1,"backlog":2},"gauges":{"depth":7}`) +
		at(7, "measure", `,"client":{"offered":10,"sent":10,"completed":10,"backlog":2}`) +
		at(8, "drain", `,"client":{"completed":2}`) + end)
	if r.err != nil {
		t.Fatal(r.err)
	}
	// The windows that the stream left out within the measured time count: that time is 5 windows
	// long.
	if from, length := r.plan.MeasureFrom(), r.plan.Length; from != began+3*windowLength || length != 5*record.WindowLength {
		t.Errorf("measured from window %d for %v, want 3 and 500ms", (from-began)/windowLength, length)
	}
	got := r.totals
	if got.Offered != 20 || got.Sent != 20 || got.Completed != 20 || got.Failed != 1 || got.OfferedPerS != 40 || got.ThroughputPerS != 36 {
		t.Errorf("totals %s", pretty(got))
	}
	for i, start := range r.sink.all {
		if want := r.sink.all[0] + int64(i)*windowLength; start != want {
			t.Errorf("window %d starts at %d, want %d", i, start, want)
		}
	}
	if w := r.sink.windows[1]; !reflect.DeepEqual(w.Server, &record.Server{Gauges: map[string]float64{"depth": 7}}) || w.Client.Backlog != 2 {
		t.Errorf("the first measured window is %s", pretty(w))
	}
	if last := r.sink.all[len(r.sink.all)-1]; last != began+8*windowLength {
		t.Errorf("windows go on to %d, want up to 8", (last-began)/windowLength)
	}
}

// A command without the histogram library prints the values themselves.
func TestValuesInsteadOfHistograms(t *testing.T) {
	h := record.NewHistogram()
	for _, v := range []int64{20_133_700, 20_415_022, 0} {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	line := func(hist string) string {
		return measure(`,"client":{"offered":4,"completed":4},"hists":{"response.ok":`+hist+`,"lag":[]}`) + end
	}
	want := read(line(`"` + encoded(t, h, 1) + `"`))
	got := read(line(`[20133700, 20415022, 0, 1000000]`))
	if want.err != nil || got.err != nil || !reflect.DeepEqual(got.totals, want.totals) {
		t.Errorf("totals %s, %v; of the histogram %s, %v", pretty(got.totals), got.err, pretty(want.totals), want.err)
	}
}

func TestWhatBrokeOffIsKept(t *testing.T) {
	r := read(measure(`,"client":{"offered":3,"completed":3}`) + `{"end":true,"error":"the queue is gone"}` + "\n")
	if r.err == nil || !strings.Contains(r.err.Error(), "the job failed: the queue is gone") {
		t.Errorf("error %v", r.err)
	}
	if r.totals.Offered != 3 || r.plan.Length != record.WindowLength {
		t.Errorf("over %v: totals %s", r.plan.Length, pretty(r.totals))
	}
}

func TestHostileStreams(t *testing.T) {
	one := encoded(t, record.NewHistogram(), 1)
	hist := func(tag, text string) string {
		return fmt.Sprintf(`,"client":{"completed":1},"hists":{%q:%q}`, tag, text)
	}
	many := func(field string, n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"n%d":%s`, i, value)
		}
		return fmt.Sprintf(`,%q:{%s}`, field, b.String()[1:])
	}
	for _, tt := range []struct{ name, stream, want string }{
		{"nothing", "", `line 1: it ended without the line {"end":true}`},
		{"no end", measure(""), `line 2: it ended without the line {"end":true}`},
		{"cut off", strings.TrimSuffix(measure(""), "}\n"), "in the middle of a line"},
		{"end without a newline", measure("") + `{"end":true}`, "in the middle of a line"},
		{"no window", end, "no window of phase measure"},
		{"warm-up only", at(0, "warmup", "") + end, "no window of phase measure"},
		{"error only", `{"end":true,"error":"boom"}` + "\n", "line 1: the job failed: boom"},
		{"empty line", measure("") + "\n" + end, "line 2: it is not a window"},
		{"a log line", "starting...\n", `print only windows to stdout: "starting..."`},
		{"null", "null\n", "t_ns is 0"},
		{"array", "[]\n", "not a window"},
		{"two objects", "{}{}\n", "a line is one object"},
		{"typing error", measure(`,"clients":{}`), `unknown field "clients"`},
		{"typing error below", measure(`,"client":{"complete":1}`), `unknown field "complete"`},
		{"long line", measure(`,"gauges":{"` + strings.Repeat("x", maxLine) + `":1}`), "longer than 4 MiB"},
		{"fraction of a window", `{"t_ns":100000000001,"phase":"measure"}` + "\n", "multiple of 100000000 ns"},
		{"time of day", `{"t_ns":1790000000000000000,"phase":"measure"}` + "\n", "not the time of day"},
		{"overflow", `{"t_ns":9223372036854775807,"phase":"measure"}` + "\n", "t_ns is"},
		{"underflow", `{"t_ns":-9223372036800000000,"phase":"measure"}` + "\n", "t_ns is"},
		{"long ago", at(-600, "measure", ""), "not earlier than 1m0s before"},
		{"twice the same", measure("") + measure(""), "line 2: t_ns is"},
		{"backwards", at(1, "measure", "") + at(0, "measure", ""), "windows come in order"},
		{"no phase", at(0, "", ""), "write warmup, measure or drain"},
		{"unknown phase", at(0, "profile", ""), `phase is "profile"`},
		{"warm again", measure("") + at(1, "warmup", ""), "phase warmup comes after measure"},
		{"negative", measure(`,"client":{"offered":-1}`), "client.offered is -1"},
		{"huge", measure(`,"client":{"backlog":9223372036854775807}`), "client.backlog is"},
		{"more than int64", measure(`,"client":{"sent":9223372036854775808}`), "not a window"},
		{"failed more than completed", measure(`,"client":{"completed":1,"failed":2}`), "client.failed is 2 of 1 completed"},
		{"refused more than failed", measure(`,"client":{"completed":1,"refused":1}`), "client.refused is 1 of 0 failed"},
		{"cores", measure(`,"client":{"cpu":1e300}`), "client.cpu is 1e+300"},
		{"too many gauges", measure(many("gauges", maxGauges+1, "1")), "one more than the 256"},
		{"gauge's name", measure(`,"gauges":{"a b":1}`), `gauge "a b"`},
		{"gauge's long name", measure(`,"gauges":{"` + strings.Repeat("x", maxName+1) + `":1}`), "1 to 128 bytes"},
		{"gauge out of range", measure(`,"gauges":{"a":1e999}`), "not a window"},
		{"unknown tag", measure(hist("latency.ok", one)), "a tag begins with response"},
		{"unknown status", measure(hist("response.fine", one)), `unknown status "fine"`},
		{"no status", measure(hist("response", one)), "unknown status"},
		{"divided lag", measure(hist("lag.ok", one)), "lag is not divided"},
		{"a comma in a class", measure(hist("response.ok.a,b", one)), "no spaces, commas"},
		{"a newline in a class", measure(hist("response.ok.a\nb", one)), "no spaces, commas"},
		{"no text in a class", measure(`,"hists":{"response.ok.` + "\xff" + `":""}`), "no spaces, commas"},
		{"too many tags", measure(manyTags(one)), "one more than the 128"},
		{"counts that differ", measure(`,"client":{"completed":2},"hists":{"response.ok":"` + one + `"}`), "completed is 2 where the response histograms hold 1"},
		{"no base64", measure(hist("response.ok", "%")), "illegal base64"},
		{"empty histogram", measure(hist("response.ok", "")), "cut off"},
		{"no zlib", measure(hist("response.ok", base64.StdEncoding.EncodeToString([]byte("0123456789abcdef")))), `histogram "response.ok": zlib`},
		{"half a histogram", measure(hist("response.ok", one[:len(one)/2/4*4])), `histogram "response.ok"`},
		{"50 MB histogram", measure(hist("response.ok", encoded(t, hdrhistogram.New(1, 1<<62, 5), 1))), "5 significant digits"},
		{"too many values", measure(hist("service", encoded(t, record.NewHistogram(), maxCount+1))), "holds 1000000000001 values"},
		{"value above an hour", measure(`,"hists":{"service":[3600000000001]}`), "not between 0 and an hour"},
		{"negative value", measure(`,"hists":{"service":[1,-1]}`), "not between 0 and an hour"},
		{"fraction of a ns", measure(`,"hists":{"service":[1.5]}`), "not a window"},
		{"neither text nor values", measure(`,"hists":{"service":{}}`), "not a window"},
		{"above an hour", measure(hist("service", encoded(t, hugeValue(t), 1))), "above the highest"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := read(tt.stream)
			if r.err == nil || !strings.Contains(r.err.Error(), tt.want) || len(r.err.Error()) > 2000 {
				t.Errorf("error %.3000v, want one with %s", r.err, tt.want)
			}
			if n := len(r.sink.all); n > 200 {
				t.Errorf("%d windows were made up", n)
			}
		})
	}
}

func manyTags(text string) string {
	var b strings.Builder
	for i := range maxTags + 1 {
		fmt.Fprintf(&b, `,"response.ok.c%d":%q`, i, text)
	}
	return fmt.Sprintf(`,"client":{"completed":%d},"hists":{%s}`, maxTags+1, b.String()[1:])
}

func hugeValue(t *testing.T) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, 1<<60, 3)
	if err := h.RecordValue(1 << 59); err != nil {
		t.Fatal(err)
	}
	return h
}

// Drive closes the reading end of a pipe when the context is done, whichever process holds the
// writing end.
func TestAJobThatHangs(t *testing.T) {
	for _, why := range []string{"cancelled", "the sink failed"} {
		t.Run(why, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r, w := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				sink := sinkFunc(func(record.Window) error {
					if why == "cancelled" {
						cancel()
						return nil
					}
					return errors.New("disk full")
				})
				d := New("hangs", r)
				d.now = func() int64 { return began }
				go fmt.Fprint(w, measure("")) // and nothing more
				res := drive(ctx, otherPlan, d, sink)
				want := "disk full"
				if why == "cancelled" {
					want = context.Canceled.Error()
				}
				if res.err == nil || !strings.Contains(res.err.Error(), want) || strings.Contains(res.err.Error(), "closed pipe") {
					t.Errorf("error %v, want %s alone", res.err, want)
				}
				if _, err := fmt.Fprint(w, end); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the job's next write: %v; its reader is gone", err)
				}
			})
		})
	}
}

// The same holds for a pipe of the operating system, even while a Read waits.
func TestAnOSPipeThatHangs(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := drive(ctx, otherPlan, New("hangs", r), nil); !errors.Is(res.err, context.Canceled) {
		t.Errorf("error %v", res.err)
	}
}

type sinkFunc func(record.Window) error

func (f sinkFunc) Window(w record.Window, _ map[string]*hdrhistogram.Histogram) error { return f(w) }

func TestWriterRefusesWhatIsNotRead(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	hists := map[string]*hdrhistogram.Histogram{"response.ok.two words": record.NewHistogram()}
	if err := w.Window(record.Window{}, hists); err == nil || !strings.Contains(err.Error(), "two words") {
		t.Errorf("a class with a space: %v", err)
	}
	gauges := &record.Server{Gauges: map[string]float64{strings.Repeat("x", maxLine): 1}}
	if err := w.Window(record.Window{Server: gauges}, nil); err == nil || !strings.Contains(err.Error(), "4 MiB") {
		t.Errorf("a long line: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
	r, pipe := io.Pipe()
	r.Close()
	if err := NewWriter(pipe).Close(nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that is gone: %v", err)
	}
}

func TestWriterEnds(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, `{"end":true}`},
		{errors.New("boom\nand bust"), `{"end":true,"error":"boom\nand bust"}`},
		{errors.New(""), `{"end":true,"error":"it failed without saying why"}`},
	} {
		var out bytes.Buffer
		if err := NewWriter(&out).Close(tt.err); err != nil || out.String() != tt.want+"\n" {
			t.Errorf("Close(%v) wrote %q, %v; want %s", tt.err, out.String(), err, tt.want)
		}
	}
}

// Whatever is read without an error can be written and read again, with the same result.
func FuzzDrive(f *testing.F) {
	one := encoded(f, record.NewHistogram(), 1)
	f.Add(measure("") + end)
	f.Add(at(0, "warmup", `,"client":{"offered":2,"completed":1,"failed":1,"backlog":1},"hists":{"warmup.503":"`+one+`"}`) +
		at(2, "measure", `,"client":{"offered":1,"sent":1,"completed":2,"failed":1,"cpu":0.5},"gauges":{"depth":-3e5},"hists":{"response.ok.read":"`+one+`","warmup.timeout":"`+one+`","lag":"`+one+`","service":"`+one+`"}`) +
		at(3, "drain", `,"client":{"delivered":1},"hists":{"delivery":"`+one+`","response.unfinished":"`+one+`"}`) + end)
	f.Add(measure("") + `{"end":true,"error":"boom"}` + "\n")
	f.Add(measure(`,"client":{"completed":2},"hists":{"response.ok":[20133700,0]}`) + end)
	f.Add(`{"t_ns":0}` + "\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		var printed bytes.Buffer
		out := NewWriter(&printed)
		d := New("fuzz", strings.NewReader(stream))
		d.now = func() int64 { return began }
		first := drive(t.Context(), otherPlan, d, out)
		if first.err != nil {
			return
		}
		if err := out.Close(nil); err != nil {
			t.Fatal(err)
		}
		d = New("fuzz", &printed)
		d.now = func() int64 { return began }
		second := drive(t.Context(), otherPlan, d, nil)
		checkSame(t, first, second)
		kinds := int64(0)
		for _, n := range first.totals.Errors {
			kinds += n
		}
		if first.plan.Length < record.WindowLength || kinds != first.totals.Failed {
			t.Errorf("over %v: totals %s", first.plan.Length, pretty(first.totals))
		}
	})
}

var _ load.Sink = sinkFunc(nil)
