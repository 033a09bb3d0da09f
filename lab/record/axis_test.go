package record

import "testing"

// The axis of a record without one follows from its kind and model.
func TestAxis(t *testing.T) {
	for want, loads := range map[string][]LoadInfo{
		AxisRate:        {{}, {Kind: "requests", Model: "closed"}, {Kind: KindJobs, Model: "open"}, {Kind: "new", Axis: AxisRate}},
		AxisConcurrency: {{Kind: KindJobs, Model: "closed"}, {Kind: "new", Axis: AxisConcurrency}},
		AxisSessions:    {{Kind: KindSessions, Model: "open"}, {Kind: KindSessions, Model: "closed"}, {Kind: "new", Axis: AxisSessions}},
	} {
		for _, l := range loads {
			if got := (&Run{Load: l}).Axis(); got != want {
				t.Errorf("%+v: %s, want %s", l, got, want)
			}
		}
	}
}
