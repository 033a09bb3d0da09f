package findings

import (
	"testing"

	"dyno/lab/diagnose/facts"
	"dyno/lab/record"
)

// telling returns a run of 5 s whose gauges start at 1000 and grow by the given amount per second.
func telling(perSecond map[string]float64) *record.Run {
	return series(50, func(i int) *record.Server {
		gauges := map[string]float64{}
		for name, v := range perSecond {
			gauges[name] = 1000 + v*float64(i)/10
		}
		return &record.Server{Gauges: gauges}
	})
}

func TestDatabase(t *testing.T) {
	told := func(perSecond map[string]float64) func(*testing.T) Subject {
		return func(*testing.T) Subject { return others(telling(perSecond)) }
	}
	pool := func(acquires, opened float64) func(*testing.T) Subject {
		return told(map[string]float64{"reads_open": 0, "reads_in_use": 0, "reads_acquires": acquires, "reads_opened": opened})
	}
	statements := func(sent, prepares, deadlines, undated float64) func(*testing.T) Subject {
		return told(map[string]float64{"db_statements": sent, "db_prepares": prepares, "db_deadlines": deadlines, "db_undated": undated})
	}
	check(t, []expectation{
		{name: "every fourth made anew", kind: KindConnections, fires: true, subject: pool(1000, 250), evidence: map[string]float64{"reuse": 0.75}, words: []string{"reads", "75%"}},
		{name: "every tenth made anew", kind: KindConnections, subject: pool(1000, 100)},
		{name: "too few to say", kind: KindConnections, subject: pool(10, 10)},
		{name: "made without being asked for", kind: KindConnections, fires: true, subject: pool(100, 500), words: []string{"0%"}},
		{name: "a pool without its gauges", kind: KindConnections, subject: told(map[string]float64{"reads_open": 0, "reads_in_use": 0})},
		{name: "every tenth prepared", kind: KindStatements, fires: true, subject: statements(1000, 100, 1000, 0), evidence: map[string]float64{"statement_hits": 0.9}, words: []string{"db", "90%"}},
		{name: "every twentieth prepared", kind: KindStatements, subject: statements(1000, 50, 1000, 0)},
		{name: "too few to say", kind: KindStatements, subject: statements(10, 10, 10, 0)},
		{name: "one in a hundred", kind: KindDeadlines, fires: true, subject: statements(1000, 0, 990, 10), evidence: map[string]float64{"dated_share": 0.99}, words: []string{"1% of the statements that db sent"}},
		{name: "all of them", kind: KindDeadlines, fires: true, subject: statements(1000, 0, 0, 1000), words: []string{"100%"}},
		{name: "none", kind: KindDeadlines, subject: statements(1000, 0, 1000, 0)},
		{name: "none that told", kind: KindDeadlines, subject: statements(1000, 0, 0, 0)},
		{name: "by Pool's gauges", kind: KindPool, fires: true, subject: told(map[string]float64{"a_wait_seconds": 2, "b_open": 0, "b_in_use": 0, "b_wait_seconds": 5}), evidence: map[string]float64{"b_wait_seconds": 5}},
	})
}

// Database returns for a run the same findings as Find for a subject with that run.
func TestDatabaseOfARun(t *testing.T) {
	r := telling(map[string]float64{"db_open": 0, "db_in_use": 0, "db_wait_seconds": 4, "db_acquires": 1000, "db_opened": 500,
		"db_statements": 1000, "db_prepares": 500, "db_deadlines": 0, "db_undated": 1000})
	all := facts.Databases(r)
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	if got := kinds(Database(r, all[0])); got != KindPool+" "+KindConnections+" "+KindStatements+" "+KindDeadlines {
		t.Errorf("found %s", got)
	}
}
