package scenario

import (
	"slices"
	"strings"

	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

// reserved are names that placeholders use already.
var reserved = []string{"target", "row", "random", "id", "run", "key", "rate", "ramp_to", "concurrency", "units", "debug", "rows", "duration", "warmup", "value", workload.Scratch, workload.Count}

func (c *checker) target() {
	p := document.At("target")
	shared := func(v Variant) bool { return !v.Own() }
	if len(c.s.Variants) == 0 || slices.ContainsFunc(c.s.Variants, shared) {
		c.needOne(p, "build: ./services/cmd/notifyd", "build", "command", "url")
	} else {
		c.onlyOne(p, "build", "command", "url")
	}
	c.env(p.To("env"), c.s.Target.Env)
	c.refuse(p.To("ready"), "is for companions: a target that has ended takes no load", "exit")
	if !c.Has(p.To("url")) {
		return
	}
	c.refuse(p, "has no effect on a target that already runs (url)", "args", "env", "dir", "ready", "cpus")
	const runs = "the target already runs (url) and cannot be started another way; name build or command instead"
	c.refuse(nil, runs, "sweep")
	if i := slices.IndexFunc(c.s.Variants, shared); i >= 0 {
		c.FaultAt(document.At("variants", i), runs)
	}
}

func (c *checker) companions() {
	names := make([]string, len(c.s.Dependencies))
	for i, companion := range c.s.Dependencies {
		p := document.At("companions", i)
		names[i] = companion.Name
		c.needOne(p, "build: ./services/cmd/notifyd", "build", "command")
		if slices.Contains(reserved, companion.Name) {
			c.FaultAt(p.To("name"), "%q is taken: ${%s...} means something else", companion.Name, companion.Name)
		}
		c.env(p.To("env"), companion.Env)
		if companion.Ready.Exit {
			c.refuse(p.To("ready"), "excludes exit, with which a program is ready when it has ended", "line", "url", "port")
		}
	}
	c.unique(names, func(i int) document.Path { return document.At("companions", i, "name") })
}

func (c *checker) variants() {
	names := make([]string, len(c.s.Variants))
	for i, v := range c.s.Variants {
		names[i] = v.Name
		p := document.At("variants", i)
		c.onlyOne(p, "build", "command", "url")
		if v.URL != "" {
			c.refuse(p, "has no effect on a variant that already runs (url)", "args", "env", "undo")
		}
		c.env(p.To("env"), v.Env)
		c.setup(p.To("setup"), v.Setup)
		c.variantLoad(p.To("load"), v.Load)
		c.reference(p.To("beside"), v)
	}
	c.sharedRows()
	c.unique(names, func(i int) document.Path { return document.At("variants", i, "name") })
	c.onlyOne(nil, "variants", "sweep")
}

// sharedRows checks that variants at one address take the same number of rows per request: the lab
// counts what it sent to an address in requests.
func (c *checker) sharedRows() {
	rows := map[string]int{} // address -> rows in a request of its first variant
	for i, v := range c.s.Variants {
		n := 1
		for _, r := range c.s.LoadOf(v).Requests {
			n = max(n, r.Body.Copies)
		}
		if first, ok := rows[v.URL]; !ok {
			rows[v.URL] = n
		} else if v.URL != "" && c.s.Load.Once && first != n {
			c.FaultAt(document.At("variants", i), "its requests take %d rows each, and those of an earlier variant at this url %d: with once, write one number of copies (repeat)", n, first)
		}
	}
}

// reference checks the name of the variant that v is compared with.
func (c *checker) reference(p document.Path, v Variant) {
	switch {
	case !c.Has(p):
	case !c.mode().pairs:
		c.FaultName(p, "belongs to mode: compare; a %s has an order of its own", c.s.Mode)
	case v.Reference == v.Name:
		c.FaultAt(p, "a variant is compared with another one, not with itself")
	default:
		if _, err := c.s.Variant(v.Reference); err != nil {
			c.FaultAt(p, "%v", err)
		}
	}
}

func (c *checker) variantLoad(p document.Path, l *VariantLoad) {
	if l == nil {
		return
	}
	c.headers(p.To("headers"), l.Headers)
	switch {
	case !c.s.Load.Traits().Sends:
		c.jobVariant(p)
	case c.ofSessions():
		c.refuse(p, "has no effect on sessions, of which variants may have another url and headers", "body", "repeat", "array", "check", "units", "connections", "pipeline", "args", "concurrency")
	case c.hasAny(p, "args", "concurrency"):
		c.FaultName(p, "is for a job; args and concurrency belong to load.kind: jobs")
	case len(c.load.Requests) > 0:
		c.FaultName(p, "excludes load.classes, which define their own requests")
	case l.Repeat > 0 && l.Body == "":
		c.FaultName(p.To("repeat"), "repeats this variant's body, which is missing")
	case l.Array && l.Repeat == 0:
		c.FaultName(p.To("array"), "is about the copies of repeat, which is missing; write for example repeat: 20")
	}
	if l.Check != nil {
		c.answers(p.To("check"), *l.Check)
	}
	c.address(p.To("url"), l.URL)
}

func (c *checker) setup(p document.Path, requests []Request) {
	for i, r := range requests {
		c.headers(p.To(i, "headers"), r.Headers)
	}
}

func (c *checker) env(p document.Path, env map[string]string) {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			c.FaultName(p.To(name), "an environment variable cannot have this name or value")
		}
	}
}

// headers rejects names and values that would end a header field early.
func (c *checker) headers(p document.Path, headers map[string]string) {
	for name, value := range headers {
		if name == "" || strings.ContainsFunc(name, notToken) {
			c.FaultName(p.To(name), "is not a header field's name; expected letters, digits and -, as in Content-Type")
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			c.FaultAt(p.To(name), "a header field's value is one line of printable text")
		}
	}
}

// notToken reports whether r is invalid in a header field's name (RFC 9110, 5.6.2).
func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}
