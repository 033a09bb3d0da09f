package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ms    = int64(time.Millisecond)
	start = 1000 * window // of the fake runs
)

// memorySink keeps the windows and the number of values in their histograms.
type memorySink struct {
	windows []record.Window
	counts  []map[string]int64
	err     error
}

func (s *memorySink) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	counts := map[string]int64{}
	for tag, h := range hists {
		counts[tag] = h.TotalCount()
	}
	s.windows, s.counts = append(s.windows, w), append(s.counts, counts)
	return s.err
}

func (s *memorySink) at(start int64) record.Client {
	for _, w := range s.windows {
		if w.Start == start {
			return w.Client
		}
	}
	return record.Client{}
}

// fakeRecorder returns a recorder for which the test chooses all instants.
func fakeRecorder(p Plan) (*Recorder, *memorySink) {
	sink := &memorySink{}
	p.Start = start
	return newRecorder(&p, sink, func() {}), sink
}

func measured(windows int) Plan { return Plan{Length: time.Duration(windows) * record.WindowLength} }

// finish ends a recording after its drain.
func finish(r *Recorder) record.Totals { return r.finish(r.plan.SendUntil() + 100*window) }

func done(s *Shard, seq uint64, intended, at int64, status Status) {
	s.Done(&Completion{Seq: seq, Intended: intended, Sent: intended + ms, Done: at, Status: status, Success: status == OK || status == 200})
}

func TestWindowsOfIntendedTimeAndOfCompletion(t *testing.T) {
	r, sink := fakeRecorder(measured(5))
	s := r.Shards(1)[0]
	seq := s.Arrive(start + 50*ms)
	s.Sent(start+50*ms, start+51*ms, ms)
	s.Arrive(start + 120*ms)
	done(s, seq, start+50*ms, start+350*ms, 200)
	s.Unfinished(start+120*ms, start+700*ms, 0)
	totals := finish(r)

	for i, want := range map[int64]record.Client{
		0: {Offered: 1, Sent: 1, Backlog: 1},
		1: {Offered: 1, Backlog: 2},
		2: {Backlog: 2},
		3: {Ended: 1, Backlog: 1},
		7: {},
	} {
		got := sink.at(start + i*window)
		if got = (record.Client{Offered: got.Offered, Sent: got.Sent, Ended: got.Ended, Backlog: got.Backlog}); got != want {
			t.Errorf("window %d: got %+v, want %+v", i, got, want)
		}
	}
	near(t, "p50 of the window of completion", sink.at(start+3*window).P50Ms, 300)
	near(t, "response of the unfinished, at its age", totals.Response.Max, 580)
	near(t, "service", totals.Service.Max, 299)
	near(t, "lag", totals.Lag.P99, 1000)
	if totals.Offered != 2 || totals.Ended != 1 || totals.Unfinished != 1 || totals.Status["200"] != 1 {
		t.Errorf("totals %+v", totals)
	}
	near(t, "offered per second", totals.OfferedPerS, 4)
	near(t, "achieved per second", totals.ThroughputPerS, 2)
}

// near reports whether two values are equal within the rounding of a histogram with three
// significant digits.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.002*math.Abs(want)+1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestWarmupDoesNotCount(t *testing.T) {
	p := measured(2)
	p.Warmup = record.WindowLength
	r, sink := fakeRecorder(p)
	s := r.Shards(1)[0]
	for _, intended := range []int64{start + 10*ms, start + 20*ms, start + 130*ms} {
		s.Arrive(intended)
	}
	s.Sent(start+10*ms, start+140*ms, 130*ms)
	done(s, 0, start+10*ms, start+150*ms, Timeout) // due in the warm-up, but it ends in a measured window
	done(s, 2, start+130*ms, start+160*ms, 200)
	s.Unfinished(start+20*ms, start+400*ms, 0)
	totals := finish(r)
	if totals.Offered != 1 || totals.Ended != 1 || totals.Unfinished != 0 || totals.Failed != 0 || totals.Sent != 0 || totals.Errors["timeout"] != 0 {
		t.Errorf("totals %+v", totals)
	}
	near(t, "slowest response", totals.Response.Max, 30)
	near(t, "achieved, which counts every completion of the measured time", totals.ThroughputPerS, 10)
	if c := sink.at(start + window); c.Ended != 2 || c.Failed != 1 || c.Sent != 1 {
		t.Errorf("the window shows %+v", c)
	}
	var phases []string
	for _, w := range sink.windows {
		phases = append(phases, w.Phase)
	}
	if want := []string{"warmup", "warmup", "measure", "measure"}; !slices.Equal(phases[:4], want) || phases[len(phases)-1] != "drain" {
		t.Errorf("phases %v, want %v ... drain", phases, want)
	}
}

func TestWindowsComeInOrderAndWithoutGaps(t *testing.T) {
	r, sink := fakeRecorder(measured(20))
	shards := r.Shards(2)
	shards[1].Arrive(start + 10*window) // ahead of the other shard
	done(shards[1], 1, start+10*window, start+17*window, 200)
	shards[0].Arrive(start + 2*window)
	done(shards[0], 0, start+2*window, start+3*window, 200)
	finish(r)
	if sink.windows[0].Start != start-window || len(sink.windows) < 21 {
		t.Fatalf("%d windows from %d", len(sink.windows), sink.windows[0].Start)
	}
	for i, w := range sink.windows {
		if w.Start != start+int64(i-1)*window {
			t.Fatalf("window %d starts at %d", i, w.Start-start)
		}
	}
	if sink.at(start+2*window).Offered != 1 || sink.at(start+10*window).Offered != 1 || sink.at(start+17*window).Ended != 1 {
		t.Error("requests lie in the wrong windows")
	}
}

// Every request is counted once, whatever the shard and the order in which events are reported.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := measured(10)
		p.Warmup = 3 * record.WindowLength
		p.Classes = []string{"read", "write"}
		r, sink := fakeRecorder(p)
		n := rapid.IntRange(1, 4).Draw(t, "shards")
		shards := r.Shards(n)
		var warm, offered, completed, failed int64
		seen := map[uint64]bool{}
		for _, s := range shards {
			now := start
			for range rapid.IntRange(0, 30).Draw(t, "requests") {
				now += rapid.Int64Range(0, 40*ms).Draw(t, "gap")
				if now >= r.plan.SendUntil() {
					break
				}
				seq := s.Arrive(now)
				if seen[seq] {
					t.Fatalf("sequence number %d was given twice", seq)
				}
				seen[seq] = true
				counts := now >= r.plan.MeasureFrom()
				if !counts {
					warm++
				} else {
					offered++
				}
				class := uint8(rapid.IntRange(0, 1).Draw(t, "class"))
				if rapid.Bool().Draw(t, "finishes") {
					status := rapid.SampledFrom([]Status{200, 503, Timeout, Reset, OK, Other}).Draw(t, "status")
					o := Completion{Seq: seq, Intended: now, Done: now + 5*ms, Status: status, Class: class, Success: status == 200 || status == OK}
					s.Done(&o)
					if counts {
						completed++
						if !o.Success {
							failed++
						}
					}
				} else {
					s.Unfinished(now, now+5*ms, class)
				}
			}
		}
		totals := finish(r)
		if totals.Offered != offered || totals.Ended != completed || totals.Failed != failed || totals.Unfinished != offered-completed {
			t.Fatalf("totals %+v, want offered %d completed %d failed %d", totals, offered, completed, failed)
		}
		kinds := int64(0)
		for _, n := range totals.Errors {
			kinds += n
		}
		if kinds != failed {
			t.Fatalf("errors by kind %v sum to %d, want %d", totals.Errors, kinds, failed)
		}
		var windows, values int64
		for i, w := range sink.windows {
			windows += w.Client.Offered
			for tag, n := range sink.counts[i] {
				if record.MatchTag(tag, record.HistResponse) {
					values += n
				}
			}
		}
		if windows != warm+offered || values != offered {
			t.Fatalf("windows hold %d requests and %d response times, want %d and %d", windows, values, warm+offered, offered)
		}
		if len(sink.windows) > 0 && sink.windows[len(sink.windows)-1].Client.Backlog != 0 {
			t.Fatal("a backlog is left")
		}
	})
}

func TestErrorsByKind(t *testing.T) {
	r, sink := fakeRecorder(measured(1))
	s := r.Shards(1)[0]
	end := func(status Status, checked bool) {
		seq := s.Arrive(start)
		s.Done(&Completion{Seq: seq, Intended: start, Done: start + ms, Status: status, Checked: checked})
	}
	for _, status := range []Status{Other, Timeout, Timeout, Refused, Reset, Closed, Malformed, Connect, 500, 503, 429} {
		end(status, false)
	}
	end(200, true)
	totals := finish(r)
	want := map[string]int64{"other": 1, "timeout": 2, "refused": 1, "reset": 1, "closed": 1, "malformed": 1, "connect": 1, "status": 3, "check": 1}
	if !maps.Equal(totals.Errors, want) {
		t.Errorf("errors %v, want %v", totals.Errors, want)
	}
	if want := map[string]int64{"500": 1, "503": 1, "429": 1, "200": 1}; !maps.Equal(totals.Status, want) {
		t.Errorf("status %v, want %v", totals.Status, want)
	}
	if c := sink.at(start); c.Refused != 2 || c.Failed != 12 {
		t.Errorf("window %+v, want 12 failed, 2 of them refused", c)
	}
}

// If responses have several statuses, each status has its own latencies: refusals, say, are
// quick.
func TestStatuses(t *testing.T) {
	r, _ := fakeRecorder(measured(1))
	s := r.Shards(1)[0]
	for status, latency := range map[Status]int64{200: 10 * ms, 503: 2 * ms} {
		seq := s.Arrive(start)
		s.Done(&Completion{Seq: seq, Intended: start, Done: start + latency, Status: status, Success: status == 200})
	}
	totals := finish(r)
	near(t, "200", totals.Statuses["200"].Max, 10)
	near(t, "503", totals.Statuses["503"].Max, 2)
}

func TestClasses(t *testing.T) {
	p := measured(1)
	p.Classes = []string{"read", "write"}
	r, sink := fakeRecorder(p)
	s := r.Shards(1)[0]
	for class, latency := range []int64{10 * ms, 20 * ms} {
		seq := s.Arrive(start)
		s.Done(&Completion{Seq: seq, Intended: start, Done: start + latency, Status: 200, Class: uint8(class), Success: true})
	}
	totals := finish(r)
	near(t, "read", totals.Classes["read"].Max, 10)
	near(t, "write", totals.Classes["write"].Max, 20)
	near(t, "all", totals.Response.Mean, 15)
	if sink.counts[1]["response.200.write"] != 1 {
		t.Errorf("histograms %v", sink.counts[1])
	}
}

func TestDeliveries(t *testing.T) {
	p := measured(2)
	p.Deliveries = 100
	r, sink := fakeRecorder(p)
	r.Delivered(0, start) // before the recording: nothing to match
	s := r.Shards(1)[0]
	var seqs []uint64
	for i := range int64(4) {
		seqs = append(seqs, s.Arrive(start+i*ms))
	}
	done(s, seqs[0], start, start+5*ms, 200)
	r.Delivered(seqs[0], start+110*ms)
	r.Delivered(seqs[0], start+120*ms)
	r.Delivered(4711, start+121*ms)
	done(s, seqs[1], start+ms, start+130*ms, 500) // not accepted, so not delivered
	r.Delivered(seqs[2], start+102*ms)
	totals := r.finish(start + 303*ms)
	r.Delivered(seqs[3], start+400*ms) // after the end

	if totals.Delivered != 2 || totals.Duplicates != 2 || totals.Undelivered != 1 {
		t.Errorf("delivered %d, duplicates %d, undelivered %d; want 2, 2, 1", totals.Delivered, totals.Duplicates, totals.Undelivered)
	}
	near(t, "slowest delivery, at its age", totals.Delivery.Max, 300)
	near(t, "median delivery", totals.Delivery.P50, 110)
	if c := sink.at(start + window); c.Delivered != 2 {
		t.Errorf("window of the receipts: %+v", c)
	}
	near(t, "delivered per second", totals.DeliveredPerS, 10)
}

// Stamps from another clock end the run, and cannot make the recorder write years of windows.
func TestDeliveryByAForeignClock(t *testing.T) {
	for _, at := range []int64{1, start - 2*window, math.MaxInt64} {
		p := measured(2)
		p.Deliveries = 10
		r, sink := fakeRecorder(p)
		cancelled := false
		r.cancel = func() { cancelled = true }
		s := r.Shards(1)[0]
		r.Delivered(s.Arrive(start), at)
		if totals := finish(r); totals.Delivered != 0 || len(sink.windows) > 10 || r.failure == nil || !cancelled {
			t.Errorf("stamped %d: delivered %d in %d windows, error %v", at, totals.Delivered, len(sink.windows), r.failure)
		}
	}
}

// A request whose slot is reused counts as undelivered, and its late delivery does not count for
// the request that reused the slot.
func TestDeliveriesBeyondTheirRoom(t *testing.T) {
	p := measured(2)
	p.Deliveries = 10
	r, _ := fakeRecorder(p)
	s := r.Shards(1)[0]
	n := int64(r.unacked.Len()) + 3
	for i := range n {
		s.Arrive(start + i)
	}
	r.Delivered(1, start+ms) // overwritten
	r.Delivered(3, start+ms)
	r.Delivered(uint64(n-1), start+ms)
	totals := r.finish(start + 200*ms)
	if totals.Delivered != 2 || totals.Duplicates != 1 || totals.Undelivered != n-2 {
		t.Errorf("delivered %d, duplicates %d, undelivered %d of %d", totals.Delivered, totals.Duplicates, totals.Undelivered, n)
	}
}

// Refused requests do not displace accepted ones that wait long for their delivery, however often
// the sequence numbers go round the slots.
func TestDeliveriesAmongRefusals(t *testing.T) {
	p := measured(2)
	p.Deliveries = 10
	r, _ := fakeRecorder(p)
	s := r.Shards(1)[0]
	slots := r.unacked.Len()
	waiting := map[uint64]bool{}
	for range slots / 2 {
		waiting[s.Arrive(start)] = true
	}
	for i := range 3 * slots {
		seq := s.Arrive(start)
		if i%slots == 0 {
			waiting[seq] = true
			continue
		}
		s.Done(&Completion{Seq: seq, Intended: start, Done: start + ms, Status: 503})
	}
	for seq := range waiting {
		r.Delivered(seq, start+ms)
		r.Delivered(seq, start+ms)
	}
	n := int64(len(waiting))
	if totals := r.finish(start + 200*ms); totals.Delivered != n || totals.Duplicates != n || totals.Undelivered != 0 {
		t.Errorf("delivered %d, duplicates %d, undelivered %d of %d", totals.Delivered, totals.Duplicates, totals.Undelivered, n)
	}
}

// One shard may carry every request: the room for deliveries does not depend on how the requests
// are spread over shards.
func TestDeliveriesFromOneShardOfMany(t *testing.T) {
	p := measured(2)
	p.Deliveries = 5000
	r, _ := fakeRecorder(p)
	s := r.Shards(7)[0]
	for i := range int64(5000) {
		s.Arrive(start + i)
	}
	for i := range uint64(5000) {
		r.Delivered(i*7, start+ms)
	}
	if totals := r.finish(start + 200*ms); totals.Delivered != 5000 || totals.Undelivered != 0 {
		t.Errorf("delivered %d, undelivered %d", totals.Delivered, totals.Undelivered)
	}
}

// Windows that are written in one burst each show the CPU that was used during the window.
func TestCPUByWindow(t *testing.T) {
	r, sink := fakeRecorder(measured(6))
	used := time.Duration(0)
	r.cpu = func() time.Duration { return used }
	shards := r.Shards(2)
	s := shards[0]
	s.Arrive(start)
	used += 50 * time.Millisecond
	s.Arrive(start + window) // half a core
	used += 400 * time.Millisecond
	s.Arrive(start + 5*window) // a core over four windows, three of them without an event
	used += 20 * time.Millisecond
	s.Arrive(start + 6*window)
	shards[1].Advance(start + 6*window) // only now is anything written
	totals := finish(r)
	for i, want := range []float64{0.5, 1, 1, 1, 1, 0.2} {
		near(t, fmt.Sprintf("cores in window %d", i), sink.at(start+int64(i)*window).CPU, want)
	}
	near(t, "CPU seconds", totals.Generator.CPUSeconds, 0.47)
}

func TestBusiestThread(t *testing.T) {
	r, _ := fakeRecorder(measured(10))
	shards := r.Shards(2)
	for i := range int64(11) {
		for k, s := range shards {
			s.ThreadCPU(time.Duration(i*ms*int64(10+40*k) + 1))
			s.Advance(start + i*window)
		}
	}
	near(t, "busiest thread", finish(r).Generator.BusiestThread, 0.5)
}

func TestVariation(t *testing.T) {
	v := rateVariation{}
	for second, perWindow := range []int64{90, 110, 90, 110} {
		for range 10 {
			v.add(perWindow)
		}
		if second == 0 && v.coefficient() != 0 {
			t.Error("one second has no variation")
		}
	}
	near(t, "coefficient", v.coefficient(), 115.47/1000)
}

// A run that was stopped early has rates over the time that it lasted.
func TestStoppedEarly(t *testing.T) {
	r, _ := fakeRecorder(measured(100))
	s := r.Shards(1)[0]
	for i := range int64(20) {
		seq := s.Arrive(start + i*50*ms)
		done(s, seq, start+i*50*ms, start+i*50*ms+ms, 200)
	}
	totals := r.finish(start + 10*window)
	near(t, "offered per second", totals.OfferedPerS, 20)
	near(t, "achieved per second", totals.ThroughputPerS, 20)
	if r.plan.Length != time.Second {
		t.Errorf("the plan was carried out over %v, want 1s", r.plan.Length)
	}
}

// A run without events has its planned length, and all its windows.
func TestQuietRun(t *testing.T) {
	r, sink := fakeRecorder(measured(20))
	seq := r.Shards(1)[0].Arrive(start)
	done(r.shards[0], seq, start, start+ms, 200)
	totals := finish(r)
	if len(sink.windows) != 21 || r.plan.Length != 2*time.Second {
		t.Errorf("%d windows over %v", len(sink.windows), r.plan.Length)
	}
	near(t, "achieved", totals.ThroughputPerS, 0.5)
}

type driverFunc func(ctx context.Context, p *Plan, rec *Recorder) error

func (driverFunc) Engine() string { return "fake" }

func (f driverFunc) Drive(ctx context.Context, p *Plan, rec *Recorder) error { return f(ctx, p, rec) }

func follow(ctx context.Context, _ *Recorder) error { <-ctx.Done(); return ctx.Err() }

// Whatever a driver does wrong, Run returns complete totals and leaves no goroutine behind.
func TestRunEnds(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		drive driverFunc
		sink  error
		read  Deliveries
		want  error
	}{
		"never records":      {drive: func(context.Context, *Plan, *Recorder) error { return nil }},
		"fails immediately":  {drive: func(context.Context, *Plan, *Recorder) error { return broken }, want: broken},
		"no shards":          {drive: func(_ context.Context, _ *Plan, r *Recorder) error { r.Shards(0); return nil }},
		"silent shards":      {drive: func(_ context.Context, _ *Plan, r *Recorder) error { r.Shards(3); return nil }},
		"fails while it may": {drive: func(_ context.Context, p *Plan, r *Recorder) error { r.Shards(2)[1].Arrive(p.Start); return broken }, want: broken},
		"sink fails": {sink: broken, want: broken, drive: func(ctx context.Context, p *Plan, r *Recorder) error {
			s := r.Shards(1)[0]
			for at := p.Start; ctx.Err() == nil; at += window {
				s.Arrive(at)
			}
			return ctx.Err()
		}},
		"receipts fail": {want: broken, read: func(context.Context, *Recorder) error { return broken },
			drive: func(ctx context.Context, p *Plan, r *Recorder) error { r.Shards(1); <-ctx.Done(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			if c.read == nil {
				c.read = follow
			}
			p := Plan{Length: time.Second, Deliveries: 1}
			totals, plan, err := Run(t.Context(), p, c.drive, &memorySink{err: c.sink}, c.read)
			if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if plan == nil || len(totals.Errors) != len(ErrorKinds()) || totals.Status == nil {
				t.Errorf("totals are incomplete: %+v", totals)
			}
		})
	}
}

func TestRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	totals, _, err := Run(ctx, Plan{Length: time.Hour}, driverFunc(func(ctx context.Context, p *Plan, r *Recorder) error {
		s := r.Shards(1)[0]
		done(s, s.Arrive(p.Start), p.Start, p.Start+ms, 200)
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}), &memorySink{})
	if !errors.Is(err, context.Canceled) || totals.Ended != 1 {
		t.Errorf("error %v, totals %+v", err, totals)
	}
}
