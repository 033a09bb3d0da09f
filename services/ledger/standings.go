package ledger

import (
	"fmt"

	"dyno/parts/daemon"
	"dyno/services/ledger/follow"
	"dyno/services/ledger/pace"
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

// figures are those of which a server has one each.
var figures = []struct {
	name, help string
	of         func(pace.ServerStats) float64
}{
	{"score", "how well a server does, from 0 to 1", func(s pace.ServerStats) float64 { return s.Score }},
	{"in_flight", "requests to a server that are under way", func(s pace.ServerStats) float64 { return float64(s.InFlight) }},
	{"latency_seconds", "average time of a server's last good answers", func(s pace.ServerStats) float64 { return s.Latency.Seconds() }},
	{"cooling_seconds", "time until a server is asked again; 0: it may be now", func(s pace.ServerStats) float64 { return s.Cooling.Seconds() }},
	{"request_rate", "requests/s to a server that are permitted now", func(s pace.ServerStats) float64 { return s.RequestRate }},
	{"request_edge", "requests/s at which a server's budget was last met; 0: it was not", func(s pace.ServerStats) float64 { return s.RequestEdge }},
	{"byte_rate", "bytes/s from a server that are permitted now", func(s pace.ServerStats) float64 { return s.ByteRate }},
	{"byte_edge", "bytes/s at which a server's budget was last met; 0: it was not", func(s pace.ServerStats) float64 { return s.ByteEdge }},
	{"requests_total", "requests to a server that are over", func(s pace.ServerStats) float64 { return float64(s.Requests) }},
	{"good_total", "of them, those that were answered", func(s pace.ServerStats) float64 { return float64(s.Good) }},
	{"bytes_total", "bytes of a server's answers", func(s pace.ServerStats) float64 { return float64(s.Bytes) }},
	{"slowed_total", "answers of a server that asked for fewer requests", func(s pace.ServerStats) float64 { return float64(s.Slowed) }},
	{"warned_total", "answers of a server that warned of its limit", func(s pace.ServerStats) float64 { return float64(s.Warned) }},
}

// serverMetrics are of each server: the figures, and those of which it has several.
var serverMetrics = func() []daemon.Metric {
	all := []daemon.Metric{
		{Name: "blamed_total", Help: "wrong answers of a server", Labels: []string{"server", "reason"}},
		{Name: "troubles_total", Help: "requests that a server did not answer", Labels: []string{"server", "kind"}},
		{Name: "connections_total", Help: "connections that were made to a server", Labels: []string{"server", "protocol", "tls"}},
		{Name: "connections_reused_total", Help: "requests over HTTP that found a connection to a server", Labels: []string{"server"}},
	}
	for _, f := range figures {
		all = append(all, daemon.Metric{Name: f.name, Help: f.help, Labels: []string{"server"}})
	}
	return all
}()

// standings sets the metrics of each server.
func (p *pipeline) standings(set daemon.Set) {
	var names labels
	for i, server := range p.pool.Report() { // in the order of the servers
		name := names.next(server.Server)
		for _, f := range figures {
			set(f.name, f.of(server), name)
		}
		for reason, n := range server.Faults {
			set("blamed_total", float64(n), name, reason)
		}
		for kind, n := range server.Errors {
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
