package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"dyno/bench/claims/queues/queue"
	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/parts/quicktest"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// What a run prints is read back as the lab does: every message is accepted or refused, and every
// accepted one delivered.
func TestRunAddsUp(t *testing.T) {
	all := queue.Names()
	for _, name := range all[:quicktest.Of(2, len(all))] {
		for _, o := range []options{
			// Far too much for one consumer. On a busy machine all of it can come before the first is
			// taken, so it is no more than the receipts that a recorder waits for, at least 1,024.
			{buffer: 4, workers: 1, rate: 3000, work: time.Millisecond},
			{buffer: 1 << 12, workers: 4, rate: 1000, work: 0},
			{buffer: 1 << 12, workers: 2, rate: 100, burst: 5000, zipf: 1.2, work: 10 * time.Microsecond},
			{buffer: 1 << 12, workers: 2, rate: 100, rampTo: 2000, work: 10 * time.Microsecond, busy: true},
		} {
			o.queue, o.warmup, o.duration, o.drain = name, 100*time.Millisecond, 200*time.Millisecond, time.Minute
			var out bytes.Buffer
			if err := run(context.Background(), o, windows.NewWriter(&out)); err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			if !bytes.HasSuffix(out.Bytes(), []byte("{\"end\":true}\n")) {
				t.Fatalf("%+v: the output ends with %q", o, out.Bytes()[max(0, out.Len()-80):])
			}
			sum := totals(t, out.Bytes())
			if sum.Offered == 0 || sum.Ended != sum.Offered || sum.Failed != sum.Refused || sum.Delivered != sum.Offered-sum.Refused {
				t.Errorf("%+v: %+v", o, sum)
			}
			if o.buffer == 4 && sum.Refused == 0 {
				t.Errorf("%+v: nothing was refused", o)
			}
			if _, _, err := load.Run(context.Background(), load.Plan{}, windows.New("test", &out), discard{}); err != nil {
				t.Errorf("%+v: reading it back: %v", o, err)
			}
		}
	}
}

// totals sums the windows up, over all phases: a noisy machine moves offers from one into the next.
func totals(t *testing.T, out []byte) (sum record.Client) {
	for line := range bytes.Lines(out) {
		var w struct{ Client record.Client }
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatal(err)
		}
		sum.Offered += w.Client.Offered
		sum.Ended += w.Client.Ended
		sum.Failed += w.Client.Failed
		sum.Refused += w.Client.Refused
		sum.Delivered += w.Client.Delivered
	}
	return sum
}

// A run that is stopped says so in its last line and leaves nothing running.
func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	err := run(ctx, options{queue: "ring", workers: 3, rate: 10, duration: time.Hour, drain: time.Hour}, windows.NewWriter(&out))
	if err == nil || !bytes.Contains(out.Bytes(), []byte(`"end":true,"error"`)) {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

func TestOptions(t *testing.T) {
	good := options{queue: "ring", workers: 1, rate: 1, duration: time.Second}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*options){
		"queue": func(o *options) { o.queue = "rnig" }, "buffer": func(o *options) { o.buffer = -1 },
		"workers": func(o *options) { o.workers = 0 }, "work": func(o *options) { o.work = -1 },
		"rate": func(o *options) { o.rate = 0 }, "burst": func(o *options) { o.burst = -1 }, "zipf": func(o *options) { o.zipf = 11 },
		"change of the rate": func(o *options) { o.burst, o.rampTo = 1, 1 }, "ramp": func(o *options) { o.rampTo = -1 },
		"duration": func(o *options) { o.duration = 0 }, "drain": func(o *options) { o.drain = -1 },
	} {
		o := good
		spoil(&o)
		if o.check() == nil {
			t.Errorf("a bad %s was accepted", name)
		}
	}
}

// The gauges say how much a queue and its consumers hold, as it turns out when nothing is consumed.
func TestRoomIsWhatIsAccepted(t *testing.T) {
	for _, name := range queue.Names() {
		for _, buffer := range []int{0, 20} {
			o := options{queue: name, buffer: buffer, workers: 3}
			q, err := queue.New[message](name, queue.Config{Capacity: buffer, Workers: o.workers})
			if err != nil {
				t.Fatal(err)
			}
			waiting := 0
			for i := range uint64(1 << 13) {
				if q.Put(i, message{}) {
					waiting++
				}
			}
			if got := o.room(); got != waiting+o.workers {
				t.Errorf("%s of %d: %d is said to be the room, and %d waited for 3 consumers", name, buffer, got, waiting)
			}
		}
	}
}

func TestGauges(t *testing.T) {
	o := options{queue: "ring", buffer: 64, workers: 8, work: time.Millisecond, rate: 100, duration: 100 * time.Millisecond}
	var out bytes.Buffer
	if err := run(context.Background(), o, windows.NewWriter(&out)); err != nil {
		t.Fatal(err)
	}
	var w struct{ Gauges map[string]float64 }
	if err := json.NewDecoder(&out).Decode(&w); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"heap_bytes", "gc_cycles_total"} {
		if _, told := w.Gauges[name]; !told {
			t.Errorf("%s is not told", name)
		}
	}
	for name, want := range map[string]float64{"queue_room": 72, "queue_servers": 8, "queue_service_per_s": 1000} {
		if w.Gauges[name] != want {
			t.Errorf("%s is %v, want %v", name, w.Gauges[name], want)
		}
	}
}

// Far more come in during the burst, a fifth of the duration, and as many as ever after it.
func TestBurst(t *testing.T) {
	o := options{rate: 100, burst: 10_000, warmup: time.Second, duration: 5 * time.Second}
	schedule := o.schedule()
	counts := map[int]int{} // by second
	for at, ok := schedule(); ok; at, ok = schedule() {
		counts[int(at/int64(time.Second))]++
	}
	for second, want := range []int{100, 100, 10_000, 100, 100, 100} {
		if counts[second] != want {
			t.Errorf("second %d: %d messages, want %d", second, counts[second], want)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		zipf  float64
		first float64 // share of the most frequent key
	}{{0, 1.0 / keyCount}, {1, 0.1332}, {1.2, 0.2294}, {3, 0.8319}} {
		k := newKeys(c.zipf)
		const n = 200_000
		drawn := make([]int, keyCount)
		for seq := range uint64(n) {
			drawn[k.of(mix(seq+1))]++
		}
		if got := float64(drawn[0]) / n; math.Abs(got-c.first) > 0.005 {
			t.Errorf("zipf %v: the first key has a share of %.4f, want %.4f", c.zipf, got, c.first)
		}
	}
	if newKeys(1).of(math.MaxUint64) != keyCount-1 || newKeys(1).of(0) != 0 {
		t.Error("the ends draw other keys than the first and the last")
	}
}
