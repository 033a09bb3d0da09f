package facts

import (
	"maps"
	"math"
	"slices"
	"strings"

	"dyno/lab/record"
)

// Database is what a service told of a pool of connections, or of the statements that it sent, over the measured
// time of a run, by the gauges that agent.DBStats, Pool and Statements register. NaN: it did not tell, or there was
// nothing to tell.
type Database struct {
	Name string

	Open, InUse, Max float64 // connections: means, and how many there may be
	WaitsPerS        float64 // requests that found no free connection
	MeanWait         float64 // s, of those
	Waiting          float64 // s per s: how many wait at a time, on average
	Acquires         float64 // in that time
	Reuse            float64 // share of acquires that got a connection which was there

	Statements float64 // sent in that time
	PerRequest float64 // statements to a request
	Prepared   float64 // share of statements that were prepared already: statement-cache hits
	Dated      float64 // share of statements that had a deadline
}

// Databases are those that a service told of, by name.
func Databases(r *record.Run) []Database {
	gauges := Gauges(r)
	names := map[string]bool{}
	for gauge := range gauges {
		if name, ok := strings.CutSuffix(gauge, "_in_use"); ok && has(gauges, name+"_open") {
			names[name] = true
		}
		if name, ok := strings.CutSuffix(gauge, "_statements"); ok && has(gauges, name+"_prepares") {
			names[name] = true
		}
	}
	var out []Database
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, newDatabase(name, gauges, r.Totals.AchievedPerS))
	}
	return out
}

func has(gauges map[string]Gauge, name string) bool {
	_, ok := gauges[name]
	return ok
}

func newDatabase(name string, gauges map[string]Gauge, requestsPerS float64) Database {
	gauge := func(suffix string) Gauge {
		if g, ok := gauges[name+suffix]; ok {
			return g
		}
		return Gauge{Mean: math.NaN(), Growth: math.NaN()}
	}
	waits, waited := gauge("_wait_count"), gauge("_wait_seconds")
	acquires, statements, prepares := gauge("_acquires"), gauge("_statements"), gauge("_prepares")
	dated := gauge("_deadlines").Growth
	return Database{
		Name: name, Open: gauge("_open").Mean, InUse: gauge("_in_use").Mean, Max: gauge("_max_open").Mean,
		WaitsPerS: waits.PerSecond(), MeanWait: ratio(waited.Growth, waits.Growth), Waiting: waited.PerSecond(),
		Acquires: acquires.Growth, Reuse: max(0, 1-ratio(gauge("_opened").Growth, acquires.Growth)),
		Statements: statements.Growth, PerRequest: ratio(statements.PerSecond(), requestsPerS),
		Prepared: max(0, 1-ratio(prepares.Growth, statements.Growth)), Dated: ratio(dated, dated+gauge("_undated").Growth),
	}
}

// ratio is NaN where there is nothing to divide by.
func ratio(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}
