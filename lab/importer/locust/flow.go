package locust

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/lab/importer/foreign"
)

// flow is what a file says of the order of its requests.
type flow struct {
	first    bool // the pass over the functions on_start; the second is over the tasks
	sequence bool // the tasks of a class follow one another
	answers  map[string]access
	classes  []string                   // that send requests
	common   map[string][]foreign.Field // header fields of all further requests of a class
	pauses   map[string]time.Duration   // between the tasks of a class
	after    int                        // the token after the last call
}

func newFlow() flow {
	return flow{answers: map[string]access{}, common: map[string][]foreign.Field{}, pauses: map[string]time.Duration{}}
}

// access is an answer, or a part of one.
type access struct {
	request int
	part    string // json, headers, cookies; empty: the answer itself
	names   []string
}

// parser makes a parser of an expression, which knows the answers so far.
func (r *reader) parser(t []token, at int) *parser {
	return &parser{tokens: t, at: at, names: r.names, answers: r.answers, keep: r.keep}
}

// starting reports whether the statement is in on_start.
func (r *reader) starting() bool {
	return slices.ContainsFunc(r.blocks, func(b block) bool { return !b.class && b.name == "on_start" })
}

// class is the outermost class that the statement is in; empty: none.
func (r *reader) class() string {
	if i := slices.IndexFunc(r.blocks, func(b block) bool { return b.class }); i >= 0 {
		return r.blocks[i].name
	}
	return ""
}

// add adds a request with the class's header fields and the pause before its task.
func (r *reader) add(q foreign.Request) {
	class := r.class()
	if !slices.Contains(r.classes, class) {
		r.classes = append(r.classes, class)
	}
	for _, f := range r.common[class] {
		q.Default(f.Name, f.Value)
	}
	if task := &r.blocks[len(r.blocks)-1]; !task.begun {
		task.begun, q.Flow.Think = true, r.pauses[class]
	}
	r.load.Add(q)
}

// wait reads wait_time = between(1, 5) and constant(2).
func (r *reader) wait(t []token) {
	if len(t) < 3 || !t[1].is("(") {
		r.waits++
		return
	}
	sum, n := 0.0, 0
	for _, a := range arguments(r.parser(t, 2)) {
		if seconds, ok := a.value.(float64); ok && a.unknown == "" && seconds >= 0 && seconds < 3600 {
			sum, n = sum+seconds, n+1
		}
	}
	if kind := t[0].text; kind == "between" && n == 2 || kind == "constant" && n == 1 {
		r.pauses[r.class()] = time.Duration(sum / float64(n) * float64(time.Second)).Round(time.Millisecond)
		return
	}
	r.waits++
}

// follow notes which name holds the answer to the request of a statement, and which holds a part of
// an answer.
func (r *reader) follow(t []token, before int) {
	holder, value := "", -1
	switch {
	case len(t) > 2 && t[0].kind == name && t[1].is("="):
		holder, value = t[0].text, 2
	case len(t) > 4 && t[0].text == "self" && t[1].is(".") && t[2].kind == name && t[3].is("="):
		holder, value = t[2].text, 4
	case t[0].text == "with":
		for i := 1; i+1 < len(t); i++ {
			if t[i].kind == name && t[i].text == "as" && t[i+1].kind == name {
				holder = t[i+1].text
			}
		}
	}
	if holder == "" {
		return
	}
	delete(r.answers, holder)
	v, p := result{}, r.parser(t, max(value, r.after))
	p.raw = true
	switch {
	case len(r.load.Requests) == before+1:
		v = p.access(t[0], access{request: before}) // what follows the call, as in .json()["token"]
	case len(r.load.Requests) == before && value > 0:
		p.at = value
		v = p.expression()
	default:
		return
	}
	if a, ok := v.value.(access); ok {
		r.answers[holder] = a
	} else if v.unknown == "" && (p.at >= len(t) || t[0].text == "with") && len(foreign.Marks(r.load.Saved(), foreign.JSON(v.value))) > 0 {
		r.names[holder] = v
	}
}

// session reads self.client.headers.update({...}) and self.client.headers["Authorization"] = ... at
// the dot before client.
func (r *reader) session(t []token, at int) {
	if !(t[at].is(".") && at+5 < len(t) && t[at+1].text == "client" && t[at+2].is(".") && t[at+3].text == "headers") {
		return
	}
	class, fields := r.class(), foreign.Object(nil)
	switch p := r.parser(t, at+4); {
	case p.skip("[") && p.peek().kind == text:
		field := p.take().text
		if p.skip("]") && p.skip("=") {
			if v := p.expression(); v.unknown == "" {
				fields = foreign.Object{{Name: field, Value: v.value}}
			}
		}
	case t[at+4].is(".") && t[at+5].text == "update":
		p.at = at + 7
		fields, _ = p.expression().value.(foreign.Object)
	case t[at+4].is("="):
		p.at = at + 5
		fields, _ = p.expression().value.(foreign.Object)
	}
	for _, m := range fields {
		f := foreign.Field{Name: m.Name, Value: foreign.Text(m.Value)}
		if _, unknown := m.Value.(partly); unknown || !f.Valid() {
			r.load.Leave(t[at].line, "header "+clip(m.Name), "its value depends on what only a run knows")
			continue
		}
		r.common[class] = append(slices.DeleteFunc(slices.Clone(r.common[class]), func(have foreign.Field) bool { return strings.EqualFold(have.Name, f.Name) }), f)
	}
}

// order says whether the requests are a flow.
func (r *reader) order() {
	starts := slices.ContainsFunc(r.load.Requests, func(q foreign.Request) bool { return q.Flow.Once != "" })
	passes := starts || len(r.load.Saved()) > 0
	r.load.Flows = passes && len(r.classes) == 1
	if passes && !r.load.Flows {
		r.load.Note("the classes %s would be a flow each: to have one, import a file with one class", strings.Join(r.classes, ", "))
	}
	if r.sequence && !r.load.Flows {
		r.load.Note("tasks of a sequence are sent as a mix; --kind flows sends them one after the other")
	}
}

// keep saves a part of an answer.
func (r *reader) keep(a access) (string, bool) {
	last := ""
	if len(a.names) > 0 {
		last = a.names[len(a.names)-1]
	}
	valid := (foreign.Field{Name: last}).Valid() && len(a.names) == 1
	switch a.part {
	case "json":
		path, ok := foreign.Path(a.names)
		if !ok {
			return "", false
		}
		return r.load.Keep(a.request, foreign.Save{JSON: path}, last), true
	case "headers":
		if valid {
			return r.load.Keep(a.request, foreign.Save{Header: last}, last), true
		}
	case "cookies":
		if valid {
			return r.load.Keep(a.request, foreign.Save{Cookie: last}, last), true
		}
	}
	return "", false
}

// access reads what follows a name that holds an answer: .json()["token"], .headers.get("X").
func (p *parser) access(t token, a access) result {
	a.names = slices.Clone(a.names)
	for range maxDeep {
		switch {
		case p.skip("["):
			switch k := p.take(); {
			case k.kind == text:
				a.names = append(a.names, k.text)
			case k.kind == number:
				if _, err := strconv.Atoi(k.text); err != nil {
					return result{unknown: t.text}
				}
				a.names = append(a.names, k.text)
			default:
				return result{unknown: t.text}
			}
			if !p.skip("]") {
				return result{unknown: t.text}
			}
			continue
		case p.peek().is("."):
			p.at++
			member := p.take().text
			switch {
			case a.part == "" && member == "json" && p.skip("(") && p.skip(")"):
				a.part = "json"
			case a.part == "" && (member == "headers" || member == "cookies"):
				a.part = member
			case a.part != "" && member == "get" && p.skip("("):
				k := p.take()
				if k.kind != text || !p.skip(")") {
					return result{unknown: t.text}
				}
				a.names = append(a.names, k.text)
			default:
				return result{unknown: t.text}
			}
			continue
		}
		break
	}
	if p.raw && (p.at >= len(p.tokens) || len(a.names) == 0) {
		return result{value: a}
	}
	if mark, ok := p.keep(a); ok {
		return result{value: mark}
	}
	return result{unknown: t.text}
}

// inner evaluates the expression in a formatted text.
func (p *parser) inner(expression string) result {
	list, err := statements(expression)
	if err != nil || len(list) != 1 || p.keep == nil || p.deep > maxDeep {
		return result{unknown: clip(expression)}
	}
	q := &parser{tokens: list[0].tokens, names: p.names, answers: p.answers, keep: p.keep, deep: p.deep + 1}
	if v := q.expression(); v.unknown == "" && q.at >= len(q.tokens) {
		return v
	}
	return result{unknown: clip(expression)}
}
