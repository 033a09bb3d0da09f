package runs

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"dyno/agent"
	"dyno/lab/record"
)

// The gauges that a job reports are merged with the target's readings; their peaks are those in
// the measured time.
func TestJoinKeepsAJobsGauges(t *testing.T) {
	report := func(v float64) *record.Server { return &record.Server{Gauges: map[string]float64{"depth": v}} }
	j := &join{}
	if got := j.merge(nil, &record.Server{CPU: 1}, record.PhaseMeasure); got.CPU != 1 || got.Gauges != nil || j.peaks != nil {
		t.Errorf("a target that reports nothing: %+v, peaks %v", got, j.peaks)
	}
	if got := j.merge(report(9), nil, record.PhaseWarmup); got.Gauges["depth"] != 9 || j.peaks != nil {
		t.Errorf("in the warm-up: %+v, peaks %v", got, j.peaks)
	}
	seen := &record.Server{CPU: 2, Gauges: map[string]float64{"depth": -1, "other": 5}}
	got := j.merge(report(-3), seen, record.PhaseMeasure)
	if got.CPU != 2 || got.Gauges["depth"] != -3 || got.Gauges["other"] != 5 {
		t.Errorf("merged to %+v", got)
	}
	j.merge(report(-7), nil, record.PhaseMeasure)
	if j.peaks["depth"] != -3 {
		t.Errorf("peaks %v, want -3", j.peaks)
	}
}

// An agent of an earlier version does not report the limit of memory, and the process's environment has it.
func TestMemoryLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc/PID/environ is of Linux")
	}
	sleep := exec.Command("sleep", "60")
	sleep.Env = append(os.Environ(), "GOMEMLIMIT=64MiB")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait() // the error is that it was killed
	}()
	for range 10000 { // the kernel sets it up some time after Start returns
		if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", sleep.Process.Pid)); err != nil || len(environ) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for name, c := range map[string]struct {
		info *agent.Info
		want int64
	}{
		"no agent":                       {nil, 64 << 20},
		"an agent of an earlier version": {&agent.Info{}, 64 << 20},
		"an agent without a limit":       {&agent.Info{MemoryLimit: new(int64)}, 0},
		"an agent with a limit":          {&agent.Info{MemoryLimit: new(int64(32 << 20))}, 32 << 20},
	} {
		if got := memoryLimit(c.info, sleep.Process.Pid); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := memoryLimit(nil, 0); got != 0 {
		t.Errorf("no process: %d", got)
	}
}
