package ledger

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/services/ledger/follow"
	"dyno/services/ledger/pace"
)

// standings tells of each server.
type standings struct{ p *pipeline }

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

// ofServer describes a figure of a server, with more labels if it is several.
func ofServer(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ripple_server_"+name, help, append([]string{"server"}, labels...), nil)
}

// figures are those of which a server has one each.
var figures = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(pace.ServerStats) float64
}{
	{ofServer("score", "how well a server does, from 0 to 1"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return s.Score }},
	{ofServer("in_flight", "requests to a server that are under way"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return float64(s.InFlight) }},
	{ofServer("latency_seconds", "average time of a server's last good answers"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return s.Latency.Seconds() }},
	{ofServer("cooling_seconds", "time until a server is asked again; 0: it may be now"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return s.Cooling.Seconds() }},
	{ofServer("request_rate", "requests/s to a server that are permitted now"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return s.RequestRate }},
	{ofServer("request_edge", "requests/s at which a server's budget was last met; 0: it was not"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return s.RequestEdge }},
	{ofServer("byte_rate", "bytes/s from a server that are permitted now"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return s.ByteRate }},
	{ofServer("byte_edge", "bytes/s at which a server's budget was last met; 0: it was not"), prometheus.GaugeValue, func(s pace.ServerStats) float64 { return s.ByteEdge }},
	{ofServer("requests_total", "requests to a server that are over"), prometheus.CounterValue, func(s pace.ServerStats) float64 { return float64(s.Requests) }},
	{ofServer("good_total", "of them, those that were answered"), prometheus.CounterValue, func(s pace.ServerStats) float64 { return float64(s.Good) }},
	{ofServer("bytes_total", "bytes of a server's answers"), prometheus.CounterValue, func(s pace.ServerStats) float64 { return float64(s.Bytes) }},
	{ofServer("slowed_total", "answers of a server that asked for fewer requests"), prometheus.CounterValue, func(s pace.ServerStats) float64 { return float64(s.Slowed) }},
	{ofServer("warned_total", "answers of a server that warned of its limit"), prometheus.CounterValue, func(s pace.ServerStats) float64 { return float64(s.Warned) }},
}

// And those of which it has several.
var (
	blamedDesc      = ofServer("blamed_total", "wrong answers of a server", "reason")
	troublesDesc    = ofServer("troubles_total", "requests that a server did not answer", "kind")
	connectionsDesc = ofServer("connections_total", "connections that were made to a server", "protocol", "tls")
	reusedDesc      = ofServer("connections_reused_total", "requests over HTTP that found a connection to a server")
)

func (s *standings) Describe(d chan<- *prometheus.Desc) {
	for _, f := range figures {
		d <- f.desc
	}
	for _, desc := range []*prometheus.Desc{blamedDesc, troublesDesc, connectionsDesc, reusedDesc} {
		d <- desc
	}
}

func (s *standings) Collect(m chan<- prometheus.Metric) {
	var names labels
	for i, server := range s.p.pool.Report() { // in the order of the servers
		name := names.next(server.Server)
		for _, f := range figures {
			m <- prometheus.MustNewConstMetric(f.desc, f.kind, f.of(server), name)
		}
		count := func(desc *prometheus.Desc, n float64, labels ...string) {
			m <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, n, append([]string{name}, labels...)...)
		}
		for reason, n := range server.Faults {
			count(blamedDesc, float64(n), reason)
		}
		for kind, n := range server.Errors {
			count(troublesDesc, float64(n), kind)
		}
		c := s.p.servers[i].Counts()
		for l, n := range c.Connections {
			count(connectionsDesc, float64(n), l.Protocol, l.TLS)
		}
		count(reusedDesc, float64(c.Reused))
	}
}

// following tells how far behind the tip a follower is.
type following struct{ f *follow.Follower }

var (
	tipDesc         = prometheus.NewDesc("ripple_follow_tip_index", "index of the ledger that counts as the newest; 0: none yet", nil, nil)
	lagDesc         = prometheus.NewDesc("ripple_follow_lag_ledgers", "ledgers up to the tip that are not stored yet", nil, nil)
	fetchesDesc     = prometheus.NewDesc("ripple_follow_fetches_total", "times that what is missing up to the tip was fetched", nil, nil)
	failuresDesc    = prometheus.NewDesc("ripple_follow_failures_total", "of them, those that failed", nil, nil)
	connectedDesc   = prometheus.NewDesc("ripple_follow_connected", "1: a server has told of a ledger on the connection that it has; 0: not", []string{"server"}, nil)
	newestDesc      = prometheus.NewDesc("ripple_follow_server_index", "index of the newest ledger that a server told of", []string{"server"}, nil)
	disconnectsDesc = prometheus.NewDesc("ripple_follow_disconnects_total", "subscriptions to a server that ended", []string{"server"}, nil)
)

func (f *following) Describe(d chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{tipDesc, lagDesc, fetchesDesc, failuresDesc, connectedDesc, newestDesc, disconnectsDesc} {
		d <- desc
	}
}

func (f *following) Collect(m chan<- prometheus.Metric) {
	tell := func(desc *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string) {
		m <- prometheus.MustNewConstMetric(desc, kind, n, labels...)
	}
	s := f.f.Status()
	tell(tipDesc, prometheus.GaugeValue, float64(s.Tip.Index))
	tell(lagDesc, prometheus.GaugeValue, float64(s.Lag()))
	tell(fetchesDesc, prometheus.CounterValue, float64(s.Fetches))
	tell(failuresDesc, prometheus.CounterValue, float64(s.Failures))
	var names labels
	for _, server := range s.Servers {
		name := names.next(server.Name)
		connected := 0.0
		if server.Connected {
			connected = 1
		}
		tell(connectedDesc, prometheus.GaugeValue, connected, name)
		tell(newestDesc, prometheus.GaugeValue, float64(server.Newest), name)
		tell(disconnectsDesc, prometheus.CounterValue, float64(server.Disconnects), name)
	}
}
