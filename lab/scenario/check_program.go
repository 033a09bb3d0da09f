package scenario

import (
	"slices"
	"strings"

	"dyno/lab/record"
)

// reserved are names that placeholders use already.
var reserved = []string{"target", "row", "random", "id", "run", "key", "rate", "ramp_to", "concurrency", "units", "debug", "rows", "duration", "warmup", "value", Scratch, Count}

func (c *checker) target() {
	p := at("target")
	shared := func(v Variant) bool { return !v.own() }
	if len(c.s.Variants) == 0 || slices.ContainsFunc(c.s.Variants, shared) {
		c.needOne(p, "build: ./cmd/notifyd", "build", "command", "url")
	} else {
		c.onlyOne(p, "build", "command", "url")
	}
	c.env(p.to("env"), c.s.Target.Env)
	if !c.has(p.to("url")) {
		return
	}
	for _, name := range []string{"args", "env", "dir", "ready", "cpus"} {
		if c.has(p.to(name)) {
			c.faultName(p.to(name), "has no effect on a target that already runs (url)")
		}
	}
	const runs = "the target already runs (url) and cannot be started another way; name build or command instead"
	if c.has(at("sweep")) {
		c.faultName(at("sweep"), runs)
	}
	if i := slices.IndexFunc(c.s.Variants, shared); i >= 0 {
		c.faultAt(at("variants", i), runs)
	}
}

func (c *checker) companions() {
	names := make([]string, len(c.s.Companions))
	for i, companion := range c.s.Companions {
		p := at("companions", i)
		names[i] = companion.Name
		c.needOne(p, "build: ./cmd/notifyd", "build", "command")
		if slices.Contains(reserved, companion.Name) {
			c.faultAt(p.to("name"), "%q is taken: ${%s...} means something else", companion.Name, companion.Name)
		}
		c.env(p.to("env"), companion.Env)
	}
	c.unique(names, func(i int) path { return at("companions", i, "name") })
}

func (c *checker) variants() {
	names := make([]string, len(c.s.Variants))
	for i, v := range c.s.Variants {
		names[i] = v.Name
		p := at("variants", i)
		c.onlyOne(p, "build", "command", "url")
		for _, name := range []string{"args", "env", "undo"} {
			if v.URL != "" && c.has(p.to(name)) {
				c.faultName(p.to(name), "has no effect on a variant that already runs (url)")
			}
		}
		c.env(p.to("env"), v.Env)
		c.setup(p.to("setup"), v.Setup)
		c.variantLoad(p.to("load"), v.Load)
		c.beside(p.to("beside"), v)
	}
	c.unique(names, func(i int) path { return at("variants", i, "name") })
	c.onlyOne(nil, "variants", "sweep")
}

// beside checks the variant that another is compared with.
func (c *checker) beside(p path, v Variant) {
	switch {
	case !c.has(p):
	case c.s.Mode != record.KindCompare:
		c.faultName(p, "belongs to mode: compare; a %s has an order of its own", c.s.Mode)
	case v.Beside == v.Name:
		c.faultAt(p, "a variant is compared with another one, not with itself")
	default:
		if _, err := c.s.Variant(v.Beside); err != nil {
			c.faultAt(p, "%v", err)
		}
	}
}

// variantLoad checks the load of a variant.
func (c *checker) variantLoad(p path, l *VariantLoad) {
	if l == nil {
		return
	}
	c.headers(p.to("headers"), l.Headers)
	switch {
	case c.s.Load.Kind == Jobs:
		c.jobVariant(p)
	case c.hasAny(p, "args", "units", "concurrency"):
		c.faultName(p, "is for a job; args, units and concurrency belong to load.kind: jobs")
	case len(c.s.Load.Classes) > 0:
		c.faultName(p, "excludes load.classes, which define their own requests")
	case l.Repeat > 0 && l.Body == "":
		c.faultName(p.to("repeat"), "repeats this variant's body, which is missing")
	}
}

func (c *checker) setup(p path, requests []Request) {
	for i, r := range requests {
		c.headers(p.to(i, "headers"), r.Headers)
	}
}

func (c *checker) env(p path, env map[string]string) {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			c.faultName(p.to(name), "an environment variable cannot have this name or value")
		}
	}
}

// headers rejects names and values that would end a header field early.
func (c *checker) headers(p path, headers map[string]string) {
	for name, value := range headers {
		if name == "" || strings.ContainsFunc(name, notToken) {
			c.faultName(p.to(name), "is not a header field's name; expected letters, digits and -, as in Content-Type")
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			c.faultAt(p.to(name), "a header field's value is one line of printable text")
		}
	}
}

// notToken reports whether r is invalid in a header field's name (RFC 9110, 5.6.2).
func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}
