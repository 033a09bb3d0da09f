package reporttest

import (
	"maps"

	"dyno/lab/record"
)

// AddGauges adds gauges to a run that grow by the given amount per second, from 50 on.
func AddGauges(r *record.Run, perSecond map[string]float64) {
	for i, w := range r.Series {
		gauges := maps.Clone(w.Server.Gauges)
		for name, v := range perSecond {
			gauges[name] = 50 + v*float64(w.Start-r.Begin)/1e9
		}
		r.Series[i].Server.Gauges = gauges
	}
}

// Poor and good are the gauges of two services.
var (
	Good = map[string]float64{"reads_open": 0, "reads_in_use": 0, "reads_max_open": 0, "reads_wait_count": 0, "reads_wait_seconds": 0, "reads_acquires": 900, "reads_opened": 0}
	Poor = map[string]float64{"db_open": 0, "db_in_use": 0, "db_wait_count": 4000, "db_wait_seconds": 8, "db_acquires": 5000, "db_opened": 1500,
		"db_statements": 10000, "db_prepares": 1000, "db_deadlines": 9000, "db_undated": 1000}
)

// Database is a load of a service that has two pools; hostile is a third one's name.
func Database() *Made {
	m := Load("open")
	AddGauges(m.Runs[0], Good)
	AddGauges(m.Runs[0], Poor)
	AddGauges(m.Runs[0], map[string]float64{Hostile + "_open": 0, Hostile + "_in_use": 0})
	return m
}
