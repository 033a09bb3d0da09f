package stacks

import (
	"math"
	"testing"

	"dyno/lab/record"
)

// The runtime shows what computes in C as in a system call. What the CPU profile samples there is
// running time, and the rest, such as a C function that syncs a file, stays a wait.
func TestComputingInC(t *testing.T) {
	in := func(stack string) []record.Frame { return frames(stack + " < main.query" + inHandler) }
	trace := &record.Trace{Seconds: 1, Procs: 2, Running: 0.1, Syscall: 3.5, Waits: []record.Wait{
		{Reason: "system call", Seconds: 1.8, Stack: in("main._Cfunc_step")},
		{Reason: "system call", Seconds: 1.2, Stack: in("main._Cfunc_sync")},
		{Reason: "system call", Seconds: 0.5, Stack: in("syscall.Fsync < os.(*File).Sync")},
		{Reason: "network", Seconds: 0.5, Stack: in("main._Cfunc_step")},
	}}
	profile := &record.Profile{Type: record.ValueCPU, Seconds: 2}
	for stack, seconds := range map[string]float64{
		"runtime.cgocall < main._Cfunc_step": 3,
		"runtime.cgocall < main._Cfunc_sync": 0.02,
		"main.compare < runtime.cgocallbackg < runtime.cgocallback < runtime.systemstack < runtime.cgocall < main._Cfunc_sync": 0.2,
		"main.plan": 0.2,
	} {
		profile.Stacks = append(profile.Stacks, record.Stack{Value: seconds * 1e9, Frames: in(stack)})
	}
	r := &record.Run{FixtureTrace: trace, FixtureProfiles: []*record.Profile{profile}}
	r.System.TargetDelay = 0.151
	got, err := Trace(r)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.15, 1.189, 0.5, 0.5} {
		if s := got.Waits[i].Seconds; math.Abs(s-want) > 1e-9 {
			t.Errorf("wait %d: %v s, want %v", i, s, want)
		}
	}
	if math.Abs(got.Running-1.61) > 1e-9 || math.Abs(got.Runnable-0.151) > 1e-9 || math.Abs(got.Syscall-1.839) > 1e-9 || trace.Waits[0].Seconds != 1.8 {
		t.Errorf("%+v", got)
	}
	r.FixtureProfiles = nil
	if got, _ := Trace(r); got.Running != 0.1 {
		t.Errorf("without a profile: %+v", got)
	}
}
