package ledger

import (
	"fmt"

	"dyno/parts/daemon"
	"dyno/services/ledger/follow"
)

// labels tell servers apart that have the same name, as those have that differ in a key which nobody is shown.
type labels map[string]int

func (l *labels) next(name string) string {
	if *l == nil {
		*l = labels{}
	}
	if (*l)[name]++; (*l)[name] > 1 {
		return fmt.Sprintf("%s #%d", name, (*l)[name])
	}
	return name
}

// serverMetrics are of each server.
var serverMetrics = []daemon.Metric{
	{Name: "score", Help: "how well a server does, from 0 to 1", Labels: []string{"server"}},
	{Name: "in_flight", Help: "requests to a server that are under way", Labels: []string{"server"}},
	{Name: "latency_seconds", Help: "average time of a server's last good answers", Labels: []string{"server"}},
	{Name: "cooling_seconds", Help: "time until a server is asked again; 0: it may be now", Labels: []string{"server"}},
	{Name: "request_rate", Help: "requests/s to a server that are permitted now", Labels: []string{"server"}},
	{Name: "request_edge", Help: "requests/s at which a server's budget was last met; 0: it was not", Labels: []string{"server"}},
	{Name: "byte_rate", Help: "bytes/s from a server that are permitted now", Labels: []string{"server"}},
	{Name: "byte_edge", Help: "bytes/s at which a server's budget was last met; 0: it was not", Labels: []string{"server"}},
	{Name: "requests_total", Help: "requests to a server that are over", Labels: []string{"server"}},
	{Name: "good_total", Help: "of them, those that were answered", Labels: []string{"server"}},
	{Name: "bytes_total", Help: "bytes of a server's answers", Labels: []string{"server"}},
	{Name: "slowed_total", Help: "answers of a server that asked for fewer requests", Labels: []string{"server"}},
	{Name: "warned_total", Help: "answers of a server that warned of its limit", Labels: []string{"server"}},
	{Name: "blamed_total", Help: "wrong answers of a server", Labels: []string{"server", "reason"}},
	{Name: "troubles_total", Help: "requests that a server did not answer", Labels: []string{"server", "kind"}},
	{Name: "connections_total", Help: "connections that were made to a server", Labels: []string{"server", "protocol", "tls"}},
	{Name: "connections_reused_total", Help: "requests over HTTP that found a connection to a server", Labels: []string{"server"}},
}

// standings sets the metrics of each server.
func (p *pipeline) standings(set daemon.Set) {
	var names labels
	for i, server := range p.pool.Report() { // in the order of the servers
		name := names.next(server.Server)
		set("score", server.Score, name)
		set("in_flight", float64(server.InFlight), name)
		set("latency_seconds", server.Latency.Seconds(), name)
		set("cooling_seconds", server.Cooling.Seconds(), name)
		set("request_rate", server.RequestRate, name)
		set("request_edge", server.RequestEdge, name)
		set("byte_rate", server.ByteRate, name)
		set("byte_edge", server.ByteEdge, name)
		set("requests_total", float64(server.Requests), name)
		set("good_total", float64(server.Good), name)
		set("bytes_total", float64(server.Bytes), name)
		set("slowed_total", float64(server.Slowed), name)
		set("warned_total", float64(server.Warned), name)
		for reason, n := range server.Blamed {
			set("blamed_total", float64(n), name, reason)
		}
		for kind, n := range server.Troubles {
			set("troubles_total", float64(n), name, kind)
		}
		c := p.servers[i].Counts()
		for l, n := range c.Connections {
			set("connections_total", float64(n), name, l.Protocol, l.TLS)
		}
		set("connections_reused_total", float64(c.Reused), name)
	}
}

// followMetrics say how far behind the tip a follower is.
var followMetrics = []daemon.Metric{
	{Name: "tip_index", Help: "index of the ledger that counts as the newest; 0: none yet"},
	{Name: "lag_ledgers", Help: "ledgers up to the tip that are not stored yet"},
	{Name: "fetches_total", Help: "times that what is missing up to the tip was fetched"},
	{Name: "failures_total", Help: "of them, those that failed"},
	{Name: "connected", Help: "1: a server has told of a ledger on the connection that it has; 0: not", Labels: []string{"server"}},
	{Name: "server_index", Help: "index of the newest ledger that a server told of", Labels: []string{"server"}},
	{Name: "disconnects_total", Help: "subscriptions to a server that ended", Labels: []string{"server"}},
}

// following sets the metrics of a follower.
func following(f *follow.Follower) func(daemon.Set) {
	return func(set daemon.Set) {
		s := f.Status()
		set("tip_index", float64(s.Tip.Index))
		set("lag_ledgers", float64(s.Lag()))
		set("fetches_total", float64(s.Fetches))
		set("failures_total", float64(s.Failures))
		var names labels
		for _, server := range s.Servers {
			name := names.next(server.Name)
			connected := 0.0
			if server.Connected {
				connected = 1
			}
			set("connected", connected, name)
			set("server_index", float64(server.Newest), name)
			set("disconnects_total", float64(server.Disconnects), name)
		}
	}
}
