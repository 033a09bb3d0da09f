// Package scenario describes what a scenario file contains: what to start, how to drive it and
// what to find out, variant by variant. The file is YAML with a published JSON Schema
// (schema.json). Parse decodes it and checks what a schema cannot express, such as fields that
// exclude each other and unknown placeholders; Write writes one. Package workload describes its
// load.
//
// It is not for carrying a scenario out: it starts no process, and opens no file but the scenario
// itself. It starts no goroutines.
package scenario

import (
	"bytes"
	_ "embed"
	"time"

	"dyno/lab/record"
	"dyno/lab/workload"
)

// Scenario is a scenario file. The zero value of every field is its documented default; Parse
// fills in only Mode, and Variants from Sweep.
type Scenario struct {
	Name         string       `yaml:"name,omitempty"`
	Description  string       `yaml:"description,omitempty"`
	Mode         string       `yaml:"mode,omitempty"` // record.Kind...; never empty after parsing
	Target       Target       `yaml:"target,omitempty"`
	Dependencies []Dependency `yaml:"companions,omitempty"` // started before the target, in order
	Setup        []Request    `yaml:"setup,omitempty"`      // sent once the target is ready, in order, before any load
	Load         Load         `yaml:"-"`                    // load: see File
	SLO          record.SLO   `yaml:"-"`                    // slo: a string or a mapping
	Variants     []Variant    `yaml:"variants,omitempty"`   // in ladder order; the first is the baseline of every ratio
	Sweep        *Sweep       `yaml:"sweep,omitempty"`      // instead of variants
	Measure      Measure      `yaml:"measure,omitempty"`
	// Exclusive reports whether variants cannot run side by side (a fixed port, all of the
	// memory): each is then started for its turn.
	Exclusive bool `yaml:"exclusive,omitempty"`

	// Path is the name that was passed to Parse.
	Path string `yaml:"-"`
	// Text is the file's text.
	Text string `yaml:"-"`
	// Root is the folder from which relative paths and Go packages count; see Open.
	Root string `yaml:"-"`
}

// Process describes how to start a program: exactly one of Build and Command is set. ${scratch}
// in its command, arguments and environment is a folder of its own: new and empty at every start,
// and removed when the run has ended. It is on the disk that the experiment is recorded on.
type Process struct {
	Build   string   `yaml:"build,omitempty"`   // a Go package, built once before the measurement
	Command []string `yaml:"command,omitempty"` // program and first arguments
	Args    []string `yaml:"args,omitempty"`
	// Traced are further arguments in a run that breaks the latency down by stage. ${otlp} is the
	// address at which the lab receives traces, as in http://127.0.0.1:4318.
	Traced []string          `yaml:"traced,omitempty"`
	Env    map[string]string `yaml:"env,omitempty"` // on top of the lab's own environment
	Dir    string            `yaml:"dir,omitempty"` // working directory; default: the lab's own
	Ready  Ready             `yaml:"ready,omitempty"`
	PGO    string            `yaml:"-"` // CPU profile that Build is compiled with; empty: the package's own, if it has one
}

// Ready defines when a started program is ready. The zero Ready awaits the ready line.
type Ready struct {
	// Line awaits one JSON object on a line of standard output, as in
	// {"listen":"127.0.0.1:41234"}; its fields become placeholders.
	Line bool   `yaml:"line,omitempty"`
	URL  string `yaml:"url,omitempty"` // awaits a status below 400 from this URL; after the line if both are set
	// Port is for a program that prints no ready line: the lab waits until the program listens on
	// this TCP port, or on any if 0. ${NAME.listen} is the address, and ${NAME.debug} one that serves
	// net/http/pprof.
	Port *int `yaml:"port,omitempty"`
	// Exit awaits the program's end with exit code 0, such as a migration's or that of a program that
	// fills the folder ${NAME.scratch} for those that start after it.
	Exit    bool          `yaml:"exit,omitempty"`
	Timeout time.Duration `yaml:"timeout,omitempty"` // default 30 s, without building
}

// AwaitLine reports whether the lab awaits the ready line or, with Port, an open port in its
// place.
func (r Ready) AwaitLine() bool { return !r.Exit && (r.Line || r.URL == "" || r.Port != nil) }

// Target is the measured service: a program to start, or a service that already runs (URL alone).
type Target struct {
	Process `yaml:",inline"`
	URL     string  `yaml:"url,omitempty"`   // already running; ${target.url}
	Debug   string  `yaml:"debug,omitempty"` // base URL of agent or pprof; default: http://${target.debug} if the ready line has debug
	CPUs    float64 `yaml:"cpus,omitempty"`  // number of cores it may use; 0: all
}

// Dependency is a program that the target needs: a database, a simulator, a sink.
type Dependency struct {
	Name    string `yaml:"name,omitempty"` // ${NAME.FIELD} is a field of its ready line, ${NAME.scratch} its own folder
	Process `yaml:",inline"`
	// Shared means that it starts once for all variants that take turns and for all runs of jobs,
	// such as a database that all of them use; otherwise each variant or run has its own.
	Shared bool `yaml:"shared,omitempty"`
}

// Request is one HTTP request of the setup, or Repeat requests: the lab sends these over several
// connections, in no order, with ${n} from 0 to Repeat-1 in url and body.
type Request struct {
	Method  string            `yaml:"method,omitempty"` // default: POST with a body, GET without
	URL     string            `yaml:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty"`
	Body    string            `yaml:"body,omitempty"`
	Expect  []int             `yaml:"expect,omitempty"` // acceptable statuses; default: any below 400 but redirects
	Repeat  int               `yaml:"repeat,omitempty"` // 0: sent once
}

// Load is the load of a scenario.
type Load = workload.Load

// Variant is one way to start the target. Scenario.TargetOf combines the two.
type Variant struct {
	Name    string            `yaml:"name,omitempty"`
	Change  string            `yaml:"change,omitempty"` // what differs from the variant before, in one line
	Why     string            `yaml:"why,omitempty"`    // expected effect
	Build   string            `yaml:"build,omitempty"`  // another program instead of the target's
	Command []string          `yaml:"command,omitempty"`
	URL     string            `yaml:"url,omitempty"`  // a service that already runs, instead of a program
	Args    []string          `yaml:"args,omitempty"` // appended to the target's; with Build or Command: instead of them
	Env     map[string]string `yaml:"env,omitempty"`  // added to the target's
	Dir     string            `yaml:"-"`              // working directory instead of the target's; empty: the target's
	// Undo are arguments that undo this variant's change if they are appended to the last variant's:
	// a thorough ladder leaves each step out once.
	Undo []string `yaml:"undo,omitempty"`
	// Reference names the variant that this one is compared with, in mode compare; empty: the first.
	Reference string `yaml:"beside,omitempty"`
	// Setup and Load replace the scenario's for this variant, if its interface differs; see
	// Scenario.SetupOf and Scenario.LoadOf.
	Setup []Request    `yaml:"setup,omitempty"`
	Load  *VariantLoad `yaml:"load,omitempty"`

	// Values are the values of the sweep's axes, by name; nil: the file lists the variant.
	Values map[string]string `yaml:"-"`
	PGO    string            `yaml:"-"` // see Process
}

// VariantLoad holds the parts of the load that differ for a variant.
type VariantLoad struct {
	Headers map[string]string `yaml:"headers,omitempty"` // added to the load's
	Body    string            `yaml:"body,omitempty"`
	Repeat  int               `yaml:"repeat,omitempty"` // copies of Body; see workload.Body
	Array   bool              `yaml:"array,omitempty"`  // of the copies; see workload.Body

	// Instead of Load's.
	URL         string          `yaml:"url,omitempty"`
	Check       *workload.Check `yaml:"check,omitempty"`
	Units       int             `yaml:"units,omitempty"`
	Connections int             `yaml:"connections,omitempty"`
	Pipeline    int             `yaml:"pipeline,omitempty"`

	// Jobs only: instead of Load's.
	Args        []string `yaml:"args,omitempty"`
	Concurrency []int    `yaml:"concurrency,omitempty"` // instead of Measure.Concurrency
}

// Measure sets lengths and repetitions. Zero leaves the choice to the plan (--quick, --thorough).
type Measure struct {
	MaxRate float64   `yaml:"max_rate,omitempty"` // highest arrival rate, per second
	Rates   []float64 `yaml:"rates,omitempty"`    // per second: mode sweep runs every variant at each
	Ramp    *Rise     `yaml:"ramp,omitempty"`     // mode sweep: one more run of every variant, with a rising rate
	Per     string    `yaml:"per,omitempty"`      // an axis of the sweep: Rates and Ramp are per unit of its value
	// Jobs by concurrency: start (0: 1) and end (0: capacity.MaxConcurrency) of a search, and the
	// concurrencies of a sweep. In other modes Concurrency lists those that are tried, instead of a
	// search.
	StartConcurrency int   `yaml:"start_concurrency,omitempty"`
	MaxConcurrency   int   `yaml:"max_concurrency,omitempty"`
	Concurrency      []int `yaml:"concurrency,omitempty"`

	Connections []int         `yaml:"connections,omitempty"` // mode load: one run with each; default: Load.Connections alone
	Length      time.Duration `yaml:"length,omitempty"`      // measured time of a run; not for modes that go by Budget
	Warmup      time.Duration `yaml:"warmup,omitempty"`      // load before a run, not counted; not for modes that go by Budget
	Hold        time.Duration `yaml:"hold,omitempty"`        // measured time of the run that confirms a capacity
	Budget      time.Duration `yaml:"budget,omitempty"`      // time limit of a ladder, comparison or capacity of requests, without building
	CPU         string        `yaml:"cpu,omitempty"`         // jobs: CPUOfTarget (also when empty) or CPUOfAll
	Rounds      int           `yaml:"rounds,omitempty"`      // jobs by concurrency: rounds of a ladder or a comparison; sweep: repeats
}

// Processes whose CPU time counts per unit of a job.
const (
	CPUOfTarget = "target" // the job's own
	CPUOfAll    = "all"    // the job's and its dependencies'
)

// Rise is a run with an evenly rising rate.
type Rise struct {
	From   float64       `yaml:"from,omitempty"`   // per second
	To     float64       `yaml:"to,omitempty"`     // per second, reached at the end
	Length time.Duration `yaml:"length,omitempty"` // all of it is measured; there is no warm-up
}

// Sweep expands to one variant for every combination of its axes' values.
type Sweep struct {
	Axes   []Axis              `yaml:"axes,omitempty"`
	Args   []string            `yaml:"args,omitempty"`   // arguments of each variant, with ${AXIS} in place of a value
	Except []map[string]string `yaml:"except,omitempty"` // combinations left out: axis -> value; axes not named match all values
}

// Axis is one dimension of a Sweep.
type Axis struct {
	Name   string   `yaml:"name,omitempty"`
	Values []string `yaml:"values,omitempty"`
}

// Schema is the JSON Schema of a scenario file (draft 2020-12), for editors and other tools.
//
//go:embed schema.json
var Schema []byte

//go:embed starter.yaml
var starter []byte

// Starter returns a commented scenario to begin with.
func Starter() []byte { return bytes.Clone(starter) }
