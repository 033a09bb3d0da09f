package scenario

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"dyno/lab/record"

	"go.yaml.in/yaml/v3"
)

// jobFields are the fields of load that jobs have, too.
var jobFields = []string{"kind", "args", "schedule", "max_rate", "axis", "units", "feeder"}

func (c *checker) load() {
	p := at("load")
	if !c.has(p) {
		return // the schema requires it
	}
	switch c.s.Load.Kind {
	case "sessions":
		c.faultAt(p.to("kind"), "sessions (long-lived connections) are not supported yet; write requests or jobs")
	case Jobs:
		c.jobs(p)
	case Requests, "":
		c.requests(p)
	}
}

func (c *checker) jobs(p path) {
	fields := c.node(p)
	if fields.Kind != yaml.MappingNode {
		return
	}
	known := c.rules.at("#/properties/load").fields()
	for i := 0; i+1 < len(fields.Content); i += 2 {
		if name := fields.Content[i].Value; slices.Contains(known, name) && !slices.Contains(jobFields, name) {
			c.faultName(p.to(name), "has no effect on jobs, which send nothing; put what the job needs into args")
		}
	}
	runs := func(v Variant) bool { return v.URL != "" }
	if c.has(at("target", "url")) || slices.ContainsFunc(c.s.Variants, runs) {
		c.faultAt(p.to("kind"), "jobs are run by the target's own command, which a target that already runs (url) lacks")
	}
	if f := c.s.Load.Feeder; f != nil {
		c.feeder(p.to("feeder"), f)
	}
	if c.s.ByConcurrency() {
		c.byConcurrency(p)
		return
	}
	if c.has(p.to("units")) {
		c.faultName(p.to("units"), "is for jobs by concurrency; write axis: concurrency, or state the amount of work in args")
	}
	if !c.mentions("${rate}") {
		c.faultName(p.to("args"), "never mentions ${rate}, so that every run would be the same; write for example args: [--rate, \"${rate}\"]")
	}
}

func (c *checker) requests(p path) {
	l := &c.s.Load
	if !c.has(p.to("url")) {
		c.faultName(p, "needs url; write for example url: http://${target.listen}/")
	}
	if c.has(p.to("args")) {
		c.faultName(p.to("args"), "belongs to kind: jobs; the target's arguments are target.args")
	}
	for _, name := range []string{"axis", "units"} {
		if c.has(p.to(name)) {
			c.faultName(p.to(name), "belongs to kind: jobs")
		}
	}
	c.onlyOne(p, "body", "body_file", "corpus")
	if c.has(p.to("repeat")) && (c.has(p.to("corpus")) || c.has(p.to("classes"))) {
		c.faultName(p.to("repeat"), "repeats the template of the load's own body, and excludes corpus and classes")
	}
	c.address(p.to("url"), l.URL)
	c.headers(p.to("headers"), l.Headers)
	c.answers(p.to("check"), l.Check)
	if l.Feeder != nil {
		c.feeder(p.to("feeder"), l.Feeder)
	}
	c.classes(p)
	c.engine(p)
	if c.has(p.to("think")) && l.Schedule.Kind != Closed {
		c.faultName(p.to("think"), "belongs to the closed model (schedule: {kind: closed}); an open schedule waits for no answer")
	}
	if c.s.SLO.On == record.OnDelivery && !c.has(p.to("receipts")) {
		c.faultAt(at("slo"), "counts until delivery, but load.receipts, the source of deliveries, is missing")
	}
	c.receipts(p)
}

func (c *checker) engine(p path) {
	l := &c.s.Load
	switch secure := strings.HasPrefix(l.URL, "https:"); {
	case l.Engine == "raw" && secure:
		c.faultAt(p.to("engine"), "the raw engine speaks no TLS; write std or auto for %s", clip(l.URL))
	case l.Engine == "raw" && l.TLS.HTTP2:
		c.faultAt(p.to("engine"), "the raw engine speaks HTTP/1.1 only; write std or auto for tls.http2")
	case l.Pipeline > 1 && (l.Engine == "std" || secure):
		c.faultAt(p.to("pipeline"), "only the raw engine, without TLS, pipelines")
	}
}

func (c *checker) address(p path, s string) {
	if strings.Contains(s, "${") || s == "" {
		return // known when the target runs
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" {
		c.faultAt(p, "found the text %q; expected a URL, as in http://127.0.0.1:8080/", clip(s))
	}
}

func (c *checker) answers(p path, check Check) {
	c.headers(p.to("header"), check.Header)
	for i := range check.JSON {
		c.needOne(p.to("json", i), "equals: ok", "equals", "exists")
	}
}

func (c *checker) feeder(p path, f *Feeder) {
	c.needOne(p, "file: testdata/users.csv", "file", "build", "command")
	printed := c.has(p.to("build")) || c.has(p.to("command"))
	switch ext := filepath.Ext(f.File); {
	case printed && !c.has(p.to("format")):
		c.faultName(p, "needs format, the form of the program's output: csv (the first line names the columns) or ndjson; write for example format: csv")
	case printed:
	case c.has(p.to("args")):
		c.faultName(p.to("args"), "are for a program, not for a file; write build or command instead of file")
	case f.File == "" || f.Format != "" || ext == ".csv" || ext == ".ndjson" || ext == ".jsonl":
	default:
		c.faultAt(p.to("file"), "the extension %q does not imply a format; add format: csv or format: ndjson", clip(ext))
	}
}

func (c *checker) classes(p path) {
	l := &c.s.Load
	if c.has(p.to("classes")) && c.has(p.to("corpus")) {
		c.faultName(p.to("corpus"), "contains the bodies of all requests and excludes classes")
	}
	names := make([]string, len(l.Classes))
	for i, class := range l.Classes {
		own := p.to("classes", i)
		names[i] = class.Name
		c.onlyOne(own, "body", "body_file")
		c.headers(own.to("headers"), class.Headers)
		if class.Check != nil {
			c.answers(own.to("check"), *class.Check)
		}
	}
	c.unique(names, func(i int) path { return p.to("classes", i, "name") })
}

// receipts checks that a body contains the id by which receipts are matched.
func (c *checker) receipts(p path) {
	l := &c.s.Load
	if !c.has(p.to("receipts")) || l.BodyFile != "" || l.Corpus != "" {
		return
	}
	bodies := []string{l.Body}
	for i, v := range c.s.Variants {
		if v.Load != nil && v.Load.Body != "" && !strings.Contains(v.Load.Body, "${id}") {
			c.faultAt(at("variants", i, "load", "body"), "receipts are matched by ${id}, which this body lacks")
		}
	}
	for _, class := range l.Classes {
		if class.BodyFile != "" {
			return
		}
		bodies = append(bodies, class.Body)
	}
	if !slices.ContainsFunc(bodies, func(b string) bool { return strings.Contains(b, "${id}") }) {
		c.faultAt(p.to("receipts"), "receipts are matched by ${id}, which no body contains")
	}
}

// scheduleFields are the fields of each kind of schedule; a seed is valid with all of them,
// because keys use it, too.
var scheduleFields = map[string][]string{
	Poisson: {"rate"}, Constant: {"rate"}, Step: {"stages"}, Ramp: {"from", "to"}, File: {"file"}, Closed: {},
}

func (c *checker) schedule() {
	p, sch := at("load", "schedule"), &c.s.Load.Schedule
	kind := cmp.Or(sch.Kind, Poisson)
	own, known := scheduleFields[kind]
	if !known || !c.has(at("load")) {
		return
	}
	for _, name := range []string{"rate", "stages", "from", "to", "file"} {
		if c.has(p.to(name)) && !slices.Contains(own, name) {
			c.faultName(p.to(name), "has no effect on a %s schedule", kind)
		}
	}
	if c.s.Mode != record.KindLoad {
		c.steadySchedule(p, kind)
		return
	}
	for _, name := range own {
		if !c.has(p.to(name)) {
			c.faultName(p, "a %s schedule in mode load needs %s; for the closed model write schedule: {kind: closed}", kind, name)
		}
	}
	if kind == Ramp && c.has(p.to("from")) && c.has(p.to("to")) && sch.From <= 0 && sch.To <= 0 {
		c.faultAt(p.to("to"), "a ramp from 0 to 0 offers nothing")
	}
	if c.s.Load.Kind == Jobs && kind != Poisson && kind != Constant {
		c.faultAt(p.to("kind"), "jobs have their own schedule; only its rate can be set")
	}
	c.withinMaxRate(p.to("rate"), sch.Rate)
	c.withinMaxRate(p.to("from"), sch.From)
	c.withinMaxRate(p.to("to"), sch.To)
	for i, stage := range sch.Stages {
		c.withinMaxRate(p.to("stages", i, "rate"), stage.Rate)
	}
}

// steadySchedule checks a schedule under a mode that sets the rate itself.
func (c *checker) steadySchedule(p path, kind string) {
	if kind != Poisson && kind != Constant {
		c.faultAt(p.to("kind"), "mode %s sets the rate itself and needs poisson or constant; write mode: load for %s", c.s.Mode, kind)
	}
	if c.has(p.to("rate")) {
		c.faultName(p.to("rate"), "mode %s sets the rate itself; see measure, or write mode: load", c.s.Mode)
	}
}

func (c *checker) withinMaxRate(p path, rate float64) {
	if bound := c.s.Load.MaxRate; bound > 0 && rate > bound {
		c.faultAt(p, "%g/s is more than load.max_rate, %g/s", rate, bound)
	}
}
