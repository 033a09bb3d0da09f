// Package workload describes a load: what is sent to a target, how fast, and which answers count as
// success. A scenario file, an importer and the flags of a command line fill in the same Load, and
// drivers and load agents take it.
//
// It is not for reading or writing files (scenario), nor for sending anything (load). It imports
// only the standard library and starts no goroutines.
package workload

import (
	"cmp"
	"time"
)

// Kinds of load.
const (
	Requests = "requests"
	Jobs     = "jobs"
	Sessions = "sessions"
	Flows    = "flows"
	GRPC     = "grpc"
)

// Load is a load. The zero value of every field is its documented default. URL, headers and bodies
// are templates: besides ${target.FIELD} and ${NAME.FIELD}, of the dependency NAME, they may
// contain the placeholders that change from request to request (see LoadPlaceholder).
type Load struct {
	Kind string `yaml:"kind,omitempty" json:"kind,omitempty"` // Requests (also when empty), Jobs, Sessions, Flows or GRPC
	// URL is that of requests, or opens sessions. With ws and wss, requests are JSON-RPC calls over
	// WebSockets, and sessions are WebSockets; with http and https, sessions are streams of
	// server-sent events.
	URL     string            `yaml:"url,omitempty" json:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	TLS     TLS               `yaml:"tls,omitempty" json:"tls,omitzero"`

	Engine      string        `yaml:"engine,omitempty" json:"engine,omitempty"`           // raw | std | auto (also when empty)
	Connections int           `yaml:"connections,omitempty" json:"connections,omitempty"` // default 64
	Pipeline    int           `yaml:"pipeline,omitempty" json:"pipeline,omitempty"`       // requests in flight on one connection or WebSocket; default 1
	Follow      int           `yaml:"follow,omitempty" json:"follow,omitempty"`           // number of redirects that a request follows; 0: a redirect is its answer
	Timeout     time.Duration `yaml:"timeout,omitempty" json:"timeout_ns,omitempty"`      // from the intended send time; default 10 s
	Think       time.Duration `yaml:"think,omitempty" json:"think_ns,omitempty"`          // closed model: pause between an answer and the next request
	// Units is the number of units of work in a request, such as the calls of an array; all rates,
	// counts and costs are then by unit. 0: 1. For a job by concurrency it is the number of units of a
	// run, which is then measured from its start to its end; 0: it is measured for a length, and
	// stopped.
	Units    int      `yaml:"units,omitempty" json:"units,omitempty"`
	MaxRate  float64  `yaml:"max_rate,omitempty" json:"max_rate,omitempty"` // limit of the offered rate, per second; 0: none
	Schedule Schedule `yaml:"schedule,omitempty" json:"schedule,omitzero"`

	Feeder *Feeder `yaml:"feeder,omitempty" json:"feeder,omitempty"`
	Keys   *Keys   `yaml:"keys,omitempty" json:"keys,omitempty"`
	// Once means that a process of the target receives each row of Feeder, or each body of a corpus, at
	// most once, in order; each copy of a body then takes a row of its own.
	Once  bool  `yaml:"once,omitempty" json:"once,omitempty"`
	Check Check `yaml:"check,omitempty" json:"check,omitzero"`

	Requests []Request `yaml:"classes,omitempty" json:"requests,omitempty"` // of Requests and GRPC: the mix; none: one request of URL
	Steps    []Step    `yaml:"steps,omitempty" json:"steps,omitempty"`      // of Flows: at least one
	GRPC     *Call     `yaml:",inline" json:"grpc,omitempty"`               // of GRPC
	Sessions *Session  `yaml:",inline" json:"sessions,omitempty"`           // of Sessions
	Job      *Job      `yaml:",inline" json:"job,omitempty"`                // of Jobs
	Driver   *Program  `yaml:"driver,omitempty" json:"driver,omitempty"`    // of Sessions: a program that drives them; see DriverPlaceholders

	Deliveries string `yaml:"receipts,omitempty" json:"deliveries,omitempty"` // URL of a sink's deliveries, may contain ${run}; or ws, wss: of an Ethereum node
}

// Request is one kind of request in a mix. What it leaves out is the load's.
type Request struct {
	Name    string            `yaml:"name,omitempty" json:"name,omitempty"`
	Weight  float64           `yaml:"weight,omitempty" json:"weight,omitempty"`   // share relative to the others'; 0: 1
	Method  string            `yaml:"method,omitempty" json:"method,omitempty"`   // default: POST with a body, GET without
	Path    string            `yaml:"path,omitempty" json:"path,omitempty"`       // path and query, on the host of Load.URL
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"` // added to the load's
	Body    Body              `yaml:",inline" json:"body,omitzero"`
	Check   *Check            `yaml:"check,omitempty" json:"check,omitempty"`
}

// Body is what a request sends: at most one of Text, File and Corpus is set. Of gRPC calls it is
// the message in JSON.
type Body struct {
	Text   string `yaml:"body,omitempty" json:"text,omitempty"`
	File   string `yaml:"body_file,omitempty" json:"file,omitempty"` // the template, from a file
	Copies int    `yaml:"repeat,omitempty" json:"copies,omitempty"`  // of the template, a line each, ${n} from 0 to Copies-1; 0: just the template
	Array  bool   `yaml:"array,omitempty" json:"array,omitempty"`    // the copies are the members of a JSON array instead of lines
	Corpus string `yaml:"corpus,omitempty" json:"corpus,omitempty"`  // a file of prebuilt bodies, one per line, used in turn
}

// Step is one request of a flow. What it leaves out is the load's. Its texts are templates with the
// placeholders of requests and, as ${NAME}, the values that earlier steps saved.
type Step struct {
	Request `yaml:",inline"`
	URL     string          `yaml:"url,omitempty" json:"url,omitempty"`        // instead of Path: another host's
	Follow  int             `yaml:"follow,omitempty" json:"follow,omitempty"`  // 0: the load's
	Think   time.Duration   `yaml:"think,omitempty" json:"think_ns,omitempty"` // pause between the answer before and this request
	Save    map[string]Save `yaml:"save,omitempty" json:"save,omitempty"`      // by the value's name
}

// Save is where an answer has a value: exactly one field is set.
type Save struct {
	JSON    string `yaml:"json,omitempty" json:"json,omitempty"` // names joined by dots
	Header  string `yaml:"header,omitempty" json:"header,omitempty"`
	Cookie  string `yaml:"cookie,omitempty" json:"cookie,omitempty"`
	Matches string `yaml:"matches,omitempty" json:"matches,omitempty"` // a regular expression on the body, whose first group is the value
}

// Check defines which answers count as success. The zero Check requires a status below 400 that is
// no redirect: the answer of a server that sends the client to its login page is no success.
type Check struct {
	Status []int             `yaml:"status,omitempty" json:"status,omitempty"` // acceptable statuses
	Header map[string]string `yaml:"header,omitempty" json:"header,omitempty"` // header -> a part of its value
	JSON   []JSONTest        `yaml:"json,omitempty" json:"json,omitempty"`     // all must hold
}

// JSONTest is a predicate on one field of a JSON answer, or on the same field of each member of an
// array.
type JSONTest struct {
	Path   string `yaml:"path" json:"path"`                         // names joined by dots: result.status; one may be *: each member of an array
	Equals any    `yaml:"equals" json:"equals"`                     // compared as JSON values; nil without Exists requires the field to be absent or null
	Exists bool   `yaml:"exists,omitempty" json:"exists,omitempty"` // requires the field to exist and not be null, whatever its value
}

// Call is what gRPC calls call. Without Proto and Descriptors the target's reflection describes it.
type Call struct {
	Call        string   `yaml:"call,omitempty" json:"call,omitempty"`               // package.Service/Method
	Proto       []string `yaml:"proto,omitempty" json:"proto,omitempty"`             // files that describe it
	ProtoPath   []string `yaml:"proto_path,omitempty" json:"proto_path,omitempty"`   // folders from which imports of Proto count; none: the folder of each file
	Descriptors string   `yaml:"descriptors,omitempty" json:"descriptors,omitempty"` // a file that protoc wrote
}

// Job is what a load of jobs gives to the target's command.
type Job struct {
	// Args are appended to the target's command: ${rate} (per second), ${duration} and ${warmup} (as
	// in 2.5s) are those of the run. A rising rate rises evenly from ${rate} to ${ramp_to} over
	// ${duration}; in other runs ${ramp_to} is 0. With AxisConcurrency, ${concurrency} replaces ${rate},
	// and ${units} is Load.Units. ${debug} is a free address on this machine, at which a job may serve
	// its debug endpoints, and ${rows} a file with the rows of Load.Feeder.
	Args []string `yaml:"args,omitempty" json:"args,omitempty"`
	Axis string   `yaml:"axis,omitempty" json:"axis,omitempty"` // AxisRate (also when empty) or AxisConcurrency
}

// Program is a program: exactly one of Build and Command is set.
type Program struct {
	Build   string   `yaml:"build,omitempty" json:"build,omitempty"`     // a Go package
	Command []string `yaml:"command,omitempty" json:"command,omitempty"` // program and first arguments
	Args    []string `yaml:"args,omitempty" json:"args,omitempty"`
}

// DriverPlaceholders are the placeholders without a field in the arguments of a load's driver,
// which prints windows as a job does: ${sessions}, ${rate} (per second, of each session),
// ${duration} and ${warmup} of the run.
func DriverPlaceholders() []string { return []string{"sessions", "rate", "duration", "warmup"} }

// Feeder is the source of the rows for ${row.NAME}, used in turn: a file, or a program that runs
// once, before the first run, and prints the rows; its command has no placeholders.
type Feeder struct {
	File    string  `yaml:"file,omitempty" json:"file,omitempty"`
	Program Program `yaml:",inline" json:"program,omitzero"`
	Format  string  `yaml:"format,omitempty" json:"format,omitempty"` // csv (with a header line) | ndjson; default: by the file's extension
}

// String names the feeder in messages, without the program's arguments, which may be secrets.
func (f *Feeder) String() string {
	if len(f.Program.Command) > 0 {
		return f.Program.Command[0]
	}
	return cmp.Or(f.File, f.Program.Build)
}

// Keys is the distribution of ${key}.
type Keys struct {
	Count int     `yaml:"count,omitempty" json:"count,omitempty"` // key-0 ... key-(Count-1); 0: 1
	Zipf  float64 `yaml:"zipf,omitempty" json:"zipf,omitempty"`   // exponent s: the share of the k-th most frequent key is proportional to k^-s; 0: uniform
}

// TLS holds the settings of https.
type TLS struct {
	CA       string `yaml:"ca,omitempty" json:"ca,omitempty"`             // PEM file of authorities to trust in addition to the system's
	Insecure bool   `yaml:"insecure,omitempty" json:"insecure,omitempty"` // trust any certificate
	HTTP2    bool   `yaml:"http2,omitempty" json:"http2,omitempty"`       // offer HTTP/2
}

// Kinds of schedule.
const (
	Poisson  = "poisson"
	Constant = "constant"
	Stepwise = "step"
	Ramp     = "ramp"
	File     = "file"
	Closed   = "closed"
)

// Schedule defines when to send. In every mode but load, the plan sets the rate of Constant and
// Poisson.
type Schedule struct {
	Kind   string  `yaml:"kind,omitempty" json:"kind,omitempty"` // default Poisson
	Rate   float64 `yaml:"rate,omitempty" json:"rate,omitempty"` // per second; mode load only
	Stages []Stage `yaml:"stages,omitempty" json:"stages,omitempty"`
	From   float64 `yaml:"from,omitempty" json:"from,omitempty"` // Ramp, per second
	To     float64 `yaml:"to,omitempty" json:"to,omitempty"`     // Ramp, per second, reached at the end of the run
	File   string  `yaml:"file,omitempty" json:"file,omitempty"` // one intended time per line, in seconds since the start
	Seed   uint64  `yaml:"seed,omitempty" json:"seed,omitempty"` // 0: the same for all variants of a round, different from round to round
}

// Stage is a part of a Stepwise schedule.
type Stage struct {
	Rate   float64       `yaml:"rate" json:"rate"` // per second
	Length time.Duration `yaml:"length" json:"length_ns"`
}

// ClassNames returns the names by which responses are counted: those of the classes of requests, or
// of a flow's steps. A single class needs no name.
func (l *Load) ClassNames() (names []string) {
	for i := range l.Steps {
		names = append(names, l.Steps[i].Name)
	}
	for i := range l.Requests {
		if len(l.Requests) > 1 {
			names = append(names, l.Requests[i].Name)
		}
	}
	return names
}

// Thinking is the time that a flow pauses in all.
func (l *Load) Thinking() (sum time.Duration) {
	for i := range l.Steps {
		sum += l.Steps[i].Think
	}
	return sum
}
