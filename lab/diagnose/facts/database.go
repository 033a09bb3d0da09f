package facts

import (
	"maps"
	"math"
	"slices"
	"strings"

	"dyno/lab/record"
)

// Database is what a service reported about a pool of connections, or about the statements that it
// sent, over the measured time of a run, by the gauges that agent.DBStats, Pool and Statements
// register. NaN means not reported, or not defined.
type Database struct {
	Name string

	Open, InUse, Max float64 // connections: mean numbers, and the limit
	WaitsPerS        float64 // requests per second that found no free connection
	MeanWait         float64 // s per such request
	Waiting          float64 // s per s: mean number of waiting requests
	Acquires         float64 // acquires in the measured time
	Reuse            float64 // share of acquires that got an existing connection

	Statements float64 // statements sent in the measured time
	PerRequest float64 // statements per request
	Prepared   float64 // share of statements already prepared: statement-cache hits
	Dated      float64 // share of statements with a deadline
}

// Databases returns the databases that a service reported, by name.
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
		out = append(out, newDatabase(name, gauges, r.Totals.ThroughputPerS))
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

// ratio is NaN when b is 0.
func ratio(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}
