// Package scenario is what a scenario file says: what to start, how to drive it and what to find
// out, variant by variant. The file is YAML with a published JSON Schema (schema.json); package
// parser reads it.
//
// It is not for carrying a scenario out: it starts no process, opens no file, and resolves
// placeholders only on request (see Expand). It starts no goroutines.
package scenario

import (
	"bytes"
	"cmp"
	_ "embed"
	"time"

	"dyno/lab/record"
)

// Scenario is a scenario file. The zero value of every field is its documented default; package
// parser fills in only Mode, and Variants from Sweep.
type Scenario struct {
	Name        string      `yaml:"name"`
	Description string      `yaml:"description"`
	Mode        string      `yaml:"mode"` // record.Kind...; never empty after parsing
	Target      Target      `yaml:"target"`
	Companions  []Companion `yaml:"companions"` // started before the target, in order
	Setup       []Request   `yaml:"setup"`      // sent once the target is ready, in order, before any load
	Load        Load        `yaml:"load"`
	SLO         record.SLO  `yaml:"-"`        // slo: a string or a mapping
	Variants    []Variant   `yaml:"variants"` // in ladder order; the first is the baseline of every ratio
	Sweep       *Sweep      `yaml:"sweep"`    // instead of variants
	Measure     Measure     `yaml:"measure"`
	// Exclusive reports whether variants cannot run side by side (a fixed port, all of the
	// memory): each is then started for its turn.
	Exclusive bool `yaml:"exclusive"`

	// Path is the name that was passed to parser.Parse.
	Path string `yaml:"-"`
	// Text is the file's text.
	Text string `yaml:"-"`
	// Root is the folder from which relative paths and Go packages count; see parser.Open.
	Root string `yaml:"-"`
}

// Process describes how to start a program: exactly one of Build and Command is set. ${scratch}
// in its command, arguments and environment is a folder of its own: new and empty at every start,
// and removed when the run has ended. It is on the disk that the experiment is recorded on.
type Process struct {
	Build   string   `yaml:"build"`   // a Go package, built once before the measurement
	Command []string `yaml:"command"` // program and first arguments
	Args    []string `yaml:"args"`
	// Traced are further arguments in a run that breaks the latency down by stage. ${otlp} is the
	// address at which the lab receives traces, as in http://127.0.0.1:4318.
	Traced []string          `yaml:"traced"`
	Env    map[string]string `yaml:"env"` // on top of the lab's own environment
	Dir    string            `yaml:"dir"` // working directory; default: the lab's own
	Ready  Ready             `yaml:"ready"`
	PGO    string            `yaml:"-"` // CPU profile that Build is compiled with; empty: the package's own, if it has one
}

// Ready defines when a started program is ready. The zero Ready awaits the ready line.
type Ready struct {
	// Line awaits one JSON object on a line of standard output, as in
	// {"listen":"127.0.0.1:41234"}; its fields become placeholders.
	Line bool   `yaml:"line"`
	URL  string `yaml:"url"` // awaits a status below 400 from this URL; after the line if both are set
	// Port, of a program that prints no ready line, awaits that it listens at this TCP port, or at
	// any if 0: ${NAME.listen} is the address, and ${NAME.debug} one that serves net/http/pprof.
	Port    *int          `yaml:"port"`
	Timeout time.Duration `yaml:"timeout"` // default 30 s, without building
}

// AwaitLine reports whether the ready line is awaited.
func (r Ready) AwaitLine() bool { return r.Line || r.URL == "" || r.Port != nil }

// Target is the measured service: a program to start, or a service that already runs (URL alone).
type Target struct {
	Process `yaml:",inline"`
	URL     string  `yaml:"url"`   // already running; ${target.url}
	Debug   string  `yaml:"debug"` // base URL of agent or pprof; default: http://${target.debug} if the ready line has debug
	CPUs    float64 `yaml:"cpus"`  // number of cores it may use; 0: all
}

// Companion is a program that the target needs: a database, a simulator, a sink.
type Companion struct {
	Name    string `yaml:"name"` // ${NAME.FIELD} is a field of its ready line
	Process `yaml:",inline"`
	// Shared starts it once for all variants that take turns and for all runs of jobs, such as a
	// database that all of them use; otherwise each variant or run has its own.
	Shared bool `yaml:"shared"`
}

// Request is one HTTP request of the setup, or Repeat requests: those are sent over several
// connections, in no order, with ${n} from 0 to Repeat-1 in url and body.
type Request struct {
	Method  string            `yaml:"method"` // default: POST with a body, GET without
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`
	Expect  []int             `yaml:"expect"` // acceptable statuses; default: any below 400 but redirects
	Repeat  int               `yaml:"repeat"` // 0: sent once
}

// Units of a job's load.
const (
	PerSecond   = "rate"        // units offered per second
	Concurrency = "concurrency" // concurrent units
)

// Kinds of load.
const (
	Requests = "requests"
	Jobs     = "jobs"
	Sessions = "sessions"
	Flows    = "flows"
	GRPC     = "grpc"
)

// Load describes the requests or jobs of a load. URL, headers and bodies are templates: besides
// ${target.FIELD} and ${COMPANION.FIELD} they may contain the placeholders that change from
// request to request (see LoadPlaceholder).
type Load struct {
	Kind string `yaml:"kind"` // Requests (also when empty), Jobs, Sessions, Flows or GRPC

	URL      string            `yaml:"url"`    // ws and wss: JSON-RPC over WebSockets
	Method   string            `yaml:"method"` // default: POST with a body, GET without
	Headers  map[string]string `yaml:"headers"`
	Body     string            `yaml:"body"`
	BodyFile string            `yaml:"body_file"` // the body's template, from a file
	Repeat   int               `yaml:"repeat"`    // number of copies of the template, a line each, ${n} from 0 to Repeat-1; 0: just the template
	Array    bool              `yaml:"array"`     // the copies are the members of a JSON array instead of lines
	Corpus   string            `yaml:"corpus"`    // a file of prebuilt bodies, one per line, used in turn
	Feeder   *Feeder           `yaml:"feeder"`
	// Once sends each row of Feeder, or each body of Corpus, at most once to a process of the target,
	// in order; each copy of Repeat then takes a row of its own.
	Once    bool    `yaml:"once"`
	Keys    *Keys   `yaml:"keys"`
	Classes []Class `yaml:"classes"` // none: one class, made of the fields above
	Check   Check   `yaml:"check"`
	// Follow is the number of redirects that a request follows; 0: a redirect is its answer.
	Follow int        `yaml:"follow"`
	Steps  []FlowStep `yaml:"steps"` // of Flows, at least one
	// Of GRPC: what is called, package.Service/Method, with Body as the message in JSON and Headers as
	// metadata. Proto are files that describe it, whose imports count from the folders of ProtoPath
	// (none: from the folder of each file), or Descriptors is one that protoc wrote; without both the
	// target's reflection describes it.
	Call        string   `yaml:"call"`
	Proto       []string `yaml:"proto"`
	ProtoPath   []string `yaml:"proto_path"`
	Descriptors string   `yaml:"descriptors"`

	Engine      string        `yaml:"engine"`      // raw | std | auto (also when empty)
	Connections int           `yaml:"connections"` // default 64
	Pipeline    int           `yaml:"pipeline"`    // requests in flight on one connection or WebSocket; default 1
	Timeout     time.Duration `yaml:"timeout"`     // from the intended send time; default 10 s
	Think       time.Duration `yaml:"think"`       // closed model: pause between an answer and the next request
	TLS         TLS           `yaml:"tls"`
	Schedule    Schedule      `yaml:"schedule"`
	MaxRate     float64       `yaml:"max_rate"` // limit of the offered rate, per second; 0: none
	Receipts    string        `yaml:"receipts"` // URL of a sink's receipts, may contain ${run}; or ws, wss: of an Ethereum node

	SessionLoad `yaml:",inline"`

	// Args are appended to the target's command if Kind is Jobs: ${rate} (per second),
	// ${duration} and ${warmup} (as in 2.5s) are those of the run. In a run of Measure.Ramp the
	// rate rises evenly from ${rate} to ${ramp_to} over ${duration}; in every other ${ramp_to} is
	// 0. With Axis Concurrency, ${concurrency} replaces ${rate}; ${units} is Units; ${debug} is a
	// free address on this machine, at which a job may serve its debug endpoints, and ${rows} a file
	// with the rows of Feeder.
	Args []string `yaml:"args"`
	Axis string   `yaml:"axis"` // jobs: PerSecond (also when empty) or Concurrency
	// Units is the number of units of work in a request, such as the calls of an array; all rates,
	// counts and costs are then by unit. 0: 1. For a job by concurrency it is the number of units of a
	// run, which is then measured from its start to its end; 0: it is measured for Measure.Length
	// after Measure.Warmup, and stopped.
	Units int `yaml:"units"`
}

// Feeder is the source of the rows for ${row.NAME}, used in turn: exactly one of File, Build and
// Command is set. A program runs once, before the first run, and prints the rows; its command has
// no placeholders.
type Feeder struct {
	File    string   `yaml:"file"`
	Build   string   `yaml:"build"`   // a Go package
	Command []string `yaml:"command"` // program and first arguments
	Args    []string `yaml:"args"`
	Format  string   `yaml:"format"` // csv (with a header line) | ndjson; default: by the file's extension
}

// String returns its first word for messages: the other words may be secrets.
func (f *Feeder) String() string {
	if len(f.Command) > 0 {
		return f.Command[0]
	}
	return cmp.Or(f.File, f.Build)
}

// Keys is the distribution of ${key}.
type Keys struct {
	Count int     `yaml:"count"` // key-0 ... key-(Count-1)
	Zipf  float64 `yaml:"zipf"`  // exponent s of rank^-s; 0: uniform
}

// Class is a kind of request within a mix. Fields that it leaves out are the load's.
type Class struct {
	Name     string            `yaml:"name"`
	Weight   float64           `yaml:"weight"` // share relative to the other classes'; default 1
	Method   string            `yaml:"method"`
	Path     string            `yaml:"path"`    // path and query, on the host of Load.URL
	Headers  map[string]string `yaml:"headers"` // added to the load's
	Body     string            `yaml:"body"`
	BodyFile string            `yaml:"body_file"`
	Check    *Check            `yaml:"check"`
}

// Check defines which answers count as success. The zero Check requires a status below 400 that is
// no redirect.
type Check struct {
	Status []int             `yaml:"status"`
	Header map[string]string `yaml:"header"` // header -> a part of its value
	JSON   []JSONTest        `yaml:"json"`   // all must hold
}

// JSONTest is a predicate on one field of a JSON answer.
type JSONTest struct {
	Path   string `yaml:"path"`   // names joined by dots: result.status; one may be *: each member of an array
	Equals any    `yaml:"equals"` // compared as JSON values; nil without Exists requires the field to be absent or null
	Exists bool   `yaml:"exists"`
}

// TLS holds the settings of https.
type TLS struct {
	CA       string `yaml:"ca"`       // PEM file of authorities to trust in addition to the system's
	Insecure bool   `yaml:"insecure"` // trust any certificate
	HTTP2    bool   `yaml:"http2"`    // offer HTTP/2
}

// Kinds of schedule.
const (
	Poisson  = "poisson"
	Constant = "constant"
	Step     = "step"
	Ramp     = "ramp"
	File     = "file"
	Closed   = "closed"
)

// Schedule defines when to send. In every mode but load, the plan sets the rate of Constant and
// Poisson.
type Schedule struct {
	Kind   string  `yaml:"kind"` // default Poisson
	Rate   float64 `yaml:"rate"` // per second; mode load only
	Stages []Stage `yaml:"stages"`
	From   float64 `yaml:"from"` // Ramp, per second
	To     float64 `yaml:"to"`   // Ramp, per second, reached at the end of Measure.Length
	File   string  `yaml:"file"` // one intended time per line, in seconds since the start
	Seed   uint64  `yaml:"seed"` // 0: the same for all variants of a round, different from round to round
}

// Stage is a part of a Step schedule.
type Stage struct {
	Rate   float64       `yaml:"rate"` // per second
	Length time.Duration `yaml:"length"`
}

// Variant is one way to start the target. Scenario.TargetOf combines the two.
type Variant struct {
	Name    string            `yaml:"name"`
	Change  string            `yaml:"change"` // what differs from the variant before, in one line
	Why     string            `yaml:"why"`    // expected effect
	Build   string            `yaml:"build"`  // another program instead of the target's
	Command []string          `yaml:"command"`
	URL     string            `yaml:"url"`  // a service that already runs, instead of a program
	Args    []string          `yaml:"args"` // appended to the target's; with Build or Command: instead of them
	Env     map[string]string `yaml:"env"`  // added to the target's
	Dir     string            `yaml:"-"`    // working directory instead of the target's; empty: the target's
	// Undo are arguments that, appended to the last variant's, undo this variant's change: a
	// thorough ladder leaves each step out once.
	Undo []string `yaml:"undo"`
	// Beside names the variant that this one is compared with, in mode compare; empty: the first.
	Beside string `yaml:"beside"`
	// Setup and Load replace the scenario's for this variant, if its interface differs; see
	// Scenario.SetupOf and Scenario.LoadOf.
	Setup []Request    `yaml:"setup"`
	Load  *VariantLoad `yaml:"load"`

	// Values are the values of the sweep's axes, by name; nil: the variant was listed.
	Values map[string]string `yaml:"-"`
	PGO    string            `yaml:"-"` // see Process
}

// VariantLoad holds the parts of the load that differ for a variant.
type VariantLoad struct {
	Headers map[string]string `yaml:"headers"` // added to the load's
	Body    string            `yaml:"body"`
	Repeat  int               `yaml:"repeat"` // copies of Body; see Load.Repeat
	Array   bool              `yaml:"array"`  // of the copies; see Load.Array

	// Instead of Load's.
	URL         string `yaml:"url"`
	Check       *Check `yaml:"check"`
	Units       int    `yaml:"units"`
	Connections int    `yaml:"connections"`
	Pipeline    int    `yaml:"pipeline"`

	// Jobs only: instead of Load's.
	Args        []string `yaml:"args"`
	Concurrency []int    `yaml:"concurrency"` // instead of Measure.Concurrency
}

// Measure sets lengths and repetitions. Zero leaves the choice to the plan (--quick, --thorough).
type Measure struct {
	StartRate float64   `yaml:"start_rate"` // no effect any more; accepted in older files
	MaxRate   float64   `yaml:"max_rate"`   // highest offered rate, per second
	Rates     []float64 `yaml:"rates"`      // per second: mode sweep runs every variant at each
	Ramp      *Rise     `yaml:"ramp"`       // mode sweep: one more run of every variant, with a rising rate
	Per       string    `yaml:"per"`        // an axis of the sweep: Rates and Ramp are per unit of its value
	// Jobs by concurrency: start (0: 1) and end (0: MaxConcurrency) of a search, and the
	// concurrencies of a sweep. In other modes Concurrency lists those that are tried, instead of a
	// search.
	StartConcurrency int   `yaml:"start_concurrency"`
	MaxConcurrency   int   `yaml:"max_concurrency"`
	Concurrency      []int `yaml:"concurrency"`

	Connections []int         `yaml:"connections"` // mode load: one run with each; default: Load.Connections alone
	Length      time.Duration `yaml:"length"`      // measured time of a run; not for modes that go by Budget
	Warmup      time.Duration `yaml:"warmup"`      // load before a run, not counted; not for modes that go by Budget
	Hold        time.Duration `yaml:"hold"`        // measured time of the run that confirms a capacity
	Budget      time.Duration `yaml:"budget"`      // time limit of a ladder, comparison or capacity of requests, without building
	CPU         string        `yaml:"cpu"`         // jobs: CPUOfTarget (also when empty) or CPUOfAll
	Rounds      int           `yaml:"rounds"`      // jobs by concurrency: rounds of a ladder or a comparison; sweep: repeats
}

// Processes whose CPU time counts per unit of a job.
const (
	CPUOfTarget = "target" // the job's own
	CPUOfAll    = "all"    // the job's and its companions'
)

// Rise is a run with an evenly rising rate.
type Rise struct {
	From   float64       `yaml:"from"`   // per second
	To     float64       `yaml:"to"`     // per second, reached at the end
	Length time.Duration `yaml:"length"` // all of it is measured; there is no warm-up
}

// Sweep expands to one variant for every combination of its axes' values.
type Sweep struct {
	Axes   []Axis              `yaml:"axes"`
	Args   []string            `yaml:"args"`   // arguments of each variant, with ${AXIS} in place of a value
	Except []map[string]string `yaml:"except"` // combinations left out: axis -> value; axes not named match all values
}

// Axis is one dimension of a Sweep.
type Axis struct {
	Name   string   `yaml:"name"`
	Values []string `yaml:"values"`
}

// Schema is the JSON Schema of a scenario file (draft 2020-12), for editors and other tools.
//
//go:embed schema.json
var Schema []byte

//go:embed starter.yaml
var starter []byte

// Starter returns a commented scenario to begin with.
func Starter() []byte { return bytes.Clone(starter) }
