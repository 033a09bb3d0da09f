package stacks

import (
	"testing"

	"dyno/lab/record"
)

// A channel that requests use as a semaphore is a pool; one through which a request hands others their
// results is not.
func TestOfSemaphores(t *testing.T) {
	at := func(line int, stack string) []record.Frame {
		out := frames(stack + " < main.serve" + inHandler)
		for i, f := range out {
			if f.Function == "main.serve" {
				out[i].Line = line
			}
		}
		return out
	}
	for _, tt := range []struct {
		name, reason, stack, wokenBy string
		line                         int // at which the request is that ends the wait; this one is at 20
		want                         WaitKind
	}{
		{"a slot", "chan send", "runtime.chansend1", "runtime.chanrecv1 < main.serve.func1", 25, WaitPool},
		{"a token", "select", "runtime.selectgo", "runtime.chansend1 < main.serve.func1", 25, WaitPool},
		{"a slot, of two functions", "chan send", "runtime.chansend1 < main.take", "runtime.chanrecv1 < main.give", 25, WaitPool},
		{"a slot, given back at the end of the function", "chan send", "runtime.chansend1", "runtime.chanrecv1", 25, WaitPool},
		{"a token, of two functions", "chan receive", "runtime.chanrecv1 < main.(*pool).get", "runtime.chansend1 < main.(*pool).put", 25, WaitPool},
		{"a message of a hub", "select", "runtime.selectgo", "runtime.chansend1", 25, WaitSelect},
		{"a message of a hub, by a method", "select", "runtime.selectgo", "runtime.chansend1 < main.(*session).send", 25, WaitSelect},
		{"a token, in a function without a name", "select", "runtime.selectgo < main.main.func1", "runtime.chansend1 < main.main.func1.1 < main.main.func1", 25, WaitPool},
		{"a result", "chan receive", "runtime.chanrecv1", "runtime.chansend1 < main.flush", 15, WaitChannel},
		{"an end", "chan receive", "runtime.chanrecv1", "runtime.closechan", 25, WaitChannel},
	} {
		w := record.Wait{Reason: tt.reason, Seconds: 1, Count: 1, Stack: at(20, tt.stack), WokenBy: at(tt.line, tt.wokenBy)}
		got, err := Trace(&record.Run{FixtureTrace: &record.Trace{Waits: []record.Wait{w}}})
		if err != nil || KindOf(got.Waits[0]) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, KindOf(got.Waits[0]), err, tt.want)
		}
	}
}

// inServe is a stack in a handler, main.serve, which is at a line.
func inServe(line int, stack string) []record.Frame {
	out := frames(stack + inHandler)
	for i, f := range out {
		if f.Function == "main.serve" {
			out[i].Line = line
		}
	}
	return out
}

// A request that has a slot may wait in the same function for what no request sends.
func TestBesideASlot(t *testing.T) {
	gives := inServe(35, "runtime.chanrecv1 < main.serve.func1 < main.serve")
	waits := []record.Wait{
		{Reason: "chan send", Seconds: 1, Count: 1, Stack: inServe(20, "runtime.chansend1 < main.serve"), WokenBy: gives},
		{Reason: "select", Seconds: 1, Count: 1, Stack: inServe(30, "runtime.selectgo < main.serve"), WokenBy: frames("runtime.chansend1 < main.work")},
		{Reason: "select", Seconds: 1, Stack: inServe(30, "runtime.selectgo < main.serve")},
		{Reason: "select", Seconds: 1, Count: 1, Stack: inServe(20, "runtime.selectgo < main.serve"), WokenBy: frames("runtime.closechan < main.stop")},
		{Reason: "chan send", Seconds: 1, Stack: inServe(20, "runtime.chansend1 < main.serve")},
	}
	got, err := Trace(&record.Run{FixtureTrace: &record.Trace{Waits: waits}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []WaitKind{WaitPool, WaitSelect, WaitSelect, WaitSelect, WaitPool} {
		if KindOf(got.Waits[i]) != want {
			t.Errorf("%d: %s, want %s", i, KindOf(got.Waits[i]), want)
		}
	}
}

// A middleware of the service's own through which all requests pass has not taken what they wait for.
func TestTakerIsNoMiddleware(t *testing.T) {
	const logged = " < net/http.HandlerFunc.ServeHTTP < main.logged.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
	takes := record.Wait{Reason: semaphore, Seconds: 14, Count: 100, Stack: frames("runtime.chansend1 < main.get" + logged), WokenBy: frames("runtime.chanrecv1 < main.put.func1 < main.put" + logged)}
	h, ok := TakerOf(&record.Run{}, &record.Trace{Seconds: 0.5, Waits: []record.Wait{takes}}, []record.Wait{takes})
	if !ok || h.Function == "main.logged.func1" {
		t.Errorf("%t %+v", ok, h)
	}
}

// What a request does with a slot is between taking it and giving it back in a deferred function.
func TestTakerOfASlot(t *testing.T) {
	takes := record.Wait{Reason: "chan send", Seconds: 14, Count: 100, Stack: inServe(20, "runtime.chansend1 < main.serve"), WokenBy: inServe(25, "runtime.chanrecv1 < main.serve.func1 < main.serve")}
	asks := record.Wait{Reason: "network", Seconds: 2, Count: 100, Stack: inServe(23, "internal/poll.(*FD).Read < main.ask < main.serve")}
	before := record.Wait{Reason: "sync", Seconds: 1, Count: 100, Stack: inServe(18, "sync.(*Mutex).Lock < main.serve")}
	h, ok := TakerOf(&record.Run{}, &record.Trace{Seconds: 0.5, Waits: []record.Wait{takes, asks, before}}, []record.Wait{takes})
	if want := "; while it is held, 100% of the time is spent in main.ask, called at no file known, most of it waiting for an answer from downstream"; !ok || h.Taken != 4 || h.Doing() != want {
		t.Errorf("%t %+v: %s", ok, h, h.Doing())
	}
}
