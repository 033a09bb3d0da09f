package diagnose

import (
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// contended returns runs of a service whose requests wait for a lock under which all of the CPU is
// spent: without the lock, the CPU permits no more.
func contended() []*record.Run {
	runs := append(sweep(950, 1000, 1000), profiled(32, 1000,
		[]record.Stack{stack(3.9e9, "crypto/sha256.block", "main.quote", handler[0], handler[1], handler[2])},
		wait("sync", 20, "sync.(*Mutex).Lock", "main.quote")))
	for _, r := range runs {
		r.System.TargetCPU = 1.95
	}
	return runs
}

// The estimate refutes the first verdict, so the next that holds is named, and says so.
func TestWhatTheEstimateRefutesIsNotNamed(t *testing.T) {
	d := NewSubject("v", contended()).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.CPU || d.Confirmed || len(d.Also) != 0 {
		t.Fatalf("%s also %v: %s", d.Bottleneck, d.Also, d.Text)
	}
	if !strings.HasPrefix(d.Headline, "The CPU bounds it: ") || !strings.HasPrefix(d.Next, "make main.quote (main.go:7) cheaper") {
		t.Errorf("%q, %q", d.Headline, d.Next)
	}
	if want := "the signals name a lock first, but by the estimate, the throughput would rise to 1.00x at most without it: then the CPU bounds it"; d.Unconfirmed != want {
		t.Errorf("%q, want %q", d.Unconfirmed, want)
	}
	last := d.Evidence[len(d.Evidence)-1]
	if last.Signal != "refuted" || last.Value != 1 || !strings.Contains(last.Means, "a lock is not what bounds it") {
		t.Errorf("%+v", last)
	}
}

// An experiment refutes a verdict, and the next that holds is named.
func TestAnExperimentLeavesTheNextVerdict(t *testing.T) {
	runs := append(sweep(900, 1000, 1000), profiled(32, 1000,
		[]record.Stack{stack(1.4e9, "crypto/sha256.block", "main.quote", handler[0], handler[1], handler[2])},
		wait("sync", 20, "sync.(*Mutex).Lock", "main.quote")))
	for _, r := range runs {
		r.System.TargetCPU, r.Totals.Generator.CPUSeconds = 1.24, 0.3
	}
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Bottleneck != rules.Lock {
		t.Fatalf("%s: %s", d.Bottleneck, d.Text)
	}
	d := NewSubject("v", tested(runs, 400)).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.CPU || d.Confirmed || !strings.HasPrefix(d.Unconfirmed, "the signals name a lock first, but an experiment contradicted that: with GOMAXPROCS=1") {
		t.Errorf("%s, %q: %s", d.Bottleneck, d.Unconfirmed, d.Text)
	}
	if last := d.Evidence[len(d.Evidence)-1]; last.Signal != "refuted" || last.Value != 0.4 {
		t.Errorf("%+v", last)
	}
	if len(d.Interventions) != 1 || d.Interventions[0].Held {
		t.Errorf("%+v", d.Interventions)
	}
}
