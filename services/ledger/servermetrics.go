package ledger

import (
	"fmt"

	"dyno/parts/daemon"
	"dyno/services/ledger/tip"
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

// serverMetrics are the metrics of each server.
var serverMetrics = []daemon.Metric{
	{Name: "score", Help: "score of a server, from 0 to 1", Labels: []string{"server"}},
	{Name: "in_flight", Help: "requests to a server in flight", Labels: []string{"server"}},
	{Name: "latency_seconds", Help: "moving average of the latency of a server's good answers", Labels: []string{"server"}},
	{Name: "cooling_seconds", Help: "time until a server is asked again; 0 means that it may be asked now", Labels: []string{"server"}},
	{Name: "request_rate", Help: "current limit of requests/s to a server", Labels: []string{"server"}},
	{Name: "request_edge", Help: "requests/s at which a server's limit was last reached; 0 means never", Labels: []string{"server"}},
	{Name: "byte_rate", Help: "current limit of bytes/s from a server", Labels: []string{"server"}},
	{Name: "byte_edge", Help: "bytes/s at which a server's limit was last reached; 0 means never", Labels: []string{"server"}},
	{Name: "requests_total", Help: "finished requests to a server", Labels: []string{"server"}},
	{Name: "good_total", Help: "requests that a server answered", Labels: []string{"server"}},
	{Name: "bytes_total", Help: "bytes of a server's answers", Labels: []string{"server"}},
	{Name: "slowed_total", Help: "slowDown answers of a server", Labels: []string{"server"}},
	{Name: "warned_total", Help: "answers of a server with a load warning", Labels: []string{"server"}},
	{Name: "blamed_total", Help: "wrong answers of a server, by reason", Labels: []string{"server", "reason"}},
	{Name: "troubles_total", Help: "failed requests to a server, by kind of error", Labels: []string{"server", "kind"}},
	{Name: "connections_total", Help: "connections made to a server", Labels: []string{"server", "protocol", "tls"}},
	{Name: "connections_reused_total", Help: "HTTP requests to a server over an open connection", Labels: []string{"server"}},
}

func (p *pipeline) exposeServers(set daemon.Set) {
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

// followMetrics report how far behind the tip a follower is.
var followMetrics = []daemon.Metric{
	{Name: "tip_index", Help: "index of the ledger that counts as the newest; 0 means none yet"},
	{Name: "lag_ledgers", Help: "ledgers up to the tip that are not stored yet"},
	{Name: "fetches_total", Help: "fetches of the ledgers missing up to the tip"},
	{Name: "failures_total", Help: "failed fetches of the ledgers missing up to the tip"},
	{Name: "connected", Help: "1 if a server has reported a ledger on its current connection, else 0", Labels: []string{"server"}},
	{Name: "server_index", Help: "index of the newest ledger that a server reported", Labels: []string{"server"}},
	{Name: "disconnects_total", Help: "subscriptions to a server that ended", Labels: []string{"server"}},
}

func exposeFollower(f *tip.Follower) func(daemon.Set) {
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
