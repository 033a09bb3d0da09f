package diagnose

import (
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// C code computes and uses all of the CPU: the CPU bounds it, although the trace shows system calls.
func TestDiagnoseComputingInC(t *testing.T) {
	runs := append(sweep(900, 1000, 1000), profiled(32, 1000,
		[]record.Stack{stack(3.8e9, append([]string{"runtime.cgocall", "main._Cfunc_step", "main.query"}, handler...)...)},
		wait("system call", 31, "main._Cfunc_step", "main.query")))
	for _, r := range runs {
		r.System.TargetCPU = 1.9
	}
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Bottleneck != rules.CPU {
		t.Errorf("%s %s: %s", d.Bottleneck, d.Kind, d.Text)
	}
}
