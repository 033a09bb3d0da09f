package importer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/lab/workload"
)

// Kinds of load that a scenario may get.
const (
	Mix   = workload.Requests
	Flows = workload.Flows
)

// Limits of a flow in a scenario.
const (
	maxSteps    = 256
	maxSaved    = 64 // by one step
	maxThinking = 10 * time.Second
)

// marked reports whether a text has the beginning of a mark of a saved value.
func marked(text string) bool { return strings.Contains(text, "__saved.") }

// unmark prepares the requests for a mix, in which no value passes from one to the next: it
// replaces marks by the values that the file has.
func (c *conversion) unmark() {
	var known []string
	for _, s := range c.saved {
		known = append(known, markOf(s.Name), s.Value)
	}
	values := strings.NewReplacer(known...)
	pauses := 0
	c.load.Requests = slices.Clone(c.load.Requests)
	for n := range c.load.Requests {
		r := &c.load.Requests[n]
		if r.Flow.Think > 0 {
			pauses++
		}
		r.URL, r.Body, r.Header = values.Replace(r.URL), values.Replace(r.Body), slices.Clone(r.Header)
		for i, f := range r.Header {
			r.Header[i].Value = values.Replace(f.Value)
		}
	}
	if pauses > 0 {
		c.left = append(c.left, Omission{What: count(pauses, "pause"), Why: "requests of a mix are sent at a rate, which does not depend on pauses; --kind flows takes them"})
	}
}

// inTurn turns requests into the steps of a flow. It leaves out a request that needs a value that
// no step before it saves.
func (c *conversion) inTurn(items []item) (out []item) {
	all, over := c.saved, 0
	var have []Save
	for _, i := range items {
		text := i.path + i.body
		for _, h := range i.header {
			text += h.Value
		}
		lacking := slices.DeleteFunc(marksIn(all, text), func(s Save) bool { return slices.Contains(have, s) })
		left := Omission{Line: i.line, What: i.method + " " + Address(i.path)}
		switch {
		case len(lacking) > 0:
			left.What, left.Why = i.method+" of a URL", "no request before it in the flow saves "+lacking[0].Name
		case len(out) == maxSteps:
			over++
			continue
		case len(i.flow.Save) > maxSaved:
			left.Why = fmt.Sprintf("a step saves at most %d values", maxSaved)
		default:
			out, have = append(out, i), append(have, i.flow.Save...)
			continue
		}
		c.left = append(c.left, left)
	}
	if over > 0 {
		c.left = append(c.left, Omission{What: "the last " + count(over, "request"), Why: fmt.Sprintf("a flow has at most %d steps", maxSteps)})
	}
	c.used(out, all)
	c.pauses(out)
	return out
}

// used replaces marks by the placeholders of saved values, and drops the values that no step uses.
func (c *conversion) used(items []item, all []Save) {
	var marks, texts []string
	for _, s := range all {
		marks = append(marks, markOf(s.Name), "${"+s.Name+"}")
	}
	placeholders := strings.NewReplacer(marks...)
	for n := range items {
		i := &items[n]
		texts = append(texts, i.path, i.body)
		i.path, i.body = placeholders.Replace(i.path), placeholders.Replace(i.body)
		for h := range i.header {
			texts = append(texts, i.header[h].Value)
			i.header[h].Value = placeholders.Replace(i.header[h].Value)
		}
	}
	needed := marksIn(all, strings.Join(texts, "\n"))
	compressed := func(h Field) bool { return len(needed) > 0 && strings.EqualFold(h.Name, "Accept-Encoding") }
	for n := range items {
		if slices.ContainsFunc(items[n].header, compressed) {
			items[n].header = slices.DeleteFunc(items[n].header, compressed)
			c.note("Accept-Encoding was dropped: values are read from answers that are not compressed")
		}
		i := &items[n]
		i.flow.Save = slices.DeleteFunc(slices.Clone(i.flow.Save), func(s Save) bool { return !slices.Contains(needed, s) })
	}
}

// pauses shortens the pauses of a flow to the most that a scenario may have that searches for a
// capacity.
func (c *conversion) pauses(items []item) {
	if len(items) == 0 {
		return
	}
	items[0].flow.Think = 0 // a pause is between two steps
	sum := time.Duration(0)
	for _, i := range items {
		sum += i.flow.Think
	}
	if sum <= maxThinking {
		return
	}
	for n := range items {
		think := &items[n].flow.Think
		*think = time.Duration(float64(*think) / float64(sum) * float64(maxThinking)).Truncate(time.Millisecond)
	}
	c.note("pauses of %v in all were shortened to %v, the most with which a capacity is looked for; for real ones write mode: load with a schedule", sum, maxThinking)
}

// steps turns the kinds of request of a flow into its steps, one each.
func steps(items []item, kinds []workload.Request) (out []workload.Step) {
	for n, i := range items {
		step := workload.Step{Request: kinds[n], Think: i.flow.Think}
		step.Weight = 0
		for _, s := range i.flow.Save {
			if step.Save == nil {
				step.Save = map[string]workload.Save{}
			}
			step.Save[s.Name] = s.From
		}
		out = append(out, step)
	}
	return out
}

func taken(s *workload.Step, saved []Save) string {
	out := "step " + s.Name + ": " + s.Method + " " + Address(s.Path)
	if s.Think > 0 {
		out += ", after " + s.Think.String()
	}
	for _, v := range saved {
		out += ", saves " + v.Name
	}
	return out
}
