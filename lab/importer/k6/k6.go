// Package k6 reads what can be read in a k6 script without running it: calls of k6/http whose
// arguments are literals, templates of literals or constants, and the thresholds of its options.
// What only a run would know is left out, with its line.
//
// It is not for running scripts. It starts no goroutines.
package k6

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"dyno/lab/importer/foreign"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"
)

// maxScript bounds a script, in bytes.
const maxScript = 4 << 20

// Read reads a script.
func Read(text []byte) (load *foreign.Load, err error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("it has more than %d MiB; a bundled script cannot be read, its source can", maxScript>>20)
	}
	if depth(text) > maxNesting {
		return nil, errors.New("it is nested too deeply to be a script")
	}
	defer func() { // the parser has panicked on texts that are no scripts
		if p := recover(); p != nil {
			load, err = nil, fmt.Errorf("the parser of JavaScript gave up: %.100v", p)
		}
	}()
	program, err := parser.ParseFile(nil, "", string(text), 0, parser.IsModule, parser.WithDisableSourceMaps)
	if err != nil {
		var list parser.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			return nil, fmt.Errorf("line %d: %s; only JavaScript is read, so turn TypeScript into it first", list[0].Position.Line, list[0].Message)
		}
		return nil, err
	}
	r := &reader{load: &foreign.Load{}, program: program, values: map[string]any{}, modules: map[string]string{}}
	r.declare()
	r.follow()
	for _, c := range r.calls {
		r.remember(c.call)
		r.call(c)
	}
	for _, c := range r.later {
		if !r.check(c) {
			r.checks++
		}
	}
	r.load.Flows = len(r.load.Saved()) > 0
	r.options()
	r.remarks()
	if len(r.load.Requests)+len(r.load.Left) == 0 {
		return nil, errors.New("it has no call of k6/http")
	}
	return r.load, nil
}

// maxNesting bounds the brackets that are open at a time: the parser is recursive.
const maxNesting = 200

// depth returns the largest number of brackets that may be open at a time.
func depth(text []byte) (most int) {
	open := 0
	for _, b := range text {
		switch b {
		case '(', '[', '{':
			open++
			most = max(most, open)
		case ')', ']', '}':
			open = max(0, open-1)
		}
	}
	return most
}

// reader reads a script.
type reader struct {
	load    *foreign.Load
	program *ast.Program
	modules map[string]string // name in the script -> module, such as k6/http
	bound   map[string][]ast.Expression
	values  map[string]any // constants that were evaluated; unknown if it has no value
	calls   []placed
	spread  int // objects that were looked into
	checks  int // calls of check and sleep that are not read
	sleeps  int
	nested  []int // lines of requests inside a loop or a condition
	flow
}

// placed is a call and where it stands.
type placed struct {
	call   *ast.CallExpression
	within []ast.Node
}

func (r *reader) line(n ast.Node) int { return r.program.File.Position(int(n.Idx0()) - 1).Line }

// verbs are the functions of k6/http that send a request.
var verbs = map[string]string{
	"get": http.MethodGet, "head": http.MethodHead, "post": http.MethodPost, "put": http.MethodPut, "patch": http.MethodPatch,
	"del": http.MethodDelete, "options": http.MethodOptions, "request": "", "asyncRequest": "",
}

// call reads a call if it is one of k6's.
func (r *reader) call(p placed) {
	if name, ok := p.call.Callee.(*ast.Identifier); ok && r.modules[string(name.Name)] == "k6" {
		switch name.Name {
		case "check":
			if _, is := firstCall(p.call); is {
				r.later = append(r.later, p.call)
			} else if !r.check(p.call) {
				r.checks++
			}
		case "sleep":
			if onlyOnce(p.within) == "" && !r.rest(p.call) {
				r.sleeps++
			}
		}
		return
	}
	dot, ok := p.call.Callee.(*ast.DotExpression)
	if !ok {
		return
	}
	owner, ok := dot.Left.(*ast.Identifier)
	if !ok || r.modules[string(owner.Name)] != "k6/http" {
		return
	}
	name, line := string(dot.Identifier.Name), r.line(p.call)
	once := onlyOnce(p.within)
	if once != "" {
		once = fmt.Sprintf("it is in %s, which runs once; write it into the scenario's setup", once)
	}
	if once != "" && !(r.outer != nil && r.returns != nil && onlyOnce(p.within) == "setup") {
		r.load.Leave(line, "http."+name, "%s", once)
		return
	}
	if name := holder(p); name != "" {
		delete(r.latest, name) // unless this request is read
	}
	before := len(r.load.Requests)
	method, sends := verbs[name]
	args := p.call.ArgumentList
	switch {
	case name == "batch":
		r.batch(line, args)
	case !sends:
		return // http.cookieJar, http.expectedStatuses
	case method == "":
		known := false
		if len(args) > 0 {
			method, known = r.text(args[0])
			args = args[1:]
		}
		if !known {
			r.load.Leave(line, "http."+name, "its method is not a literal")
			return
		}
		r.request(line, strings.ToUpper(method), args)
	case method == http.MethodGet || method == http.MethodHead: // they have no body
		if len(args) > 1 {
			args = slices.Insert(slices.Clone(args), 1, ast.Expression(&ast.NullLiteral{}))
		}
		r.request(line, method, args)
	default:
		r.request(line, method, args)
	}
	if len(r.load.Requests) == before {
		return
	}
	r.made(p, before, once)
	if conditional(p.within) {
		r.nested = append(r.nested, line)
	}
}

// request adds the request of the arguments url, body and params.
func (r *reader) request(line int, method string, args []ast.Expression) {
	if len(args) == 0 {
		r.load.Leave(line, method, "it has no URL")
		return
	}
	address, ok := r.text(args[0])
	if !ok {
		r.load.Leave(line, method+" of a URL", "the URL depends on %s, which only a run knows", r.why(args[0]))
		return
	}
	q := foreign.Request{Line: line, Method: method, URL: address}
	var body any
	if len(args) > 1 {
		var known bool
		if body, known = r.value(args[1]); !known {
			r.load.Leave(line, method+" "+foreign.Address(address), "its body depends on %s, which only a run knows", r.why(args[1]))
			return
		}
	}
	if len(args) > 2 {
		r.params(&q, args[2])
	}
	switch body.(type) {
	case nil:
	case foreign.Object: // k6 sends it as a form
		q.Body = foreign.Form(body)
		q.Default("Content-Type", "application/x-www-form-urlencoded")
	default:
		q.Body = foreign.Text(body)
	}
	r.load.Add(q)
}

// params reads the object of headers, cookies and tags. Its fields are read one by one, so that
// one that only a run knows does not cost the others.
func (r *reader) params(q *foreign.Request, e ast.Expression) {
	for _, p := range r.properties(e) {
		switch p.name {
		case "headers":
			for _, h := range r.properties(p.value) {
				value, ok := r.text(h.value)
				f := foreign.Field{Name: h.name, Value: value}
				if !ok || !f.Valid() {
					r.load.Leave(q.Line, "header "+h.name, "its value depends on %s, which only a run knows", r.why(h.value))
					continue
				}
				q.Header = append(q.Header, f)
			}
		case "cookies":
			for _, c := range r.properties(p.value) {
				value, ok := r.text(c.value)
				if f := (foreign.Field{Name: "Cookie", Value: c.name + "=" + value}); ok && f.Valid() {
					q.Header = append(q.Header, f)
				} else {
					r.load.Leave(q.Line, "cookie "+c.name, "only a run knows its value")
				}
			}
		case "tags":
			for _, t := range r.properties(p.value) {
				if name, ok := r.text(t.value); ok && t.name == "name" {
					q.Name = name
				}
			}
		case "auth":
			r.load.Leave(q.Line, "auth", "requests are not signed")
		case "":
			r.load.Leave(q.Line, "parameters of the request", "they depend on %s, which only a run knows", r.why(e))
		}
	}
}

// batch reads http.batch: an array, or an object, of URLs, of [method, url, body, params], or of
// objects.
func (r *reader) batch(line int, args []ast.Expression) {
	var members []ast.Expression
	if len(args) == 1 {
		switch list := r.resolve(args[0]).(type) {
		case *ast.ArrayLiteral:
			members = list.Value
		case *ast.ObjectLiteral:
			for _, p := range r.properties(list) {
				members = append(members, p.value)
			}
		}
	}
	if len(members) == 0 {
		r.load.Leave(line, "http.batch", "its requests are not literals")
	}
	for _, m := range members {
		if m == nil {
			continue
		}
		at := r.line(m)
		switch e := r.resolve(m).(type) {
		case *ast.ArrayLiteral:
			if method, ok := "", false; len(e.Value) >= 2 {
				if method, ok = r.text(e.Value[0]); ok {
					r.request(at, strings.ToUpper(method), e.Value[1:])
					continue
				}
			}
			r.load.Leave(at, "a request of http.batch", "its method is not a literal")
		case *ast.ObjectLiteral:
			r.batchObject(at, e)
		default:
			r.request(at, http.MethodGet, []ast.Expression{m})
		}
	}
}

func (r *reader) batchObject(line int, e *ast.ObjectLiteral) {
	method := http.MethodGet
	args := []ast.Expression{nil, &ast.NullLiteral{}, &ast.NullLiteral{}}
	for _, p := range r.properties(e) {
		switch p.name {
		case "method":
			method, _ = r.text(p.value)
		case "url":
			args[0] = p.value
		case "body":
			args[1] = p.value
		case "params":
			args[2] = p.value
		}
	}
	if args[0] == nil || method == "" {
		r.load.Leave(line, "a request of http.batch", "its method or URL is not a literal")
		return
	}
	r.request(line, strings.ToUpper(method), args)
}

// remarks notes what the script has besides requests.
func (r *reader) remarks() {
	if r.checks > 0 {
		r.load.Leave(0, fmt.Sprintf("check (calls: %d)", r.checks), "write what an answer must have as load.check")
	}
	if r.sleeps > 0 {
		r.load.Leave(0, fmt.Sprintf("sleep (calls: %d)", r.sleeps), "requests are sent at a rate, which does not depend on pauses")
	}
	if len(r.nested) > 0 {
		r.load.Note("requests inside a loop or a condition weigh as much as others, and are in a flow once: see lines %s", strings.Trim(fmt.Sprint(r.nested), "[]"))
	}
	if r.load.Flows && r.pause > 0 {
		r.load.Leave(0, fmt.Sprintf("sleep of %v after the last request", r.pause), "a flow ends with its last answer")
	}
}
