// Package scenario reads the file that says what to start, how to drive it and what to find out: YAML
// with a published JSON Schema (schema.json). Every error carries file:line:column and, where one can be
// guessed, what was meant; all errors are reported at once.
//
// It is not for doing any of it: it starts nothing, opens no file but the scenario, and resolves no
// placeholder by itself (see Expand). It starts no goroutines.
package scenario

import (
	"cmp"
	"time"

	"dyno/lab/record"
)

// Scenario is a scenario file. The zero value of every field is its documented default; Parse fills in
// Mode, and Variants from Sweep, and nothing else.
type Scenario struct {
	Name        string      `yaml:"name"`
	Description string      `yaml:"description"`
	Mode        string      `yaml:"mode"` // record.Kind...; never empty after Parse
	Target      Target      `yaml:"target"`
	Companions  []Companion `yaml:"companions"` // started before the target, in order
	Setup       []Request   `yaml:"setup"`      // sent once the target is ready, in order, before any load
	Load        Load        `yaml:"load"`
	SLO         record.SLO  `yaml:"-"`        // slo: a string or a mapping
	Variants    []Variant   `yaml:"variants"` // in ladder order; the first is the baseline of every ratio
	Sweep       *Sweep      `yaml:"sweep"`    // instead of variants
	Measure     Measure     `yaml:"measure"`
	// Exclusive says that variants cannot run side by side (a fixed port, all of the memory): each is started for its turn.
	Exclusive bool `yaml:"exclusive"`

	// Path is the name the scenario was parsed under.
	Path string `yaml:"-"`
	// Text is the file's text.
	Text string `yaml:"-"`
	// Root is the folder from which relative paths and Go packages count; see Open.
	Root string `yaml:"-"`
}

// Process is how to start a program: exactly one of Build and Command is set. ${scratch} in its command,
// arguments and environment is a folder of its own: fresh and empty at every start, and removed once the run
// has ended. It lies on the disk that the experiment is recorded on.
type Process struct {
	Build   string   `yaml:"build"`   // a Go package, built once before anything is measured
	Command []string `yaml:"command"` // program and first arguments
	Args    []string `yaml:"args"`
	// Traced are further arguments in a run that breaks the latency down by stage. ${otlp} is where the lab
	// takes traces, as in http://127.0.0.1:4318.
	Traced []string          `yaml:"traced"`
	Env    map[string]string `yaml:"env"` // on top of the lab's own environment
	Dir    string            `yaml:"dir"` // working directory; default: the one dyno was started in
	Ready  Ready             `yaml:"ready"`
}

// Ready says when a program that was started may be used. The zero Ready awaits the ready line.
type Ready struct {
	// Line awaits one JSON object on a line of standard output, as in {"listen":"127.0.0.1:41234"}; its
	// fields become placeholders.
	Line    bool          `yaml:"line"`
	URL     string        `yaml:"url"`     // awaits a status below 400 from here; after the line when both are asked for
	Timeout time.Duration `yaml:"timeout"` // default 30 s, building left out
}

// AwaitLine reports whether the ready line is awaited.
func (r Ready) AwaitLine() bool { return r.Line || r.URL == "" }

// Target is what is measured: a program to start, or something that already runs (URL alone).
type Target struct {
	Process `yaml:",inline"`
	URL     string  `yaml:"url"`   // already running; ${target.url}
	Debug   string  `yaml:"debug"` // base URL of agent or pprof; default: http://${target.debug} when the ready line has debug
	CPUs    float64 `yaml:"cpus"`  // how many cores it may use; 0: all
}

// Companion is a program that stands beside the target: a database, a simulator, a sink.
type Companion struct {
	Name    string `yaml:"name"` // ${NAME.FIELD} is a field of its ready line
	Process `yaml:",inline"`
	// Shared starts it once for all variants that take turns, as a database that they all use; a variant of its own is
	// what each gets otherwise.
	Shared bool `yaml:"shared"`
}

// Request is one HTTP request of the setup, or as many as Repeat says: those are sent over several
// connections, in no order, with ${n} from 0 to Repeat-1 in url and body.
type Request struct {
	Method  string            `yaml:"method"` // default: POST with a body, GET without
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`
	Expect  []int             `yaml:"expect"` // acceptable statuses; default: any below 400
	Repeat  int               `yaml:"repeat"` // 0: it is sent once
}

// What the load of a job is counted in.
const (
	PerSecond   = "rate"        // units offered per second
	Concurrency = "concurrency" // units under way at once
)

// Kinds of load.
const (
	Requests = "requests"
	Jobs     = "jobs"
)

// Load says what is sent. URL, headers and bodies are templates: besides ${target.FIELD} and
// ${COMPANION.FIELD} they may hold the placeholders that change from request to request (see
// LoadPlaceholder).
type Load struct {
	Kind string `yaml:"kind"` // Requests (also when empty) or Jobs

	URL      string            `yaml:"url"`
	Method   string            `yaml:"method"` // default: POST with a body, GET without
	Headers  map[string]string `yaml:"headers"`
	Body     string            `yaml:"body"`
	BodyFile string            `yaml:"body_file"` // the body's template, from a file
	Repeat   int               `yaml:"repeat"`    // the body is as many lines of its template, ${n} from 0 to Repeat-1; 0: just the template
	Corpus   string            `yaml:"corpus"`    // a file of prebuilt bodies, one a line, taken in turn
	Feeder   *Feeder           `yaml:"feeder"`
	Keys     *Keys             `yaml:"keys"`
	Classes  []Class           `yaml:"classes"` // none: one class, made of the fields above
	Check    Check             `yaml:"check"`

	Engine      string        `yaml:"engine"`      // raw | std | auto (also when empty)
	Connections int           `yaml:"connections"` // default 64
	Pipeline    int           `yaml:"pipeline"`    // requests under way at once on a connection; default 1
	Timeout     time.Duration `yaml:"timeout"`     // from the intended send time; default 10 s
	Think       time.Duration `yaml:"think"`       // closed model: between an answer and the next request
	TLS         TLS           `yaml:"tls"`
	Schedule    Schedule      `yaml:"schedule"`
	MaxRate     float64       `yaml:"max_rate"` // no run offers more, per second; 0: no bound
	Receipts    string        `yaml:"receipts"` // URL of a sink's receipts: what was delivered, and when; may hold ${run}

	// Args are appended to the target's command when Kind is Jobs: ${rate} (per second), ${duration} and
	// ${warmup} (as in 2.5s) are those of the run. In a run of Measure.Ramp the rate rises evenly from ${rate}
	// to ${ramp_to} over ${duration}; in every other ${ramp_to} is 0. ${concurrency} takes the place of ${rate} when
	// that is the Axis; ${units} is Units; ${debug} is a free address of this machine, at which a job may be
	// looked into.
	Args []string `yaml:"args"`
	Axis string   `yaml:"axis"` // of jobs: PerSecond (also when empty) or Concurrency
	// Units is how many units a job by concurrency is given: it is then measured from its start to its end. 0:
	// it is measured for Measure.Length after Measure.Warmup, and stopped.
	Units int `yaml:"units"`
}

// Feeder is where the rows come from that fill ${row.NAME}, taken in turn: exactly one of File, Build and Command
// is set. A program runs once, before the first run, and prints them; no placeholder has a meaning in its command.
type Feeder struct {
	File    string   `yaml:"file"`
	Build   string   `yaml:"build"`   // a Go package
	Command []string `yaml:"command"` // program and first arguments
	Args    []string `yaml:"args"`
	Format  string   `yaml:"format"` // csv (with a header line) | ndjson; default: by the file's extension
}

// String names it in messages, by its first word: others may be secrets.
func (f *Feeder) String() string {
	if len(f.Command) > 0 {
		return f.Command[0]
	}
	return cmp.Or(f.File, f.Build)
}

// Keys is how ${key} is drawn.
type Keys struct {
	Count int     `yaml:"count"` // key-0 ... key-(Count-1)
	Zipf  float64 `yaml:"zipf"`  // exponent s of rank^-s; 0: uniform
}

// Class is a kind of request within a mix. What it leaves out is the load's.
type Class struct {
	Name     string            `yaml:"name"`
	Weight   float64           `yaml:"weight"` // share relative to the other classes'; default 1
	Method   string            `yaml:"method"`
	Path     string            `yaml:"path"`    // path and query, on the host of Load.URL
	Headers  map[string]string `yaml:"headers"` // on top of the load's
	Body     string            `yaml:"body"`
	BodyFile string            `yaml:"body_file"`
	Check    *Check            `yaml:"check"`
}

// Check says which answers are successes. The zero Check asks for a status below 400.
type Check struct {
	Status []int             `yaml:"status"`
	Header map[string]string `yaml:"header"` // header -> a part of its value
	JSON   []JSONTest        `yaml:"json"`   // all must hold
}

// JSONTest is a predicate on one field of a JSON answer.
type JSONTest struct {
	Path   string `yaml:"path"`   // names joined by dots: result.status
	Equals any    `yaml:"equals"` // compared as JSON values; nil without Exists asks that the field be absent or null
	Exists bool   `yaml:"exists"`
}

// TLS is how https is spoken.
type TLS struct {
	CA       string `yaml:"ca"`       // PEM file of the authorities to trust besides the system's
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

// Schedule says when to send. The rate of Constant and Poisson comes from the plan in every mode but
// load.
type Schedule struct {
	Kind   string  `yaml:"kind"` // default Poisson
	Rate   float64 `yaml:"rate"` // per second; mode load only
	Stages []Stage `yaml:"stages"`
	From   float64 `yaml:"from"` // Ramp, per second
	To     float64 `yaml:"to"`   // Ramp, per second, reached at the end of Measure.Length
	File   string  `yaml:"file"` // one intended time a line, in seconds since the start
	Seed   uint64  `yaml:"seed"` // 0: the same for all variants of a round, different from round to round
}

// Stage is a part of a Step schedule.
type Stage struct {
	Rate   float64       `yaml:"rate"` // per second
	Length time.Duration `yaml:"length"`
}

// Variant is one way to start the target. See Scenario.TargetOf for how it is put together.
type Variant struct {
	Name    string            `yaml:"name"`
	Change  string            `yaml:"change"` // what differs from the variant before, in one line
	Why     string            `yaml:"why"`    // what it is expected to do
	Build   string            `yaml:"build"`  // another program altogether
	Command []string          `yaml:"command"`
	URL     string            `yaml:"url"`  // instead: something that already runs
	Args    []string          `yaml:"args"` // appended to the target's; with Build or Command: instead of them
	Env     map[string]string `yaml:"env"`  // on top of the target's
	// Undo are arguments that, appended to the last variant's, take this variant's change back: a thorough
	// ladder leaves each step out once.
	Undo []string `yaml:"undo"`
	// Setup and Load are what this variant is sent instead, if its interface differs; see Scenario.SetupOf and
	// Scenario.LoadOf.
	Setup []Request    `yaml:"setup"`
	Load  *VariantLoad `yaml:"load"`

	// Values are those of the sweep's axes, by name; nil: the variant was listed.
	Values map[string]string `yaml:"-"`
}

// VariantLoad is what a variant is sent where that is not the load's.
type VariantLoad struct {
	Headers map[string]string `yaml:"headers"` // on top of the load's
	Body    string            `yaml:"body"`
	Repeat  int               `yaml:"repeat"` // of Body; see Load.Repeat

	// Of jobs: what the variant is told instead.
	Args        []string `yaml:"args"`
	Units       int      `yaml:"units"`
	Concurrency []int    `yaml:"concurrency"` // mode sweep: instead of Measure.Concurrency
}

// Measure says how long and how often. Zero leaves the choice to the plan (--quick, --thorough).
type Measure struct {
	StartRate float64   `yaml:"start_rate"` // no effect any more; accepted so that older files can be read
	MaxRate   float64   `yaml:"max_rate"`   // per second, the highest that is offered
	Rates     []float64 `yaml:"rates"`      // per second: mode sweep runs every variant at each
	Ramp      *Rise     `yaml:"ramp"`       // mode sweep drives every variant once more, with a rate that rises
	Per       string    `yaml:"per"`        // an axis of the sweep: Rates and Ramp are for each unit of its value
	// Of jobs by concurrency: where a search begins (0: 1) and ends (0: MaxConcurrency), and at what every variant
	// of a sweep runs.
	StartConcurrency int   `yaml:"start_concurrency"`
	MaxConcurrency   int   `yaml:"max_concurrency"`
	Concurrency      []int `yaml:"concurrency"`

	Connections []int         `yaml:"connections"` // mode load: one run with each; default: Load.Connections alone
	Length      time.Duration `yaml:"length"`      // measured time of a run; not of what goes by Budget
	Warmup      time.Duration `yaml:"warmup"`      // driven before a run, not counted; not of what goes by Budget
	Hold        time.Duration `yaml:"hold"`        // measured time of the run that confirms a capacity
	Budget      time.Duration `yaml:"budget"`      // time limit of a ladder, comparison or capacity of requests, building left out
	Rounds      int           `yaml:"rounds"`      // of jobs by concurrency, rounds of a ladder or a comparison; repeats of a sweep
}

// Rise is a run under a rate that rises evenly.
type Rise struct {
	From   float64       `yaml:"from"`   // per second
	To     float64       `yaml:"to"`     // per second, reached at the end
	Length time.Duration `yaml:"length"` // all of it is measured; there is no warm-up
}

// Sweep makes one variant of every combination of its axes' values.
type Sweep struct {
	Axes   []Axis              `yaml:"axes"`
	Args   []string            `yaml:"args"`   // of each variant, with ${AXIS} in place of a value
	Except []map[string]string `yaml:"except"` // combinations left out: axis -> value; axes not named match all
}

// Axis is one dimension of a Sweep.
type Axis struct {
	Name   string   `yaml:"name"`
	Values []string `yaml:"values"`
}
