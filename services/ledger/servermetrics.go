package ledger

import (
	"fmt"

	"dyno/parts/daemon"
	"dyno/services/ledger/follow"
	"dyno/services/ledger/pace"
)

// labels disambiguates servers with equal names (their URLs differ only in a redacted key).
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

var figures = []struct {
	name, help string
	of         func(pace.ServerStats) float64
}{
	{"score", "score of a server, from 0 to 1", func(s pace.ServerStats) float64 { return s.Score }},
	{"in_flight", "requests to a server in flight", func(s pace.ServerStats) float64 { return float64(s.InFlight) }},
	{"latency_seconds", "moving average of the latency of a server's good answers", func(s pace.ServerStats) float64 { return s.Latency.Seconds() }},
	{"cooling_seconds", "time until a server is asked again; 0 means that it may be asked now", func(s pace.ServerStats) float64 { return s.Cooling.Seconds() }},
	{"request_rate", "current limit of requests/s to a server", func(s pace.ServerStats) float64 { return s.RequestRate }},
	{"request_edge", "requests/s at which a server's limit was last reached; 0 means never", func(s pace.ServerStats) float64 { return s.RequestEdge }},
	{"byte_rate", "current limit of bytes/s from a server", func(s pace.ServerStats) float64 { return s.ByteRate }},
	{"byte_edge", "bytes/s at which a server's limit was last reached; 0 means never", func(s pace.ServerStats) float64 { return s.ByteEdge }},
	{"requests_total", "finished requests to a server", func(s pace.ServerStats) float64 { return float64(s.Requests) }},
	{"good_total", "requests that a server answered", func(s pace.ServerStats) float64 { return float64(s.Good) }},
	{"bytes_total", "bytes of a server's answers", func(s pace.ServerStats) float64 { return float64(s.Bytes) }},
	{"slowed_total", "slowDown answers of a server", func(s pace.ServerStats) float64 { return float64(s.Slowed) }},
	{"warned_total", "answers of a server with a load warning", func(s pace.ServerStats) float64 { return float64(s.Warned) }},
}

// serverMetrics are each server's metrics: the figures, and those with several values.
var serverMetrics = func() []daemon.Metric {
	all := []daemon.Metric{
		{Name: "blamed_total", Help: "wrong answers of a server, by reason", Labels: []string{"server", "reason"}},
		{Name: "troubles_total", Help: "failed requests to a server, by kind of error", Labels: []string{"server", "kind"}},
		{Name: "connections_total", Help: "connections made to a server", Labels: []string{"server", "protocol", "tls"}},
		{Name: "connections_reused_total", Help: "HTTP requests to a server over an open connection", Labels: []string{"server"}},
	}
	for _, f := range figures {
		all = append(all, daemon.Metric{Name: f.name, Help: f.help, Labels: []string{"server"}})
	}
	return all
}()

func (p *pipeline) exposeServers(set daemon.Set) {
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

var followMetrics = []daemon.Metric{
	{Name: "tip_index", Help: "index of the ledger that counts as the newest; 0 means none yet"},
	{Name: "lag_ledgers", Help: "ledgers up to the tip that are not stored yet"},
	{Name: "fetches_total", Help: "fetches of the ledgers missing up to the tip"},
	{Name: "failures_total", Help: "failed fetches of the ledgers missing up to the tip"},
	{Name: "connected", Help: "1 if a server has reported a ledger on its current connection, else 0", Labels: []string{"server"}},
	{Name: "server_index", Help: "index of the newest ledger that a server reported", Labels: []string{"server"}},
	{Name: "disconnects_total", Help: "subscriptions to a server that ended", Labels: []string{"server"}},
}

func exposeFollower(f *follow.Follower) func(daemon.Set) {
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
