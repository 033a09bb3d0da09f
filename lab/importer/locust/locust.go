// Package locust reads what can be read in a Locust file without running it: calls of the client
// in methods that are tasks, whose arguments are literals or constants. What only a run would know
// is left out, with its line.
//
// It is not for running Python, of which it reads no more than this takes. It starts no goroutines.
package locust

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"dyno/lab/importer/foreign"
)

// Read reads a file.
func Read(src []byte) (*foreign.Load, error) {
	list, err := statements(strings.TrimPrefix(string(src), "\ufeff"))
	if err != nil {
		return nil, err
	}
	r := &reader{load: &foreign.Load{}, names: constants(list), flow: newFlow()}
	for _, first := range []bool{true, false} { // on_start runs before the tasks, wherever it stands
		r.first, r.blocks = first, nil
		for _, s := range list {
			r.statement(s)
		}
	}
	if r.waits > 0 {
		r.load.Leave(0, fmt.Sprintf("wait_time (%d)", r.waits), "only between and constant are read")
	}
	r.order()
	if len(r.load.Requests)+len(r.load.Left) == 0 {
		return nil, errors.New("it has no call such as self.client.get in a method that is a @task")
	}
	return r.load, nil
}

// constants finds the names that are assigned once, to a literal.
func constants(list []statement) names {
	out, times := names{}, map[string]int{}
	for _, s := range list {
		t := s.tokens
		for _, n := range changed(t) {
			times[n] = 2
		}
		if len(t) < 3 || t[0].kind != name || !t[1].is("=") || t[2].is("=") {
			continue
		}
		times[t[0].text]++
		p := parser{tokens: t[2:], names: out}
		if r := p.expression(); r.unknown == "" && p.at >= len(p.tokens) {
			out[t[0].text] = r
		}
	}
	for n, k := range times {
		if k > 1 {
			delete(out, n)
		}
	}
	return out
}

// changed lists the names of a statement that are no constants: parameters, and those that a
// loop, with, or an assignment of several changes.
func changed(t []token) (out []string) {
	def, loop := false, false
	for i, x := range t {
		word := ""
		if x.kind == name {
			word = x.text
		}
		switch {
		case word == "def", word == "lambda":
			def = true
		case word == "for":
			loop = true
		case word == "in":
			loop = false
		case word != "" && (def || loop || i > 0 && t[i-1].text == "as" && t[0].text != "from" && t[0].text != "import"):
			out = append(out, word)
		case i == 1 && x.kind == other && t[0].kind == name && (x.text == "," || len(t) > 2 && t[2].is("=") && x.text != "="):
			for _, left := range t[:slices.IndexFunc(append(slices.Clone(t), token{kind: other, text: "="}), func(e token) bool { return e.is("=") })] {
				if left.kind == name {
					out = append(out, left.text)
				}
			}
		}
	}
	return out
}

// reader reads a file statement by statement.
type reader struct {
	load   *foreign.Load
	names  names
	blocks []block
	weight float64 // of the decorator that was read last; 0: it was no task
	waits  int     // classes with a wait_time that is not read
	flow
}

// block is a class or a function that statements lie in.
type block struct {
	indent int
	name   string
	class  bool
	weight float64 // of a task or a class; 0: a function that is no task
	host   string
	begun  bool // a task that has sent a request
}

func (r *reader) statement(s statement) {
	for len(r.blocks) > 0 && r.blocks[len(r.blocks)-1].indent >= s.indent {
		r.blocks = r.blocks[:len(r.blocks)-1]
	}
	t := s.tokens
	switch {
	case t[0].is("@"):
		r.decorator(t)
		return
	case len(t) > 1 && t[0].kind == name && t[0].text == "class":
		r.sequence = r.sequence || slices.ContainsFunc(t[2:], func(x token) bool { return x.kind == name && strings.HasPrefix(x.text, "Sequential") })
		r.blocks = append(r.blocks, block{indent: s.indent, name: t[1].text, class: true, weight: 1})
	case slices.ContainsFunc(t[:min(2, len(t))], func(x token) bool { return x.kind == name && x.text == "def" }):
		i := slices.IndexFunc(t, func(x token) bool { return x.text == "def" })
		if i+1 < len(t) {
			r.blocks = append(r.blocks, block{indent: s.indent, name: t[i+1].text, weight: r.weight})
		}
	case len(t) > 2 && t[0].kind == name && t[1].is("=") && r.inClass():
		r.attribute(t)
	}
	r.weight = 0
	if r.starting() != r.first {
		return
	}
	before := len(r.load.Requests)
	r.calls(t)
	r.follow(t, before)
}

func (r *reader) inClass() bool { return len(r.blocks) > 0 && r.blocks[len(r.blocks)-1].class }

// decorator reads @task and @task(3).
func (r *reader) decorator(t []token) {
	if len(t) < 2 || t[1].kind != name || t[1].text != "task" {
		return // @tag, @events...
	}
	r.weight = 1
	if len(t) > 3 && t[2].is("(") {
		p := r.parser(t, 3)
		if w, ok := p.expression().value.(float64); ok && w > 0 && w < 1e6 {
			r.weight = w
		}
	}
}

// attribute reads host and weight of a class.
func (r *reader) attribute(t []token) {
	b := &r.blocks[len(r.blocks)-1]
	p := r.parser(t, 2)
	v := p.expression()
	switch t[0].text {
	case "host":
		if host, ok := v.value.(string); ok && v.unknown == "" {
			b.host = strings.TrimSuffix(host, "/")
		}
	case "weight":
		if w, ok := v.value.(float64); ok && w > 0 && w < 1e6 {
			b.weight = w
		}
	case "tasks":
		if !r.first {
			r.load.Leave(t[0].line, "tasks = ...", "only methods with @task are read")
		}
	case "wait_time":
		if r.first {
			r.wait(t[2:])
		}
	}
}

// verbs are the client's methods.
var verbs = map[string]string{
	"get": http.MethodGet, "post": http.MethodPost, "put": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete,
	"head": http.MethodHead, "options": http.MethodOptions, "request": "",
}

// calls reads the calls of X.client.VERB(...) and self.rest(...) in a statement.
func (r *reader) calls(t []token) {
	for i := 0; i+4 < len(t); i++ {
		if t[i].text == "self" && t[i+1].is(".") && t[i+2].text == "rest" && t[i+3].is("(") {
			p := r.parser(t, i+4)
			args := arguments(p)
			r.after = p.at
			r.call(t[i].line, "", args)
		}
		if !(t[i].is(".") && t[i+1].text == "client" && t[i+2].is(".") && t[i+3].kind == name && t[i+4].is("(")) {
			r.session(t, i)
			continue
		}
		method, known := verbs[t[i+3].text]
		if !known {
			continue
		}
		p := r.parser(t, i+5)
		args := arguments(p)
		r.after = p.at
		r.call(t[i].line, method, args)
	}
}

// argument is an argument of a call; its name is empty if it goes by its place.
type argument struct {
	name string
	result
}

func arguments(p *parser) (out []argument) {
	for p.at < len(p.tokens) && !p.skip(")") {
		var a argument
		if p.peek().kind == name && p.at+1 < len(p.tokens) && p.tokens[p.at+1].is("=") {
			a.name = p.take().text
			p.at++
		}
		a.result = p.expression()
		out = append(out, a)
		if !p.skip(",") && !p.peek().is(")") {
			p.pass()
		}
	}
	return out
}

// call adds the request of a call.
func (r *reader) call(line int, method string, args []argument) {
	verb := strings.ToLower(method)
	places := []string{"url", "params"}
	if method == "" {
		verb, places = "request", []string{"method", "url", "params", "data"}
	} else if method != http.MethodGet && method != http.MethodHead {
		places = []string{"url", "data", "json"}
	}
	what, weight, host := "client."+verb, 1.0, ""
	for _, b := range r.blocks {
		if b.class && b.host != "" {
			host = b.host
		}
		weight *= b.weight
	}
	q := foreign.Request{Line: line, Method: method, Weight: weight}
	if len(r.blocks) == 0 || r.blocks[len(r.blocks)-1].class || weight == 0 {
		reason := fmt.Sprintf("it is in %s, which is no @task", r.place())
		if q.Flow.Once, q.Weight = reason, 0; !r.first {
			r.load.Leave(line, what, "%s", reason)
			return
		}
	}
	for i := range args {
		a := &args[i]
		if a.name == "" && i < len(places) {
			a.name = places[i]
		}
		if a.name == "files" {
			r.load.Leave(line, what, "multipart forms are not read")
			return
		}
		if a.unknown != "" && slices.Contains([]string{"method", "url", "json", "data", "params"}, a.name) {
			r.load.Leave(line, what, "its %s depends on %s, which only a run knows", a.name, a.unknown)
			return
		}
		r.argument(&q, *a)
	}
	if q.URL == "" || q.Method == "" {
		r.load.Leave(line, what, "its URL or method is not a literal")
		return
	}
	if !strings.Contains(q.URL, "://") {
		q.URL = host + "/" + strings.TrimPrefix(q.URL, "/")
	}
	r.add(q)
}

// place names the function or class that the reader is in.
func (r *reader) place() string {
	if len(r.blocks) == 0 {
		return "the file itself"
	}
	return r.blocks[len(r.blocks)-1].name
}

func (r *reader) argument(q *foreign.Request, a argument) {
	plain, _ := a.value.(string)
	switch a.name {
	case "method":
		q.Method = strings.ToUpper(plain)
	case "url":
		q.URL = plain + q.URL // params may have come before
	case "name":
		q.Name = plain
	case "params":
		query := foreign.Form(a.value)
		if plain != "" {
			query = plain
		}
		if query != "" {
			separator := "?"
			if strings.Contains(q.URL, "?") {
				separator = "&"
			}
			q.URL += separator + query
		}
	case "json":
		if a.value != nil {
			q.Body = foreign.JSON(a.value)
			q.Default("Content-Type", "application/json")
		}
	case "data":
		if q.Body = plain; plain == "" && a.value != nil {
			q.Body = foreign.Form(a.value)
			q.Default("Content-Type", "application/x-www-form-urlencoded")
		}
	case "headers", "cookies":
		r.fields(q, a)
	case "auth":
		if pair, ok := a.value.([]any); ok && len(pair) == 2 && a.unknown == "" {
			user := foreign.Text(pair[0]) + ":" + foreign.Text(pair[1])
			q.Header = append(q.Header, foreign.Field{Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(user))})
			return
		}
		r.load.Leave(q.Line, "auth", "it is not a pair of literals")
	case "verify":
		r.load.Insecure = r.load.Insecure || a.value == false && a.unknown == ""
	}
}

// fields adds headers or cookies, each on its own: one that only a run knows does not cost the
// others.
func (r *reader) fields(q *foreign.Request, a argument) {
	o, ok := a.value.(foreign.Object)
	if !ok {
		if a.unknown != "" {
			r.load.Leave(q.Line, a.name, "they depend on %s, which only a run knows", a.unknown)
		}
		return
	}
	for _, m := range o {
		if p, unknown := m.Value.(partly); unknown {
			r.load.Leave(q.Line, strings.TrimSuffix(a.name, "s")+" "+m.Name, "its value depends on %s, which only a run knows", p.unknown)
			continue
		}
		f := foreign.Field{Name: m.Name, Value: foreign.Text(m.Value)}
		if a.name == "cookies" {
			f = foreign.Field{Name: "Cookie", Value: url.QueryEscape(m.Name) + "=" + f.Value}
		}
		if !f.Valid() {
			r.load.Leave(q.Line, fmt.Sprintf("%s %.40q", strings.TrimSuffix(a.name, "s"), m.Name), "it is no valid header field")
			continue
		}
		q.Header = append(q.Header, f)
	}
}
