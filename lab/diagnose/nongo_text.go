package diagnose

import (
	"fmt"

	"dyno/lab/diagnose/rules"
)

// threadText describes a program whose code runs on one thread at a time, which is always busy.
func (v statement) threadText(at, used string) string {
	text := fmt.Sprintf("One thread bounds it: %s %s ran or waited for a CPU %s of the time (%s).",
		at, v.One, percent(v.Signals[rules.OneThread]), used)
	if v.Cores > 1 {
		text += " A further core would not help it; a further process would."
	}
	if share := v.Signals[rules.System]; share >= rules.Defaults.Value(rules.ThresholdKernel) {
		text += fmt.Sprintf(" %s of its CPU time was spent in the kernel.", percent(share))
	}
	return text
}

// asleepText describes a program, seen from outside, whose requests wait.
func (v statement) asleepText(at, used string) string {
	sig := v.Signals
	text := ""
	if v.Kind == rules.Called {
		text = fmt.Sprintf("Waiting for downstream bounds it, not computing: %s %s of the requests, or of its connections to %s, wait for an answer from there (%s).",
			at, percent(sig[rules.Calling]), v.CallsTo, used)
	} else {
		text = fmt.Sprintf("Waiting bounds it, not computing: %s its threads slept; %s threads ran or waited for a CPU at any moment (%s).", at, digits(sig[rules.Awake]), used)
		text += fmt.Sprintf(" What the requests wait for is unknown: few connections wait for another process's answer (%s), and the accept queue is not the cause, so it may be a timer, a lock, a file or a call that shares its connection with others.", percent(sig[rules.Calling]))
	}
	if sig[rules.Growth] >= rules.Defaults.Value(rules.ThresholdGrowth) {
		text += fmt.Sprintf(" More clients still raise the throughput (by %s per doubling): no resource is used up, each request only takes long.", percent(sig[rules.Growth]))
	}
	return text
}

// shortText describes a program, seen from outside, that waits for a CPU more than it runs.
func (v statement) shortText(at, used string) string {
	whose, share := v.One, v.Signals[rules.OneThread]
	if whose == "" {
		whose, share = "its threads", v.Signals[rules.Awake]
	}
	return fmt.Sprintf("The bottleneck is unknown, because it is short of CPU: %s %s, and %s ran or waited for a CPU %s of the time, of which %s was waiting. With a CPU to itself it may compute all the time, or sleep.",
		at, used, whose, percent(share), percent(v.Signals[rules.Starved])) + v.in(" %[1]s of its CPU time is spent in %[2]s.")
}
