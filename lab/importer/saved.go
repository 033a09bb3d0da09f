package importer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/lab/workload"
)

// Flow is what a request has in addition as a step of a flow.
type Flow struct {
	Think time.Duration // pause before it, after the answer to the request before
	Save  []Save
	Check workload.Check
}

// Save is a value of a request's answer that later requests contain, as markOf(Name). Exactly one
// source is set in From.
type Save struct {
	Name  string
	From  workload.Save
	Value string // the value in the file
}

// markOf stands in URLs, header fields and bodies for a value that an earlier request saved. It has
// no character that any of them would escape.
func markOf(name string) string { return "__saved." + name + "__" }

// marksIn lists those of the saved values whose marks a text contains.
func marksIn(saved []Save, text string) (out []Save) {
	if !strings.Contains(text, "__saved.") {
		return nil
	}
	for _, s := range saved {
		if strings.Contains(text, markOf(s.Name)) {
			out = append(out, s)
		}
	}
	return out
}

// reservedNames are the names of other placeholders.
var reservedNames = []string{"id", "run", "key", "n", "scratch", "session", "offer"}

// Keep adds a value to those that a request saves, unless the request saves the same already, and
// returns its mark. The value is named after its field; before a common name such as id stands the
// last segment of the request's path.
func (l *Load) Keep(request int, s Save, field string) string {
	r := &l.Requests[request]
	for _, have := range r.Flow.Save {
		if s.From == have.From {
			return markOf(have.Name)
		}
	}
	name := nameWord(field)
	if slices.Contains(reservedNames, name) || name == "" {
		path := strings.Split(strings.TrimRight(Address(r.URL), "/"), "/")
		name = strings.Trim(nameWord(strings.TrimSuffix(path[len(path)-1], "s"))+"_"+name, "_")
	}
	if name == "" || slices.Contains(reservedNames, name) || name[0] >= '0' && name[0] <= '9' {
		name = "value_" + name
	}
	s.Name = name
	for n := 2; slices.ContainsFunc(l.Saved(), func(have Save) bool { return have.Name == s.Name }); n++ {
		s.Name = name + "_" + strconv.Itoa(n)
	}
	r.Flow.Save = append(r.Flow.Save, s)
	return markOf(s.Name)
}

// Saved lists the values that all requests save.
func (l *Load) Saved() (out []Save) {
	for i := range l.Requests {
		out = append(out, l.Requests[i].Flow.Save...)
	}
	return out
}

// nameWord makes a text a name of letters, digits and _.
func nameWord(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
	return strings.Trim(s[:min(len(s), 40)], "_")
}

// jsonPath is the path of a field in a JSON answer as a scenario writes it; false: it cannot be
// written. A number is an index of an array. Only the first member can be written, as *.
func jsonPath(names []string) (string, bool) {
	out, stars := slices.Clone(names), 0
	for i, n := range out {
		if _, err := strconv.Atoi(n); err == nil {
			if n != "0" {
				return "", false
			}
			out[i] = "*"
			stars++
		} else if n == "" || n == "*" || strings.ContainsAny(n, ".$") || !printable(n) {
			return "", false
		}
	}
	return strings.Join(out, "."), len(out) > 0 && stars <= 1
}
