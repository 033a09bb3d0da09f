package scenario

import (
	"slices"
	"strconv"
	"strings"

	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

// maxRandom bounds ${random:N}, in characters.
const maxRandom = 1 << 16

// scope is the set of placeholders that a text may contain.
type scope struct {
	owners []string // NAME in ${NAME.FIELD}
	plain  []string // names without a field
	load   bool     // placeholders of the load are valid
	head   bool     // it is a URL or a header of requests, in which ${id} is not valid
}

// placeholders checks every text of the scenario that is expanded.
func (c *checker) placeholders() {
	var started []string
	for i, companion := range c.s.Dependencies {
		c.process(document.At("companions", i), companion.Process, started, companion.Name)
		started = append(started, companion.Name)
	}
	before := scope{owners: started, plain: []string{workload.Scratch}}
	running := scope{owners: append(slices.Clone(started), "target")}
	c.process(document.At("target"), c.s.Target.Process, started, "target")
	c.text(document.At("target", "debug"), c.s.Target.Debug, running)
	c.variantTexts(before)
	c.setupTexts(document.At("setup"), c.s.Setup, running)
	for i, v := range c.s.Variants {
		c.setupTexts(document.At("variants", i, "setup"), v.Setup, running)
	}
	c.loadTexts(before, running)
}

func (c *checker) setupTexts(p document.Path, requests []Request, running scope) {
	for i, r := range requests {
		own := p.To(i)
		c.text(own.To("url"), r.URL, running.counting(r.Repeat))
		c.text(own.To("body"), r.Body, running.counting(r.Repeat))
		c.textMap(own.To("headers"), r.Headers, running)
	}
}

// process checks a program's command; only its own ready.url may use its ready line.
func (c *checker) process(p document.Path, proc Process, started []string, self string) {
	before := scope{owners: started, plain: []string{workload.Scratch}}
	c.textList(p.To("command"), proc.Command, before)
	c.textList(p.To("args"), proc.Args, before)
	c.textList(p.To("traced"), proc.Traced, scope{owners: started, plain: []string{"otlp", workload.Scratch}})
	c.textMap(p.To("env"), proc.Env, before)
	c.text(p.To("ready", "url"), proc.Ready.URL, scope{owners: append(slices.Clone(started), self)})
}

func (c *checker) variantTexts(before scope) {
	if c.s.Sweep != nil {
		axes := scope{owners: before.owners, plain: slices.Clone(before.plain)}
		for _, axis := range c.s.Sweep.Axes {
			axes.plain = append(axes.plain, axis.Name)
		}
		c.textList(document.At("sweep", "args"), c.s.Sweep.Args, axes)
		return
	}
	for i, v := range c.s.Variants {
		p := document.At("variants", i)
		c.textList(p.To("command"), v.Command, before)
		c.textList(p.To("args"), v.Args, before)
		c.textList(p.To("undo"), v.Undo, before)
		c.textMap(p.To("env"), v.Env, before)
	}
}

func (c *checker) loadTexts(before, running scope) {
	p, l := document.At("load"), c.load
	c.jobTexts(p, before)
	receipts := running
	receipts.plain = []string{"run"}
	c.text(p.To("receipts"), l.Deliveries, receipts)
	if f := l.Feeder; f != nil {
		c.textList(p.To("feeder", "command"), f.Program.Command, scope{}) // it runs before every other program
		c.textList(p.To("feeder", "args"), f.Program.Args, scope{})
	}
	if c.ofSessions() {
		c.sessionTexts(p, running)
		return
	}
	running.load = true
	head := running
	head.head = !c.hasSteps()
	c.loadURL(p.To("url"), l.URL, head)
	if c.hasSteps() {
		c.flowTexts(p, running)
	}
	c.text(p.To("body"), l.Body.Text, running.counting(l.Body.Copies))
	c.textMap(p.To("headers"), l.Headers, head)
	for i, class := range l.Requests {
		own := p.To("classes", i)
		c.text(own.To("path"), class.Path, head)
		c.text(own.To("body"), class.Body.Text, running)
		c.textMap(own.To("headers"), class.Headers, head)
	}
	for i, v := range c.s.Variants {
		if v.Load != nil {
			own := document.At("variants", i, "load")
			c.textList(own.To("args"), v.Load.Args, scope{owners: before.owners, plain: c.jobPlaceholders()})
			c.text(own.To("body"), v.Load.Body, running.counting(v.Load.Repeat))
			c.loadURL(own.To("url"), v.Load.URL, head)
			c.textMap(own.To("headers"), v.Load.Headers, head)
		}
	}
}

// loadURL checks the placeholders of a load's URL. Its host must be known before the load starts;
// calls that share a connection also share the whole URL.
func (c *checker) loadURL(p document.Path, text string, in scope) {
	c.text(p, text, in)
	tokens, err := workload.Tokens(text)
	if err != nil {
		return // reported above
	}
	before := ""
	for _, t := range tokens {
		switch _, host, _ := strings.Cut(before, "://"); {
		case t.Name == "" || !workload.LoadPlaceholder(t.Name):
		case !strings.ContainsAny(host, "/?"):
			c.FaultAt(p, "${%s}: the host must be known before the load; placeholders of the load belong in the path or the query", document.Clip(t.Name))
			return
		case (c.s.Load.Traits().Sockets || c.s.Load.Traits().HTTP2) && !c.ofSessions():
			c.FaultAt(p, "${%s}: calls share their connection, and so its URL; placeholders of the load belong in the body and headers", document.Clip(t.Name))
			return
		}
		if before == "" && t.Name != "" {
			before = "://" // ${target.url}, which has scheme and host
		}
		before += t.Text
	}
}

// counting returns the scope of a text that is written repeat times: ${n} is valid if repeat is
// set.
func (in scope) counting(repeat int) scope {
	if repeat > 0 {
		in.plain = append(slices.Clone(in.plain), workload.Count)
	}
	return in
}

func (c *checker) textList(p document.Path, list []string, in scope) {
	for i, text := range list {
		c.text(p.To(i), text, in)
	}
}

func (c *checker) textMap(p document.Path, texts map[string]string, in scope) {
	for name, text := range texts {
		c.text(p.To(name), text, in)
	}
}

// text checks the placeholders of one text; it reports the first fault.
func (c *checker) text(p document.Path, text string, in scope) {
	tokens, err := workload.Tokens(text)
	if err != nil {
		c.FaultAt(p, "%v", err)
		return
	}
	for _, t := range tokens {
		if t.Name == "" {
			continue
		}
		if wrong := c.wrongPlaceholder(t.Name, in); wrong != "" {
			c.FaultAt(p, "${%s}: %s", document.Clip(t.Name), wrong)
			return
		}
	}
}

// wrongPlaceholder describes the fault of a placeholder; empty: none.
func (c *checker) wrongPlaceholder(name string, in scope) string {
	owner, field, dotted := strings.Cut(name, ".")
	switch {
	case slices.Contains(in.plain, name):
		return ""
	case workload.LoadPlaceholder(name):
		return c.wrongLoadPlaceholder(name, in)
	case name == workload.Count:
		return "counts the copies of repeat; add for example repeat: 64"
	case name == workload.Scratch:
		return "is the folder of a started program, and is valid only in its command, arguments and environment"
	case dotted && slices.Contains(in.owners, owner):
		if field == "" || strings.ContainsFunc(field, func(r rune) bool { return plainRune(r) == '-' && r != '-' }) {
			return "expected a field of the ready line, as in ${" + owner + ".listen}"
		}
		return ""
	case dotted && owner == "target":
		return "the target has not started when this is used"
	case dotted && slices.ContainsFunc(c.s.Dependencies, func(k Dependency) bool { return k.Name == owner }):
		return owner + " has not started when this is used; companions start in order"
	}
	return c.unknownPlaceholder(name, owner, dotted, in)
}

func (c *checker) unknownPlaceholder(name, owner string, dotted bool, in scope) string {
	if dotted && len(in.owners) > 0 {
		return "unknown name " + document.Clip(owner) + "; " + document.DidYouMean(owner, in.owners)
	}
	if in.load && c.hasSteps() && len(in.plain) == 0 {
		return "is not saved before this step; write for example save: {" + document.Clip(name) + ": {json: id}} in an earlier one"
	}
	known := slices.Clone(in.plain)
	if in.load {
		known = append(known, "run", "key", "row.NAME", "random:256")
		if !in.head {
			known = append(known, "id")
		}
	}
	for _, owner := range in.owners {
		known = append(known, owner+".listen")
	}
	if len(known) == 0 {
		return "placeholders are not valid here; write $$ for a plain $"
	}
	return "unknown placeholder; " + document.DidYouMean(name, known)
}

func (c *checker) wrongLoadPlaceholder(name string, in scope) string {
	kind, count, random := strings.Cut(name, ":")
	switch n, err := strconv.Atoi(count); {
	case workload.SessionPlaceholder(name) && c.hasSteps():
		return "is not saved before this step; write for example save: {" + name + ": {json: id}} in an earlier one"
	case workload.SessionPlaceholder(name):
		return "belongs to load.kind: sessions" + map[string]string{"offer": ", in send"}[name]
	case c.ofSessions() && (name == "id" || name == "key" || random):
		return "belongs to requests; sessions have ${session}, ${offer}, ${run} and ${row.NAME}"
	case name == "id" && in.head:
		return "changes with every request and is possible in a body only; write ${key} or ${row.NAME}"
	case !in.load:
		return "changes from request to request and is valid only in the load's url, headers and bodies"
	case random && kind == "random" && (err != nil || n < 1 || n > maxRandom):
		return "expected a number of characters from 1 to " + strconv.Itoa(maxRandom) + ", as in ${random:256}"
	case name == "key" && !c.Has(document.At("load", "keys")):
		return "is drawn from load.keys, which is missing; write for example keys: {count: 10000}"
	case strings.HasPrefix(name, "row.") && !c.Has(document.At("load", "feeder")):
		return "comes from load.feeder, which is missing; write for example feeder: {file: testdata/users.csv}"
	}
	return ""
}
