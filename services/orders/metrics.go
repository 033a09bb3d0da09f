package orders

import (
	"dyno/parts/daemon"
	"dyno/services/orders/release"
	"dyno/services/orders/web"
)

// handedOver is the help of a metric that exists with event loops.
const handedOver = "requests that event loops gave a goroutine of their own, by reason: path and method (of other routes), body (too large), breaker (the database does not answer), release (a second version is tried), assembly (it begins no query), host, or a header field's name"

// loopMetrics are of event loops.
func loopMetrics(l *web.Loop) []daemon.Metric {
	return []daemon.Metric{
		{Name: "loop_connections", Help: "clients that are connected", Read: func() float64 { return float64(l.Stats().Connections) }},
		{Name: "loop_requests_total", Help: "requests that event loops have read", Read: func() float64 { return float64(l.Stats().Requests) }},
		{Name: "loop_turns_total", Help: "turns in which they have read some", Read: func() float64 { return float64(l.Stats().Turns) }},
		{Name: "loop_refused_total", Help: "clients that were refused or cut off before there was a request", Read: func() float64 { return float64(l.Stats().Refused) }},
	}
}

// releaseMetrics are of a second version.
func releaseMetrics(r *release.Release) []daemon.Metric {
	compared := func() release.Compared { return r.Status().Compared }
	return []daemon.Metric{
		{Name: "release_same_total", Help: "copies of reads that the second version answered alike", Read: func() float64 { return float64(compared().Same) }},
		{Name: "release_different_total", Help: "copies of reads that it answered otherwise", Read: func() float64 { return float64(compared().Different) }},
		{Name: "release_failed_total", Help: "copies of reads that it did not answer", Read: func() float64 { return float64(compared().Failed) }},
		{Name: "release_fraction", Help: "share of the reads or accounts that a second version gets", Read: func() float64 { return r.Status().Share }},
		{Name: "release_rolled_back_total", Help: "releases that a rule has rolled back", Read: func() float64 { return float64(r.RolledBack()) }},
		{Name: "release_dropped_total", Help: "copies of reads that were not sent, as too many waited", Read: func() float64 { return float64(compared().Dropped) }},
	}
}
