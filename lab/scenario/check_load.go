package scenario

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"dyno/lab/record"
	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

func (c *checker) loads() {
	p := document.At("load")
	if !c.Has(p) {
		return // the schema requires it
	}
	if c.s.SLO.Frames > 0 && !c.ofSessions() {
		c.FaultAt(document.At("slo"), "bounds frames, which only sessions have; write for example load: {kind: sessions}")
	}
	c.permitted(p)
	if f := c.s.Load.Feeder; f != nil {
		c.feeder(p.To("feeder"), f)
	}
	switch c.s.Load.Kind {
	case workload.Sessions:
		c.sessions(p)
	case workload.Jobs:
		c.jobs(p)
	case workload.Flows:
		c.flows(p)
	case workload.GRPC:
		c.grpc(p)
	case workload.Requests, "":
		c.requests(p)
	}
}

// permitted refuses the fields that the kind of load does not have.
func (c *checker) permitted(p document.Path) {
	fields := c.s.Load.Traits().Fields
	others := slices.DeleteFunc(c.Fields("load"), func(name string) bool { return slices.Contains(fields, name) })
	switch what := map[string]string{workload.Flows: "flows", workload.GRPC: "gRPC calls", workload.Sessions: "sessions"}[c.s.Load.Kind]; {
	case what != "":
		c.refuse(p, "has no effect on "+what+", which have "+strings.Join(fields, ", "), others...)
	case c.s.Load.Kind == workload.Jobs:
		c.refuse(p, "has no effect on jobs, which send nothing; put what the job needs into args", others...)
	default:
		hints := map[string]string{"args": "; the target's arguments are target.args", "steps": "; kinds of request in a mix are classes"}
		for _, name := range others {
			if kind := workload.KindOf(name); kind != "" {
				c.refuse(p, "belongs to kind: "+kind+hints[name], name)
			}
		}
	}
}

func (c *checker) jobs(p document.Path) {
	runs := func(v Variant) bool { return v.URL != "" }
	if c.Has(document.At("target", "url")) || slices.ContainsFunc(c.s.Variants, runs) {
		c.FaultAt(p.To("kind"), "jobs are run by the target's own command, which a target that already runs (url) lacks")
	}
	if c.counted() {
		c.byConcurrency(p)
		return
	}
	c.refuse(p, "is for jobs by concurrency; write axis: concurrency, or state the amount of work in args", "units")
	if !c.mentions("${rate}") {
		c.FaultName(p.To("args"), "never mentions ${rate}, so that every run would be the same; write for example args: [--rate, \"${rate}\"]")
	}
}

func (c *checker) requests(p document.Path) {
	l := c.load
	if !c.Has(p.To("url")) {
		c.FaultName(p, "needs url; write for example url: http://${target.listen}/")
	}
	if l.Once && l.Feeder == nil && l.Body.Corpus == "" {
		c.FaultName(p.To("once"), "sends each row of a feeder or each body of a corpus at most once; add feeder or corpus")
	}
	c.onlyOne(p, "body", "body_file", "corpus")
	if c.Has(p.To("repeat")) && (c.Has(p.To("corpus")) || c.Has(p.To("classes"))) {
		c.FaultName(p.To("repeat"), "repeats the template of the load's own body, and excludes corpus and classes")
	}
	if c.Has(p.To("array")) && !c.Has(p.To("repeat")) {
		c.FaultName(p.To("array"), "is about the copies of repeat, which is missing; write for example repeat: 20")
	}
	c.address(p.To("url"), l.URL)
	c.headers(p.To("headers"), l.Headers)
	c.answers(p.To("check"), l.Check)
	c.classes(p)
	c.engine(p)
	c.sockets(p)
	if c.Has(p.To("think")) && l.Schedule.Kind != workload.Closed {
		c.FaultName(p.To("think"), "belongs to the closed model (schedule: {kind: closed}); an open schedule waits for no answer")
	}
	if c.s.SLO.On == record.OnDelivery && !c.Has(p.To("receipts")) {
		c.FaultAt(document.At("slo"), "counts until delivery, but load.receipts, the source of deliveries, is missing")
	}
	c.receipts(p)
}

func (c *checker) engine(p document.Path) {
	l := &c.s.Load
	switch secure := strings.HasPrefix(l.URL, "https:"); {
	case l.Traits().Sockets && c.Has(p.To("engine")):
		c.FaultName(p.To("engine"), "is a choice for HTTP; calls over WebSockets have one engine")
	case l.Engine == "raw" && secure:
		c.FaultAt(p.To("engine"), "the raw engine speaks no TLS; write std or auto for %s", document.Clip(l.URL))
	case l.Engine == "raw" && l.Follow > 0:
		c.FaultAt(p.To("follow"), "the raw engine follows no redirects; write engine: std or auto")
	case l.Engine == "raw" && l.TLS.HTTP2:
		c.FaultAt(p.To("engine"), "the raw engine speaks HTTP/1.1 only; write std or auto for tls.http2")
	case l.Pipeline > 1 && (l.Engine == "std" || secure):
		c.FaultAt(p.To("pipeline"), "only the raw engine, without TLS, pipelines")
	}
}

func (c *checker) address(p document.Path, s string) {
	if strings.Contains(s, "${") || s == "" {
		return // known when the target runs
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" {
		c.FaultAt(p, "found the text %q; expected a URL, as in http://127.0.0.1:8080/%s", document.Clip(s), withScheme(s))
	}
}

// withScheme suggests a URL for a text HOST:PORT/PATH; empty: s is another kind of text.
func withScheme(s string) string {
	if u, err := url.Parse("http://" + s); err != nil || u.Port() == "" || strings.Contains(s, "://") {
		return ""
	}
	return "; write http://" + document.Clip(s)
}

func (c *checker) answers(p document.Path, check workload.Check) {
	c.headers(p.To("header"), check.Header)
	for i := range check.JSON {
		c.needOne(p.To("json", i), "equals: ok", "equals", "exists")
		if strings.Count("."+check.JSON[i].Path+".", ".*.") > 1 {
			c.FaultAt(p.To("json", i, "path"), "one name may be *, since errors are counted by the members of one array")
		}
	}
}

func (c *checker) feeder(p document.Path, f *workload.Feeder) {
	c.needOne(p, "file: testdata/users.csv", "file", "build", "command")
	printed := c.Has(p.To("build")) || c.Has(p.To("command"))
	switch ext := filepath.Ext(f.File); {
	case printed && !c.Has(p.To("format")):
		c.FaultName(p, "needs format, the form of the program's output: csv (the first line names the columns) or ndjson; write for example format: csv")
	case printed:
	case c.Has(p.To("args")):
		c.FaultName(p.To("args"), "are for a program, not for a file; write build or command instead of file")
	case f.File == "" || f.Format != "" || ext == ".csv" || ext == ".ndjson" || ext == ".jsonl":
	default:
		c.FaultAt(p.To("file"), "the extension %q does not imply a format; add format: csv or format: ndjson", document.Clip(ext))
	}
}

func (c *checker) classes(p document.Path) {
	l := c.load
	if c.Has(p.To("classes")) && c.Has(p.To("corpus")) {
		c.FaultName(p.To("corpus"), "contains the bodies of all requests and excludes classes")
	}
	names := make([]string, len(l.Requests))
	for i, class := range l.Requests {
		own := p.To("classes", i)
		names[i] = class.Name
		c.onlyOne(own, "body", "body_file")
		c.headers(own.To("headers"), class.Headers)
		if class.Check != nil {
			c.answers(own.To("check"), *class.Check)
		}
	}
	c.unique(names, func(i int) document.Path { return p.To("classes", i, "name") })
}

// receipts checks that a sink's deliveries can be matched to requests, by an id in their bodies.
func (c *checker) receipts(p document.Path) {
	l := c.load
	if !c.Has(p.To("receipts")) || workload.OverSocket(l.Deliveries) { // the blocks of an Ethereum node are matched by hash
		return
	}
	if l.Units > 1 {
		c.FaultName(p.To("units"), "counts a request as several, and a sink's receipts are one for each request")
	}
	if l.Body.File != "" || l.Body.Corpus != "" {
		return
	}
	bodies := []string{l.Body.Text}
	for i, v := range c.s.Variants {
		if v.Load != nil && v.Load.Body != "" && !strings.Contains(v.Load.Body, "${id}") {
			c.FaultAt(document.At("variants", i, "load", "body"), "receipts are matched by ${id}, which this body lacks")
		}
	}
	for _, class := range l.Requests {
		if class.Body.File != "" {
			return
		}
		bodies = append(bodies, class.Body.Text)
	}
	if !slices.ContainsFunc(bodies, func(b string) bool { return strings.Contains(b, "${id}") }) {
		c.FaultAt(p.To("receipts"), "receipts are matched by ${id}, which no body contains")
	}
}

// scheduleFields are the fields of each kind of schedule. A seed is valid with every kind, because
// the drawing of keys uses it too.
var scheduleFields = map[string][]string{
	workload.Poisson: {"rate"}, workload.Constant: {"rate"}, workload.Stepwise: {"stages"}, workload.Ramp: {"from", "to"}, workload.File: {"file"}, workload.Closed: {},
}

func (c *checker) schedule() {
	p, sch := document.At("load", "schedule"), &c.s.Load.Schedule
	if c.ofSessions() {
		return // each session's rate is per_session
	}
	kind := cmp.Or(sch.Kind, workload.Poisson)
	own, known := scheduleFields[kind]
	if !known || !c.Has(document.At("load")) {
		return
	}
	for _, name := range []string{"rate", "stages", "from", "to", "file"} {
		if c.Has(p.To(name)) && !slices.Contains(own, name) {
			c.FaultName(p.To(name), "has no effect on a %s schedule", kind)
		}
	}
	if !c.mode().once {
		c.steadySchedule(p, kind)
		return
	}
	for _, name := range own {
		if !c.Has(p.To(name)) {
			c.FaultName(p, "a %s schedule in mode load needs %s; for the closed model write schedule: {kind: closed}", kind, name)
		}
	}
	if kind == workload.Ramp && c.Has(p.To("from")) && c.Has(p.To("to")) && sch.From <= 0 && sch.To <= 0 {
		c.FaultAt(p.To("to"), "a ramp from 0 to 0 sends nothing")
	}
	if c.s.Load.Kind == workload.Jobs && kind != workload.Poisson && kind != workload.Constant {
		c.FaultAt(p.To("kind"), "jobs have their own schedule; only its rate can be set")
	}
	c.withinMaxRate(p.To("rate"), sch.Rate)
	c.withinMaxRate(p.To("from"), sch.From)
	c.withinMaxRate(p.To("to"), sch.To)
	for i, stage := range sch.Stages {
		c.withinMaxRate(p.To("stages", i, "rate"), stage.Rate)
	}
}

// steadySchedule checks a schedule under a mode that sets the rate itself.
func (c *checker) steadySchedule(p document.Path, kind string) {
	if kind != workload.Poisson && kind != workload.Constant {
		c.FaultAt(p.To("kind"), "mode %s sets the rate itself and needs poisson or constant; write mode: load for %s", c.s.Mode, kind)
	}
	if c.Has(p.To("rate")) {
		c.FaultName(p.To("rate"), "mode %s sets the rate itself; see measure, or write mode: load", c.s.Mode)
	}
}

func (c *checker) withinMaxRate(p document.Path, rate float64) {
	if bound := c.s.Load.MaxRate; bound > 0 && rate > bound {
		c.FaultAt(p, "%g/s is more than load.max_rate, %g/s", rate, bound)
	}
}
