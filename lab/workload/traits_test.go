package workload

import "testing"

// Traits that depend on more than the kind of load.
func TestTraits(t *testing.T) {
	for name, c := range map[string]struct {
		load       Load
		axis       string
		searchable bool
		json       bool
	}{
		"requests":           {Load{}, AxisRate, true, false},
		"JSON-RPC calls":     {Load{URL: "ws://h/"}, AxisRate, true, true},
		"an upper case URL":  {Load{URL: "WSS://h/"}, AxisRate, true, true},
		"no scheme":          {Load{URL: "ws"}, AxisRate, true, false},
		"gRPC":               {Load{Kind: GRPC}, AxisRate, true, true},
		"a flow":             {Load{Kind: Flows}, AxisRate, true, false},
		"sessions":           {Load{Kind: Sessions, URL: "http://h/"}, AxisSessions, true, false},
		"a job by rate":      {Load{Kind: Jobs, Job: &Job{}}, AxisRate, false, false},
		"a job by its units": {Load{Kind: Jobs, Job: &Job{Axis: AxisConcurrency}}, AxisConcurrency, true, false},
	} {
		got := c.load.Traits()
		if got.Axis != c.axis || got.Searchable() != c.searchable || got.JSON != c.json {
			t.Errorf("%s: axis %s, searchable %v, JSON %v", name, got.Axis, got.Searchable(), got.JSON)
		}
	}
}
