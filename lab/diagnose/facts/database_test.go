package facts

import (
	"fmt"
	"math"
	"testing"

	"dyno/lab/record"
)

// told returns a run with 41 windows, 4 s from the first to the last, after two that do not count.
// Each gauge begins at its first figure and ends at its second.
func told(gauges map[string][2]float64) *record.Run {
	const n = 41
	r := &record.Run{Totals: record.Totals{ThroughputPerS: 500}}
	for i := range n {
		at := map[string]float64{}
		for name, v := range gauges {
			at[name] = v[0] + (v[1]-v[0])*float64(i)/(n-1)
		}
		r.Series = append(r.Series, record.Window{Start: int64(i) * int64(record.WindowLength), Phase: record.PhaseMeasure, Server: &record.Server{Gauges: at}})
	}
	warm := record.Window{Phase: record.PhaseWarmup, Server: &record.Server{Gauges: map[string]float64{"db_open": 1e9, "db_acquires": 1e9}}}
	blind := record.Window{Phase: record.PhaseMeasure}
	r.Series = append([]record.Window{warm, blind}, r.Series...)
	return r
}

func TestDatabases(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		gauges map[string][2]float64
		want   []Database
	}{
		{"nothing", nil, nil},
		{"gauges of something else", map[string][2]float64{"queue_open": {1, 1}, "seats_in_use": {1, 1}, "x_statements": {0, 9}}, nil},
		{"database/sql", map[string][2]float64{"db_open": {4, 4}, "db_in_use": {2, 4}, "db_wait_count": {100, 500}, "db_wait_seconds": {1, 3}},
			[]Database{{"db", 4, 3, nan, 100, 0.005, 0.5, nan, nan, nan, nan, nan, nan}}},
		{"no waits", map[string][2]float64{"db_open": {4, 4}, "db_in_use": {2, 2}, "db_wait_count": {7, 7}, "db_wait_seconds": {1, 1}},
			[]Database{{"db", 4, 2, nan, 0, nan, 0, nan, nan, nan, nan, nan, nan}}},
		{"a pool and statements", map[string][2]float64{"db_open": {4, 4}, "db_in_use": {2, 2}, "db_max_open": {6, 6}, "db_wait_count": {0, 0}, "db_wait_seconds": {0, 0},
			"db_acquires": {0, 1000}, "db_opened": {3, 13}, "db_statements": {50, 4050}, "db_prepares": {6, 206}, "db_deadlines": {0, 3000}, "db_undated": {0, 1000}},
			[]Database{{"db", 4, 2, 6, 0, nan, 0, 1000, 0.99, 4000, 2, 0.95, 0.75}}},
		{"apart", map[string][2]float64{"b_open": {1, 1}, "b_in_use": {1, 1}, "a_statements": {0, 0}, "a_prepares": {0, 0}, "a_deadlines": {0, 0}, "a_undated": {0, 0}},
			[]Database{{"a", nan, nan, nan, nan, nan, nan, nan, nan, 0, 0, nan, nan}, {"b", 1, 1, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}}},
		{"started anew meanwhile", map[string][2]float64{"db_open": {4, 4}, "db_in_use": {2, 2}, "db_acquires": {1000, 0}, "db_opened": {0, 0}},
			[]Database{{"db", 4, 2, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}}},
	} {
		// NaN does not equal itself, but its text does.
		if got, want := fmt.Sprintf("%+v", rounded(Databases(told(c.gauges)))), fmt.Sprintf("%+v", c.want); got != want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, want)
		}
	}
}

// rounded removes floating-point rounding errors.
func rounded(all []Database) []Database {
	for i := range all {
		for _, v := range []*float64{&all[i].MeanWait, &all[i].Reuse, &all[i].Prepared, &all[i].Dated, &all[i].InUse} {
			*v = math.Round(*v*1e6) / 1e6
		}
	}
	return all
}

func TestGaugesSeenOnce(t *testing.T) {
	r := told(map[string][2]float64{"n": {3, 3}})
	r.Series = r.Series[:3]
	g := Gauges(r)["n"]
	if g.Mean != 3 || g.Growth != 0 || !math.IsNaN(g.PerSecond()) {
		t.Errorf("%+v", g)
	}
}
