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

// What a request does with a slot is between taking it and giving it back in a deferred function.
func TestTakerOfASlot(t *testing.T) {
	at := func(line int, stack string) []record.Frame {
		out := frames(stack + inHandler)
		for i, f := range out {
			if f.Function == "main.serve" {
				out[i].Line = line
			}
		}
		return out
	}
	takes := record.Wait{Reason: "chan send", Seconds: 14, Count: 100, Stack: at(20, "runtime.chansend1 < main.serve"), WokenBy: at(25, "runtime.chanrecv1 < main.serve.func1 < main.serve")}
	asks := record.Wait{Reason: "network", Seconds: 2, Count: 100, Stack: at(23, "internal/poll.(*FD).Read < main.ask < main.serve")}
	before := record.Wait{Reason: "sync", Seconds: 1, Count: 100, Stack: at(18, "sync.(*Mutex).Lock < main.serve")}
	h, ok := TakerOf(&record.Run{}, &record.Trace{Seconds: 0.5, Waits: []record.Wait{takes, asks, before}}, []record.Wait{takes})
	if want := "; while it is held, 100% of the time is spent in main.ask, called at no file known, most of it waiting for an answer from downstream"; !ok || h.Taken != 4 || h.Doing() != want {
		t.Errorf("%t %+v: %s", ok, h, h.Doing())
	}
}
