package record

import "fmt"

// Agent is a process that sent a share of a load, and how it fared over the measured time.
type Agent struct {
	Name          string           `json:"name"` // host and process, as "web1/4711"
	Offered       int64            `json:"offered"`
	Completed     int64            `json:"completed"` // answered, success or failure
	Failed        int64            `json:"failed"`
	Errors        map[string]int64 `json:"errors,omitempty"` // those that occurred, by kind
	Lag           Lag              `json:"send_lag_us"`
	CPUSeconds    float64          `json:"cpu_s"`          // of the process
	BusiestThread float64          `json:"busiest_thread"` // share of a core that its busiest sending thread used
	Realtime      bool             `json:"realtime,omitempty"`
	ClockOffset   int64            `json:"clock_offset_ns"` // its clock was ahead of the lab's by this,
	ClockError    int64            `json:"clock_error_ns"`  // give or take this
}

// Lateness returns the p99 of the load generator's send-lag, in ms, and what was that late: of
// several agents the latest one, which the others would hide in the total.
func (t Totals) Lateness() (ms float64, what string) {
	ms, what = t.Lag.P99/1000, "the load generator"
	for i, a := range t.Generator.Agents {
		if late := a.Lag.P99 / 1000; late >= ms || i == 0 {
			ms, what = late, fmt.Sprintf("agent %d (%s)", i+1, a.Name)
		}
	}
	return ms, what
}
