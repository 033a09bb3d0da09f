package scenario

import (
	"slices"
	"strconv"
	"strings"
)

// maxRandom bounds ${random:N}, in characters.
const maxRandom = 1 << 16

// scope is the set of placeholders that a text may contain.
type scope struct {
	owners []string // NAME in ${NAME.FIELD}
	plain  []string // names without a field
	load   bool     // placeholders of the load are valid
}

// placeholders checks every text of the scenario that is expanded.
func (c *checker) placeholders() {
	var started []string
	for i, companion := range c.s.Companions {
		c.process(at("companions", i), companion.Process, started, companion.Name)
		started = append(started, companion.Name)
	}
	before := scope{owners: started, plain: []string{Scratch}}
	running := scope{owners: append(slices.Clone(started), "target")}
	c.process(at("target"), c.s.Target.Process, started, "target")
	c.text(at("target", "debug"), c.s.Target.Debug, running)
	c.variantTexts(before)
	c.setupTexts(at("setup"), c.s.Setup, running)
	for i, v := range c.s.Variants {
		c.setupTexts(at("variants", i, "setup"), v.Setup, running)
	}
	c.loadTexts(before, running)
}

func (c *checker) setupTexts(p path, requests []Request, running scope) {
	for i, r := range requests {
		own := p.to(i)
		c.text(own.to("url"), r.URL, running.counting(r.Repeat))
		c.text(own.to("body"), r.Body, running.counting(r.Repeat))
		c.textMap(own.to("headers"), r.Headers, running)
	}
}

// process checks a program's command; only its own ready.url may use its ready line.
func (c *checker) process(p path, proc Process, started []string, self string) {
	before := scope{owners: started, plain: []string{Scratch}}
	c.textList(p.to("command"), proc.Command, before)
	c.textList(p.to("args"), proc.Args, before)
	c.textList(p.to("traced"), proc.Traced, scope{owners: started, plain: []string{"otlp", Scratch}})
	c.textMap(p.to("env"), proc.Env, before)
	c.text(p.to("ready", "url"), proc.Ready.URL, scope{owners: append(slices.Clone(started), self)})
}

func (c *checker) variantTexts(before scope) {
	if c.s.Sweep != nil {
		axes := scope{owners: before.owners, plain: slices.Clone(before.plain)}
		for _, axis := range c.s.Sweep.Axes {
			axes.plain = append(axes.plain, axis.Name)
		}
		c.textList(at("sweep", "args"), c.s.Sweep.Args, axes)
		return
	}
	for i, v := range c.s.Variants {
		p := at("variants", i)
		c.textList(p.to("command"), v.Command, before)
		c.textList(p.to("args"), v.Args, before)
		c.textList(p.to("undo"), v.Undo, before)
		c.textMap(p.to("env"), v.Env, before)
	}
}

func (c *checker) loadTexts(before, running scope) {
	p, l := at("load"), &c.s.Load
	c.textList(p.to("args"), l.Args, scope{owners: before.owners, plain: c.jobPlaceholders()})
	receipts := running
	receipts.plain = []string{"run"}
	c.text(p.to("receipts"), l.Receipts, receipts)
	if f := l.Feeder; f != nil {
		c.textList(p.to("feeder", "command"), f.Command, scope{}) // it runs before every other program
		c.textList(p.to("feeder", "args"), f.Args, scope{})
	}
	running.load = true
	c.text(p.to("url"), l.URL, running)
	c.text(p.to("body"), l.Body, running.counting(l.Repeat))
	c.textMap(p.to("headers"), l.Headers, running)
	for i, class := range l.Classes {
		own := p.to("classes", i)
		c.text(own.to("path"), class.Path, running)
		c.text(own.to("body"), class.Body, running)
		c.textMap(own.to("headers"), class.Headers, running)
	}
	for i, v := range c.s.Variants {
		if v.Load != nil {
			own := at("variants", i, "load")
			c.textList(own.to("args"), v.Load.Args, scope{owners: before.owners, plain: c.jobPlaceholders()})
			c.text(own.to("body"), v.Load.Body, running.counting(v.Load.Repeat))
			c.textMap(own.to("headers"), v.Load.Headers, running)
		}
	}
}

// counting returns the scope of a text that is written repeat times: ${n} is valid if repeat is
// set.
func (in scope) counting(repeat int) scope {
	if repeat > 0 {
		in.plain = append(slices.Clone(in.plain), Count)
	}
	return in
}

func (c *checker) textList(p path, list []string, in scope) {
	for i, text := range list {
		c.text(p.to(i), text, in)
	}
}

func (c *checker) textMap(p path, texts map[string]string, in scope) {
	for name, text := range texts {
		c.text(p.to(name), text, in)
	}
}

// text checks the placeholders of one text; it reports the first fault.
func (c *checker) text(p path, text string, in scope) {
	tokens, err := split(text)
	if err != nil {
		c.faultAt(p, "%v", err)
		return
	}
	for _, t := range tokens {
		if t.name == "" {
			continue
		}
		if wrong := c.wrongPlaceholder(t.name, in); wrong != "" {
			c.faultAt(p, "${%s}: %s", clip(t.name), wrong)
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
	case LoadPlaceholder(name):
		return c.wrongLoadPlaceholder(name, in)
	case name == Count:
		return "counts the copies of repeat; add for example repeat: 64"
	case name == Scratch:
		return "is the folder of a started program, and is valid only in its command, arguments and environment"
	case dotted && slices.Contains(in.owners, owner):
		if field == "" || strings.ContainsFunc(field, func(r rune) bool { return plainRune(r) == '-' && r != '-' }) {
			return "expected a field of the ready line, as in ${" + owner + ".listen}"
		}
		return ""
	case dotted && owner == "target":
		return "the target has not started when this is used"
	case dotted && slices.ContainsFunc(c.s.Companions, func(k Companion) bool { return k.Name == owner }):
		return owner + " has not started when this is used; companions start in order"
	}
	return c.unknownPlaceholder(name, owner, dotted, in)
}

func (c *checker) unknownPlaceholder(name, owner string, dotted bool, in scope) string {
	if dotted && len(in.owners) > 0 {
		return "unknown name " + clip(owner) + "; " + didYouMean(owner, in.owners)
	}
	known := slices.Clone(in.plain)
	if in.load {
		known = append(known, "id", "run", "key", "row.NAME", "random:256")
	}
	for _, owner := range in.owners {
		known = append(known, owner+".listen")
	}
	if len(known) == 0 {
		return "placeholders are not valid here; write $$ for a plain $"
	}
	return "unknown placeholder; " + didYouMean(name, known)
}

func (c *checker) wrongLoadPlaceholder(name string, in scope) string {
	kind, count, random := strings.Cut(name, ":")
	switch n, err := strconv.Atoi(count); {
	case !in.load:
		return "changes from request to request and is valid only in the load's url, headers and bodies"
	case random && kind == "random" && (err != nil || n < 1 || n > maxRandom):
		return "expected a number of characters from 1 to " + strconv.Itoa(maxRandom) + ", as in ${random:256}"
	case name == "key" && !c.has(at("load", "keys")):
		return "is drawn from load.keys, which is missing; write for example keys: {count: 10000}"
	case strings.HasPrefix(name, "row.") && !c.has(at("load", "feeder")):
		return "comes from load.feeder, which is missing; write for example feeder: {file: testdata/users.csv}"
	}
	return ""
}
