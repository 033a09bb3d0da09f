package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

const coordinator, someKey = "00112233445566ff", "00112233445566ff00112233445566ff00112233445566ff00112233445566ff"

// lonely is a network on which there is no other process.
type lonely struct{}

func (lonely) Publish(string, []byte) error { return nil }
func (lonely) Request(context.Context, string, []byte) ([]byte, error) {
	return nil, ErrNoReceiver
}
func (lonely) Subscribe(string, func([]byte) []byte) (func(), error) { return func() {}, nil }

func idle() *Agent {
	return &Agent{Network: lonely{}, Say: func(string) {}, Clock: monotonic.Now, hello: hello{ID: coordinator}}
}

// No order makes an agent panic, and the agent refuses orders from any coordinator but its own.
func FuzzOrder(f *testing.F) {
	work, err := pack(&corpus.Spec{Load: workload.Load{URL: "http://127.0.0.1:1"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, o := range []order{
		{From: coordinator, Claim: true}, {From: coordinator, Release: true}, {From: coordinator, Has: someKey}, {From: coordinator, Stop: coordinator},
		{From: coordinator, Part: &part{Key: someKey, Size: len(work), Data: work}},
		{From: coordinator, Begin: &begin{Drive: coordinator, Work: someKey, Of: 1, Start: 1, Connections: 1, Length: time.Second}},
		{From: coordinator, Begin: &begin{Drive: coordinator, Work: someKey, Of: 1, Sessions: 1, Connections: 1, Length: time.Second, Spec: &load.ScheduleSpec{Kind: workload.Constant}}},
		{From: coordinator, Start: &start{Drive: coordinator, At: 1}},
	} {
		f.Add(encode(o))
	}
	f.Add([]byte(`{"from":"00112233445566ff","part":{"key":"","size":-1}}{}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		a := idle()
		a.claimed = coordinator
		if _, err := decode[answer](a.obey(t.Context(), message)); err != nil {
			t.Fatalf("the answer to %q: %v", message, err)
		}
		a.driving.Wait()
		a.mu.Lock()
		a.claimed = strings.Repeat("f", 16)
		a.mu.Unlock()
		if got, _ := decode[answer](a.obey(t.Context(), message)); got.Error == "" && !strings.Contains(string(message), a.claimed) {
			t.Fatalf("another coordinator's order %q is carried out", message)
		}
		a.driving.Wait()
	})
}

// No report makes a coordinator panic, and a malformed one ends the agent's share with an error.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"number":1,"window":{"t_ns":100000000,"phase":"measure","client":{"offered":1}}}`))
	f.Add([]byte(`{"number":1,"end":{"next":3,"agent":{"name":"a/1","offered":1,"completed":1,"send_lag_us":{"p50":1,"p99":2},"cpu_s":1,"busiest_thread":0.5,"clock_offset_ns":0,"clock_error_ns":0}}}`))
	f.Add([]byte(`{"number":1,"window":{"t_ns":100000000,"phase":"measure","client":{},"hists":{"response.ok":"HISTFAAA"}}}`))
	f.Add([]byte(`{"number":2}`))
	f.Add([]byte(`{"number":1,"opened":true}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		var taking taking = func(rec *load.Recorder) {
			r := newReceiver(&member{hello: hello{Name: "a/1"}, lost: make(chan struct{})})
			r.shard = rec.Shards(1)[0]
			if got, err := decode[answer](r.take(message)); err != nil || got.Error != "" && !r.over() {
				t.Errorf("the answer to %q is %+v, %v", message, got, err)
			}
			r.close()
			if got, _ := decode[answer](r.take(message)); got.Error == "" {
				t.Errorf("a recording that is over takes %q", message)
			}
		}
		load.Run(t.Context(), load.Plan{Length: time.Millisecond, Connections: 1}, taking, taking)
	})
}

// taking is a driver that calls a function, and also a sink that discards windows.
type taking func(*load.Recorder)

func (taking) Engine() string { return "taking" }
func (f taking) Drive(_ context.Context, _ *load.Plan, rec *load.Recorder) error {
	f(rec)
	return nil
}
func (taking) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// No hello makes a coordinator panic, or makes it keep text that cannot be shown.
func FuzzHello(f *testing.F) {
	f.Add(encode(hello{ID: coordinator, Name: "a/1", Version: "v1", Machine: "m", PID: 1}))
	f.Add(encode(hello{ID: coordinator, Name: "a/1", Version: "v2", Machine: "m", PID: 1}))
	f.Add([]byte(`{"id":"x","gone":true}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		g := &Group{net: lonely{}, o: Options{Version: "v1", Say: func(string) {}}, waiting: map[string]hello{}}
		g.hear(message)
		for _, h := range g.waiting {
			if !plain(h.Name) || !idForm.MatchString(h.ID) {
				t.Fatalf("%+v waits", h)
			}
		}
	})
}

// A load that arrives broken, incomplete or too late is refused, with the reason.
func TestOrdersInWrongOrder(t *testing.T) {
	a := idle()
	say := func(o order) string {
		o.From = coordinator
		out, err := decode[answer](a.obey(t.Context(), encode(o)))
		if err != nil {
			t.Fatal(err)
		}
		return out.Error
	}
	begin := &begin{Drive: coordinator, Work: someKey, Of: 1, Start: 1, Connections: 1, Length: time.Second}
	for _, step := range []struct {
		order order
		want  string // part of the error; empty: none
	}{
		{order{Has: someKey}, "works for another coordinator"},
		{order{Claim: true}, ""},
		{order{Has: someKey}, ""},
		{order{Begin: begin}, "does not have the work"},
		{order{Start: &start{Drive: coordinator, At: 1}}, "no sessions of that load"},
		{order{Part: &part{Key: someKey, Size: 10, At: 5, Data: []byte("12345")}}, "a part of the work was lost"},
		{order{Part: &part{Key: someKey, Size: 10, Data: []byte("12345")}}, ""},
		{order{Part: &part{Key: someKey, Size: 10, At: 5, Data: []byte("12345")}}, "not what its coordinator sent"},
	} {
		if got := say(step.order); got != step.want && (step.want == "" || !strings.Contains(got, step.want)) {
			t.Errorf("%+v: %q, want %q", step.order, got, step.want)
		}
	}
	a.works = []*work{{key: someKey}}
	if got := say(order{Begin: begin}); !strings.Contains(got, "received the start") || !strings.Contains(got, "too late") {
		t.Errorf("a start in the past: %q", got)
	}
	sessions := *begin
	sessions.Sessions, sessions.Spec = 1, &load.ScheduleSpec{Kind: workload.Constant}
	if got := say(order{Begin: &sessions}); !strings.Contains(got, "a start and a length") {
		t.Errorf("sessions with a start: %q", got)
	}
	a.heard = time.Now().Add(-2 * silence)
	if a.watch(); a.claimed != "" || a.works != nil {
		t.Error("an agent keeps a coordinator that is silent")
	}
}

// An agent that is making a driver still announces itself; it keeps its coordinator, whose orders
// wait.
func TestHelloWhileBuilding(t *testing.T) {
	data, err := pack(&corpus.Spec{Load: workload.Load{URL: "http://192.0.2.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	a := idle()
	a.claimed, a.heard = coordinator, time.Now()
	asked := false
	a.Permit = func(string) error {
		asked = true
		if !a.mu.TryLock() {
			t.Fatal("the agent cannot say hello")
		}
		a.heard = time.Now().Add(-2 * silence)
		a.mu.Unlock()
		a.greet(false)
		a.watch()
		return nil
	}
	sum := sha256.Sum256(data)
	key := hex.EncodeToString(sum[:])
	out, err := decode[answer](a.obey(t.Context(), encode(order{From: coordinator, Part: &part{Key: key, Size: len(data), Data: data}})))
	a.watch()
	if err != nil || out.Error != "" || !asked || a.claimed != coordinator || a.workOf(key) == nil {
		t.Errorf("%v, %q; asked: %v, claimed by %q", err, out.Error, asked, a.claimed)
	}
}

// The true offset is within the error of the estimate, however long each way of a round trip
// takes.
func TestOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(0, int64(time.Second))
		ahead := rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "ahead")
		sent := rapid.Int64Range(1, 1<<60).Draw(t, "sent")
		received := sent + span.Draw(t, "there")
		answered := received + span.Draw(t, "work")
		back := answered + span.Draw(t, "back")
		o := offsetOf(sent, times{received + ahead, answered + ahead}, back)
		if wrong := o.ahead - ahead; max(wrong, -wrong) > o.error {
			t.Fatalf("%d +- %d ns, want %d", o.ahead, o.error, ahead)
		}
	})
}

// A report that is sent again counts once; a missing report ends the share.
func TestReportsInOrder(t *testing.T) {
	r := newReceiver(&member{hello: hello{Name: "a/1"}})
	var entered taking = func(rec *load.Recorder) {
		r.shard = rec.Shards(1)[0]
		defer r.close()
		window := func(number int, at int64) string {
			out, _ := decode[answer](r.take(encode(report{Number: number, Window: encode(map[string]any{"t_ns": at, "phase": "measure", "client": map[string]int{"offered": 1}})})))
			return out.Error
		}
		now := monotonic.Now() / int64(record.WindowLength) * int64(record.WindowLength)
		for i, number := range []int{1, 1, 2, 1} {
			if got := window(number, now+int64(number-1)*int64(record.WindowLength)); got != "" {
				t.Errorf("report %d, number %d: %s", i, number, got)
			}
		}
		if got := window(4, now); got != "report 4 came after report 2" {
			t.Errorf("a missing report: %q", got)
		}
	}
	_, _, err := load.Run(t.Context(), load.Plan{Length: time.Millisecond, Connections: 1}, entered, entered)
	if err != nil || r.number != 2 || r.err == nil {
		t.Errorf("%v; the receiver has %d reports and %v", err, r.number, r.err)
	}
}

// If no agent joins, the wait ends with the reason.
func TestNoAgents(t *testing.T) {
	_, err := Gather(t.Context(), lonely{}, Options{Expect: 2})
	if err == nil || !strings.Contains(err.Error(), "0 of 2 agents have joined") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Gather(ctx, lonely{}, Options{Expect: 1, Wait: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
