package scenario

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario/document"
	"dyno/lab/workload"
)

// savedName is the form of a saved value's name.
var savedName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// mostThinking limits the sum of a flow's pauses in modes that search for a capacity with slices
// of some seconds: a slice lasts twice as long as the pauses, so that all steps are under load.
const mostThinking = 10 * time.Second

// flows checks a load of several requests, one after the other.
func (c *checker) flows(p document.Path) {
	l := &c.s.Load
	if !c.Has(p.To("url")) {
		c.FaultName(p, "needs url, whose host the paths of steps are on; write for example url: http://${target.listen}")
	}
	if !c.Has(p.To("steps", 0)) {
		c.FaultName(p, "needs steps; write for example steps: [{name: login, path: /login, body: user=ann}]")
	}
	if l.Traits().Sockets {
		c.FaultAt(p.To("url"), "flows are HTTP requests; for messages over a WebSocket write kind: sessions")
	}
	if c.s.SLO.On == record.OnDelivery {
		c.FaultAt(document.At("slo"), "counts until delivery, and a flow ends with its last answer; leave delivery out")
	}
	c.address(p.To("url"), l.URL)
	c.headers(p.To("headers"), l.Headers)
	c.answers(p.To("check"), l.Check)
	names := make([]string, len(l.Steps))
	for i := range l.Steps {
		names[i] = l.Steps[i].Name
		c.step(p.To("steps", i), &l.Steps[i])
	}
	c.unique(names, func(i int) document.Path { return p.To("steps", i, "name") })
	if first := p.To("steps", 0, "think"); c.Has(first) {
		c.FaultName(first, "is a pause between two steps, and this is the first")
	}
	if sum := l.Thinking(); sum > mostThinking && c.mode().searches {
		c.FaultAt(p.To("steps"), "a flow pauses for %v in all, more than %v, with which mode %s would have too few slices; shorten think, or write mode: load with a schedule", sum, mostThinking, c.s.Mode)
	}
}

func (c *checker) step(p document.Path, s *workload.Step) {
	c.needOne(p, "path: /login", "path", "url")
	c.onlyOne(p, "body", "body_file")
	c.headers(p.To("headers"), s.Headers)
	if s.Check != nil {
		c.answers(p.To("check"), *s.Check)
	}
	if host := beforeSaved(s.URL); host != s.URL && !strings.Contains(s.URL, "${target") {
		if u, err := url.Parse(host); err != nil || u.Host == "" || u.Path == "" && u.RawQuery == "" {
			c.FaultAt(p.To("url"), "its host must be known before the load, without a saved value")
		}
	} else {
		c.address(p.To("url"), s.URL)
	}
	for name, v := range s.Save {
		own := p.To("save", name)
		c.needOne(own, "json: token", "json", "header", "cookie", "matches")
		c.pattern(own.To("matches"), v.Matches, "token=([a-z0-9]+)")
		switch {
		case !savedName.MatchString(name):
			c.FaultName(own, "is no name of letters, digits and _ that ${NAME} could stand for; write for example token")
		case taken(name):
			c.FaultName(own, "is a placeholder of other values already; choose another name")
		}
	}
}

func (c *checker) hasSteps() bool { return c.s.Load.Traits().Has("steps") }

// beforeSaved returns a URL up to its first placeholder.
func beforeSaved(text string) string {
	before, _, _ := strings.Cut(text, "${")
	return before
}

// taken reports whether a name is that of another placeholder.
func taken(name string) bool {
	return name == workload.Count || name == workload.Scratch || workload.LoadPlaceholder(name) && !workload.SessionPlaceholder(name)
}

// flowTexts checks the placeholders of steps: a step may use the values that earlier steps save.
func (c *checker) flowTexts(p document.Path, running scope) {
	l := &c.s.Load
	for i := range l.Steps {
		s, own := &l.Steps[i], p.To("steps", i)
		c.text(own.To("path"), s.Path, running)
		c.text(own.To("url"), s.URL, running)
		c.text(own.To("body"), s.Body.Text, running)
		c.textMap(own.To("headers"), s.Headers, running)
		running.plain = append(slices.Clone(running.plain), slices.Sorted(maps.Keys(s.Save))...)
	}
}
