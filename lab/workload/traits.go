package workload

import (
	"slices"
	"strings"
)

// Units in which the size of a load is counted.
const (
	AxisRate        = "rate"        // units per second
	AxisConcurrency = "concurrency" // concurrent units
	AxisSessions    = "sessions"    // connections that stay open
)

// Traits are what a kind of load has and can do.
type Traits struct {
	Fields  []string // that a scenario file may set
	Axis    string   // AxisRate, AxisConcurrency or AxisSessions
	Sends   bool     // something is sent to the target; it does not drive itself
	Splits  bool     // load agents can share it
	Sockets bool     // it goes over WebSockets
	HTTP2   bool     // it goes over HTTP/2, regardless of the TLS settings
	JSON    bool     // bodies are JSON, regardless of the headers
	// Probe is how the lab tests, before the load, that the target can be reached: ProbeRequest,
	// ProbeConnection, or empty for a load that is not probed.
	Probe string
}

// Probes of a target that already runs.
const (
	ProbeRequest    = "request"    // the first request
	ProbeConnection = "connection" // a connection alone: a request may change something at the target
)

// Has reports whether a scenario file may set a field of the load.
func (t Traits) Has(field string) bool { return slices.Contains(t.Fields, field) }

// Searchable reports whether the lab can search for the highest load that meets an SLO. Jobs at a
// rate run for a time of their own, and therefore cannot take turns.
func (t Traits) Searchable() bool { return t.Sends || t.Axis != AxisRate }

// Traits returns what the load has and can do.
func (l *Load) Traits() Traits {
	t, known := kinds[l.Kind]
	if !known {
		t = kinds[Requests]
	}
	if l.Job != nil && l.Job.Axis == AxisConcurrency {
		t.Axis = AxisConcurrency
	}
	if OverSocket(l.URL) {
		t.Sockets, t.JSON = true, true
	}
	return t
}

// OverSocket reports whether a URL is one of WebSockets: its scheme, in whatever case (RFC 3986,
// section 3.1), is ws or wss.
func OverSocket(url string) bool {
	scheme, _, ok := strings.Cut(url, "://")
	return ok && (strings.EqualFold(scheme, "ws") || strings.EqualFold(scheme, "wss"))
}

// sessionFields are the fields that only sessions have.
var sessionFields = []string{"sessions", "per_session", "open", "send", "expect", "driver"}

// kinds are the traits of each kind of load.
var kinds = map[string]Traits{
	Requests: {Axis: AxisRate, Sends: true, Splits: true, Probe: ProbeRequest, Fields: []string{"kind", "url", "method", "headers", "body", "body_file", "repeat", "array",
		"corpus", "classes", "feeder", "once", "keys", "check", "follow", "engine", "connections", "pipeline", "units", "timeout", "think", "tls", "schedule", "max_rate", "receipts"}},
	Flows: {Axis: AxisRate, Sends: true, Splits: true, Probe: ProbeConnection, Fields: []string{"kind", "url", "steps", "headers", "check", "follow", "feeder", "keys", "connections", "timeout", "tls", "schedule", "max_rate"}},
	GRPC: {Axis: AxisRate, Sends: true, Splits: true, Probe: ProbeConnection, HTTP2: true, JSON: true, Fields: []string{"kind", "url", "call", "proto", "proto_path", "descriptors", "headers", "body", "body_file", "repeat",
		"feeder", "once", "keys", "check", "connections", "pipeline", "timeout", "tls", "schedule", "max_rate"}},
	Sessions: {Axis: AxisSessions, Sends: true, Splits: true, Fields: append([]string{"kind", "url", "headers", "feeder", "once", "timeout", "tls"}, sessionFields...)},
	Jobs:     {Axis: AxisRate, Fields: []string{"kind", "args", "schedule", "max_rate", "axis", "units", "feeder"}},
}

// KindOf returns the only kind of load that has a field; empty: several have it, or none.
func KindOf(field string) string {
	found := ""
	for kind, t := range kinds {
		if slices.Contains(t.Fields, field) {
			if found != "" {
				return ""
			}
			found = kind
		}
	}
	return found
}
