package windows

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/pool"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = int64(time.Millisecond)

// memory keeps the windows that are not empty, and passes all windows on.
type memory struct {
	windows []record.Window
	all     []int64 // when each window began, empty ones included
	to      load.Sink
}

func (m *memory) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	m.all = append(m.all, w.Start)
	if w.Client != (record.Client{}) || w.Server != nil {
		m.windows = append(m.windows, w)
	}
	if m.to == nil {
		return nil
	}
	return m.to.Window(w, hists)
}

// run holds what a run recorded.
type run struct {
	totals record.Totals
	plan   *load.Plan
	sink   memory
	err    error
}

func drive(ctx context.Context, p load.Plan, d load.Driver, to load.Sink) *run {
	r := &run{sink: memory{to: to}}
	r.totals, r.plan, r.err = load.Run(ctx, p, d, &r.sink)
	return r
}

// checkSame compares a run with the relay of its windows. Some figures in a run's totals are not
// in its windows.
func checkSame(t rapid.TB, job, relayed *run) {
	t.Helper()
	if job.err != nil || relayed.err != nil {
		t.Fatalf("the job ended with %v, its relay with %v", job.err, relayed.err)
	}
	want, got := job.totals, relayed.totals
	want.Duplicates, want.Generator.BusiestThread, want.Generator.Realtime = 0, 0, false
	if want.Sent == 0 { // with no send-lag at all, a relay has only the windows' counts, warm requests included
		want.Sent = got.Sent
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("relayed totals\n%s\nwant\n%s", pretty(got), pretty(want))
	}
	if !reflect.DeepEqual(relayed.sink.windows, job.sink.windows) {
		t.Errorf("relayed windows\n%s\nwant\n%s", pretty(relayed.sink.windows), pretty(job.sink.windows))
	}
	if relayed.plan.MeasureFrom() != job.plan.MeasureFrom() || relayed.plan.Length != job.plan.Length {
		t.Errorf("measured from %d for %v, want from %d for %v",
			relayed.plan.MeasureFrom(), relayed.plan.Length, job.plan.MeasureFrom(), job.plan.Length)
	}
}

func pretty(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// otherPlan is the lab's plan, which the job's own times must override.
var otherPlan = load.Plan{Warmup: 7 * time.Second, Length: time.Hour}

// bubble runs a test on a fake clock, far enough from the year 2000 that monotonic instants are
// positive.
func bubble(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * 365 * 24 * time.Hour)
		test(t)
	})
}

type doFunc func() pool.Result

func (f doFunc) Do(context.Context, *pool.Arrival) pool.Result { return f() }

func TestPoolThroughAPipe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, w := io.Pipe()
		job := make(chan *run, 1)
		go func() {
			calls := 0
			pool := &pool.Driver{Name: "sleeper", Doer: doFunc(func() pool.Result {
				time.Sleep(3 * time.Millisecond)
				if calls++; calls%7 == 0 { // every seventh fails
					return pool.Result{Status: load.Other}
				}
				return pool.Result{Status: load.OK, Success: true}
			})}
			out := NewWriter(w)
			j := drive(t.Context(), load.Plan{Warmup: 300 * time.Millisecond, Length: 2 * time.Second, Connections: 1}, pool, out)
			if err := out.Close(j.err); err != nil {
				t.Error(err)
			}
			job <- j
		}()
		relayed := drive(t.Context(), otherPlan, New("sleeper", r), nil)
		checkSame(t, <-job, relayed)
		if n := relayed.totals.Offered; n < 600 || relayed.totals.Failed < n/8 || relayed.totals.OfferedPerS != float64(n)/2 {
			t.Errorf("totals %s", pretty(relayed.totals))
		}
	})
}

// scripted is a driver that reports scripted requests, all in the past.
type scripted func(*load.Plan, *load.Recorder)

func (scripted) Engine() string { return "scripted" }

func (s scripted) Drive(_ context.Context, p *load.Plan, rec *load.Recorder) error {
	s(p, rec)
	return nil
}

// However a job's requests end, relaying its windows gives the same totals.
func TestSameTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := load.Plan{
			Start: monotonic.Now() - int64(20*time.Second), Length: 500 * time.Millisecond,
			Warmup:  time.Duration(rapid.IntRange(0, 4).Draw(t, "warm-up windows")) * record.WindowLength,
			Classes: []string{"read", "write"}, Deliveries: 100,
		}
		var printed bytes.Buffer
		out := NewWriter(&printed)
		job := drive(t.Context(), p, scripted(func(p *load.Plan, rec *load.Recorder) { requests(t, p, rec) }), out)
		if err := out.Close(nil); err != nil {
			t.Fatal(err)
		}
		checkSame(t, job, drive(t.Context(), otherPlan, New("scripted", &printed), nil))
	})
}

// requests reports arrivals to one shard and, as a pool does, their outcomes to others.
func requests(t *rapid.T, p *load.Plan, rec *load.Recorder) {
	shards := rec.Shards(rapid.IntRange(2, 3).Draw(t, "shards"))
	for intended := p.Start; ; {
		intended += rapid.Int64Range(40*ms, 200*ms).Draw(t, "gap") // few: a histogram takes 1 ms to go through
		if intended >= p.SendUntil() {
			return
		}
		class := uint8(rapid.IntRange(0, 2).Draw(t, "class")) // 2 has no name
		s := shards[rapid.IntRange(1, len(shards)-1).Draw(t, "shard")]
		seq := shards[0].Arrive(intended)
		if rapid.IntRange(0, 4).Draw(t, "never sent") == 0 {
			s.Unfinished(intended, p.SendUntil()+ms, class)
			continue
		}
		sent := intended + rapid.Int64Range(0, 200*ms).Draw(t, "lag")
		s.Sent(intended, sent, sent-intended)
		o := load.Completion{Seq: seq, Intended: intended, Sent: sent, Done: sent + rapid.Int64Range(1, 200*ms).Draw(t, "service"), Class: class}
		o.Status = rapid.SampledFrom([]load.Status{load.OK, 200, 200, 404, 429, 503, load.Timeout, load.Reset, load.Other}).Draw(t, "status")
		o.Success = o.Status == load.OK || o.Status == 200
		if o.Success && intended >= p.MeasureFrom() && rapid.Bool().Draw(t, "fails a check") {
			o.Success, o.Checked = false, true
		}
		s.Done(&o)
		// The windows do not distinguish the delivery of a request of the warm-up from an
		// undelivered one in the same window.
		if o.Success && intended >= p.MeasureFrom() && rapid.Bool().Draw(t, "is delivered") {
			rec.Delivered(seq, o.Done+rapid.Int64Range(0, 100*ms).Draw(t, "way"))
		}
	}
}
