package format

import (
	"fmt"

	"dyno/lab/record"
)

// Agents describes the processes that shared a load; empty: there were none.
func Agents(t record.Totals) string {
	agents := t.Generator.Agents
	if len(agents) == 0 {
		return ""
	}
	ms, latest := t.Lateness()
	uncertain, cpu := int64(0), 0.0
	for _, a := range agents {
		uncertain, cpu = max(uncertain, a.ClockError), cpu+a.CPUSeconds
	}
	return fmt.Sprintf("%d sent the load with %.3g s of CPU; %s had the highest send-lag, p99 %.2g ms; their clocks are known within %.2g ms",
		len(agents), cpu, latest, ms, float64(uncertain)/1e6)
}
