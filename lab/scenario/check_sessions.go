package scenario

import (
	"regexp"
	"slices"
	"strings"

	"dyno/lab/record"
	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

// sessions checks a load of sessions, driven by the lab or by load.driver.
func (c *checker) sessions(p document.Path) {
	l, of := &c.s.Load, c.s.Load.Sessions
	if l.Once && l.Feeder == nil {
		c.FaultName(p.To("once"), "gives each message a row of a feeder of its own; add feeder")
	}
	if c.s.SLO.On == record.OnDelivery {
		c.FaultAt(document.At("slo"), "counts until delivery, and a message of a session ends with its acknowledgement; leave delivery out")
	}
	switch searches := len(of.Numbers) == 0; {
	case searches && !c.mode().searches:
		c.FaultName(p, "mode %s drives known numbers of sessions; write for example sessions: [50, 100, 200]", c.s.Mode)
	case len(of.Numbers) > 1 && c.mode().searches:
		c.FaultName(p.To("sessions"), "a list of numbers belongs to mode: load or sweep; mode %s takes search or one number", c.s.Mode)
	}
	if l.Driver != nil {
		c.needOne(p.To("driver"), "command: [bots]", "build", "command")
		c.refuse(p, "is about the lab's own sessions, and load.driver is a program that has its own", "url", "headers", "open", "send", "expect", "feeder", "tls")
		if !slices.ContainsFunc(l.Driver.Args, func(a string) bool { return strings.Contains(a, "${sessions}") }) {
			c.FaultName(p.To("driver"), "never mentions ${sessions}, so that every run would be the same; write for example args: [--sessions, \"${sessions}\"]")
		}
		return
	}
	c.script(p)
}

// script checks sessions that the lab drives itself.
func (c *checker) script(p document.Path) {
	l, of := &c.s.Load, c.s.Load.Sessions
	if !c.Has(p.To("url")) {
		c.FaultName(p, "needs url; write for example url: ws://${target.listen}/")
	}
	c.address(p.To("url"), l.URL)
	c.headers(p.To("headers"), l.Headers)
	switch {
	case of.PerSession > 0 && of.Send == nil:
		c.FaultName(p.To("per_session"), "is a rate of offers, and send, which says what an offer sends, is missing; write for example send: {text: '{\"n\":${offer}}'}")
	case of.PerSession == 0 && of.Send != nil:
		c.FaultName(p.To("send"), "needs a rate; write for example per_session: 1")
	case of.Send != nil && of.Expect.Ack == nil:
		c.FaultName(p.To("send"), "needs expect.ack, which says how a message is acknowledged; write for example expect: {ack: {json: n}}")
	}
	if s := of.Send; s != nil && l.Traits().Sockets {
		c.needOne(p.To("send"), "text: '{\"n\":${offer}}'", "text", "base64")
		c.refuse(p.To("send"), "is of a request beside a stream of events, and a WebSocket carries messages", "url", "method", "headers")
	} else if s != nil {
		c.refuse(p.To("send"), "is a message of a WebSocket; write text for the body of a request", "base64")
		if !c.Has(p.To("send", "url")) {
			c.FaultName(p.To("send"), "needs url, since nothing is sent over a stream of events; write for example url: http://${target.listen}/messages")
		}
		c.headers(p.To("send", "headers"), s.Headers)
	}
	if !l.Traits().Sockets && l.URL != "" {
		c.refuse(p, "belongs to WebSockets; a stream of events is opened with url and headers", "open")
	}
	c.pattern(p.To("expect", "frames", "matches"), of.Expect.Frames.Matches, "")
	if a := of.Expect.Ack; a != nil {
		c.needOne(p.To("expect", "ack"), "json: n", "json", "matches", "any")
		c.pattern(p.To("expect", "ack", "matches"), a.Matches, "n=([0-9]+)")
	}
}

// pattern checks a regular expression. If there is an example, the expression must have a group,
// whose match is the value.
func (c *checker) pattern(p document.Path, text, example string) {
	if text == "" {
		return
	}
	switch re, err := regexp.Compile(text); {
	case err != nil:
		c.FaultAt(p, "%v", err)
	case example != "" && re.NumSubexp() == 0:
		c.FaultAt(p, "has no group, which must hold the value; write for example %s", example)
	}
}

// sessionTexts checks the placeholders of sessions' texts.
func (c *checker) sessionTexts(p document.Path, running scope) {
	l, of := &c.s.Load, c.s.Load.Sessions
	once := running
	once.load, once.plain = true, []string{"session"}
	message := once
	message.plain = []string{"session", "offer"}
	c.loadURL(p.To("url"), l.URL, once)
	c.textMap(p.To("headers"), l.Headers, once)
	c.textList(p.To("open", "messages"), of.Open.Messages, once)
	if s := of.Send; s != nil {
		c.text(p.To("send", "text"), s.Text, message)
		c.loadURL(p.To("send", "url"), s.URL, message)
		c.textMap(p.To("send", "headers"), s.Headers, message)
	}
	if d := l.Driver; d != nil {
		with := running
		with.plain = workload.DriverPlaceholders()
		c.textList(p.To("driver", "args"), d.Args, with)
	}
}
