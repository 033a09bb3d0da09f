package scenario

import (
	"maps"
	"slices"
	"strings"

	"dyno/lab/scenario/document"
)

// sockets checks the loads whose calls go over WebSockets: the scenario's, and those of variants.
func (c *checker) sockets(p document.Path) {
	l := c.load
	if l.Traits().Sockets {
		c.refuse(p, "is about HTTP requests, and calls over a WebSocket are messages of one path", "method", "think")
		c.refuse(p, "holds bodies without ${id}, by which answers over a WebSocket are matched; write a body, with a feeder for what varies", "corpus", "body_file")
		for i, class := range l.Requests {
			c.refuse(p.To("classes", i), "is about HTTP requests", "method", "path", "headers")
			c.callBody(p.To("classes", i, "body"), class.Body.Text)
		}
		c.callBody(p.To("body"), l.Body.Text)
		c.callCheck(p.To("check"))
		if slices.ContainsFunc(slices.Collect(maps.Values(l.Headers)), func(v string) bool { return strings.Contains(v, "${row.") }) {
			c.FaultName(p.To("headers"), "are sent once, with the handshake, and cannot change from call to call")
		}
	}
	for i, v := range c.s.Variants {
		of := c.s.LoadOf(v)
		if v.Load == nil || !of.Traits().Sockets {
			continue
		}
		own := document.At("variants", i, "load")
		if at := own.To("body"); v.Load.Body != "" {
			c.callBody(at, v.Load.Body)
		} else if !l.Traits().Sockets {
			c.callBody(own.To("url"), l.Body.Text)
		}
		c.callCheck(own.To("check"))
	}
}

func (c *checker) callBody(p document.Path, body string) {
	if c.Has(p) && !strings.Contains(body, `"id":"${id}`) && !strings.Contains(body, `"id": "${id}`) {
		c.FaultAt(p, `calls over a WebSocket are matched by their id; write "id":"${id}" in the body, or in an array "id":"${id}-${n}"`)
	}
}

func (c *checker) callCheck(p document.Path) {
	c.refuse(p, "an answer over a WebSocket has neither status nor header; check.json tests its fields", "status", "header")
}
