package k6

import (
	"slices"
	"strings"
	"time"

	"dyno/lab/importer/foreign"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/token"
)

// flow is what a script says of the order of its requests: which names hold which answers, the
// pauses, and what is done in setup.
type flow struct {
	outer   ast.Node                    // the function that all requests lie in, but for those of setup; nil: there are several
	sent    map[*ast.CallExpression]int // index of the request that a call makes
	latest  map[string]int              // the request whose answer a name holds
	origin  map[*ast.CallExpression]int // whose answer a call such as res.json() reads
	pause   time.Duration               // before the next request
	later   []*ast.CallExpression       // checks whose argument makes the request
	data    string                      // the parameter of the default function that has what setup returns
	returns ast.Expression              // what setup returns
}

// follow finds the function that makes the requests.
func (r *reader) follow() {
	r.flow = flow{sent: map[*ast.CallExpression]int{}, latest: map[string]int{}, origin: map[*ast.CallExpression]int{}}
	outer, several := ast.Node(nil), false
	for _, c := range r.calls {
		if !r.sends(c.call) || onlyOnce(c.within) != "" {
			continue
		}
		in := outermost(c.within)
		several = several || outer != nil && outer != in
		outer = in
	}
	f, _ := outer.(*ast.FunctionLiteral)
	if several || f == nil {
		return
	}
	r.outer = outer
	if list := f.ParameterList; list != nil && len(list.List) == 1 {
		if name, ok := list.List[0].Target.(*ast.Identifier); ok {
			r.data = name.Name.String()
		}
	}
	var within []ast.Node
	walk(r.program, func(n ast.Node) bool {
		if back, ok := n.(*ast.ReturnStatement); ok && onlyOnce(within) == "setup" && functions(within) == 1 {
			r.returns = back.Argument
		}
		within = append(within, n)
		return true
	}, func() { within = within[:len(within)-1] })
}

// outermost is the outermost function among nodes; nil: none.
func outermost(within []ast.Node) ast.Node {
	for _, n := range within {
		if f, ok := n.(*ast.FunctionLiteral); ok {
			return f
		}
	}
	return nil
}

func functions(within []ast.Node) (n int) {
	for _, w := range within {
		if _, ok := w.(*ast.FunctionLiteral); ok {
			n++
		}
	}
	return n
}

// sends reports whether a call is one of k6/http that makes a request.
func (r *reader) sends(c *ast.CallExpression) bool {
	dot, ok := c.Callee.(*ast.DotExpression)
	if !ok {
		return false
	}
	owner, ok := dot.Left.(*ast.Identifier)
	_, verb := verbs[dot.Identifier.Name.String()]
	return ok && r.modules[owner.Name.String()] == "k6/http" && (verb || dot.Identifier.Name == "batch")
}

// made notes that a call made the requests from an index on, for the reason once only once.
func (r *reader) made(p placed, from int, once string) {
	for i := from; i < len(r.load.Requests); i++ {
		r.load.Requests[i].Flow.Once = once
	}
	r.load.Requests[from].Flow.Think, r.pause = r.pause, 0
	if r.outer == nil || from != len(r.load.Requests)-1 {
		return // a batch has several answers
	}
	r.sent[p.call] = from
	if name := holder(p); name != "" {
		r.latest[name] = from
	}
}

// firstCall returns the call that is a call's first argument, as in check(http.get(...), ...).
func firstCall(c *ast.CallExpression) (*ast.CallExpression, bool) {
	if len(c.ArgumentList) == 0 {
		return nil, false
	}
	inner, ok := c.ArgumentList[0].(*ast.CallExpression)
	return inner, ok
}

// holder is the name that a call's answer is bound or assigned to; empty: none.
func holder(p placed) string {
	if len(p.within) == 0 {
		return ""
	}
	var to ast.Node
	switch n := p.within[len(p.within)-1].(type) {
	case *ast.Binding:
		to = n.Target
	case *ast.AssignExpression:
		to = n.Left
	}
	name, ok := to.(*ast.Identifier)
	if !ok {
		return ""
	}
	return name.Name.String()
}

// rest adds the pause of sleep(seconds).
func (r *reader) rest(c *ast.CallExpression) bool {
	if len(c.ArgumentList) != 1 || r.outer == nil {
		return false
	}
	v, _ := r.value(c.ArgumentList[0])
	seconds, ok := v.(float64)
	if ok = ok && seconds >= 0 && seconds < 3600; ok {
		r.pause += time.Duration(seconds * float64(time.Second))
	}
	return ok
}

// answer returns the request whose answer an expression is.
func (r *reader) answer(e ast.Expression) (int, bool) {
	switch e := e.(type) {
	case *ast.Identifier:
		at, ok := r.latest[e.Name.String()]
		return at, ok
	case *ast.CallExpression:
		at, ok := r.sent[e]
		return at, ok
	}
	return 0, false
}

// remember notes whose answer a call such as res.json() reads: later its name may hold another.
func (r *reader) remember(c *ast.CallExpression) {
	if at, ok := r.reads(c); ok {
		r.origin[c] = at
	}
}

// reads returns the request whose answer res.json(), or JSON.parse(res.body), reads.
func (r *reader) reads(c *ast.CallExpression) (int, bool) {
	if at, ok := r.origin[c]; ok {
		return at, true
	}
	dot, ok := c.Callee.(*ast.DotExpression)
	if !ok {
		return 0, false
	}
	switch dot.Identifier.Name {
	case "json":
		return r.answer(dot.Left)
	case "parse":
		if len(c.ArgumentList) == 1 {
			if body, ok := c.ArgumentList[0].(*ast.DotExpression); ok && body.Identifier.Name == "body" {
				return r.answer(body.Left)
			}
		}
	}
	return 0, false
}

// saved returns the mark of an expression that is a value of an answer: res.json('token'),
// res.json().token, JSON.parse(res.body).token, res.headers.Location, res.cookies.csrf[0].value, or
// what setup returned of these.
func (r *reader) saved(e ast.Expression) (any, bool) {
	if r.outer == nil {
		return nil, false
	}
	var names []string // of fields, from the right
	for range 50 {
		switch x := e.(type) {
		case *ast.DotExpression:
			names = append(names, x.Identifier.Name.String())
			e = x.Left
			continue
		case *ast.BracketExpression:
			name, ok := r.text(x.Member)
			if !ok {
				return nil, false
			}
			names = append(names, name)
			e = x.Left
			continue
		case *ast.CallExpression:
			at, ok := r.reads(x)
			if !ok {
				return nil, false
			}
			if dot := x.Callee.(*ast.DotExpression); dot.Identifier.Name == "json" && len(x.ArgumentList) > 0 {
				path, ok := r.text(x.ArgumentList[0])
				if !ok || strings.ContainsAny(path, "#|@*?\\") {
					return nil, false
				}
				more := strings.Split(path, ".")
				slices.Reverse(more)
				names = append(names, more...)
			}
			slices.Reverse(names)
			path, ok := foreign.Path(names)
			if !ok {
				return nil, false
			}
			return r.load.Keep(at, foreign.Save{JSON: path}, names[len(names)-1]), true
		case *ast.Identifier:
			name := x.Name.String()
			if at, ok := r.latest[name]; ok {
				slices.Reverse(names)
				return r.outside(at, names)
			}
			if member, ok := r.returned(name, names); ok {
				e, names = member, names[:len(names)-1]
				continue
			}
			if to := r.resolve(x); to != e {
				e = to
				continue
			}
		}
		return nil, false
	}
	return nil, false
}

// outside returns the mark of a header field or a cookie of an answer.
func (r *reader) outside(at int, names []string) (any, bool) {
	switch {
	case len(names) == 2 && names[0] == "headers" && (foreign.Field{Name: names[1]}).Valid():
		return r.load.Keep(at, foreign.Save{Header: names[1]}, names[1]), true
	case len(names) == 4 && names[0] == "cookies" && names[2] == "0" && names[3] == "value" && (foreign.Field{Name: names[1]}).Valid():
		return r.load.Keep(at, foreign.Save{Cookie: names[1]}, names[1]), true
	}
	return nil, false
}

// returned is the expression that setup returned as a field of data.
func (r *reader) returned(name string, names []string) (ast.Expression, bool) {
	if name == "" || name != r.data || r.returns == nil || len(names) == 0 {
		return nil, false
	}
	for _, p := range r.properties(r.returns) {
		if p.name == names[len(names)-1] {
			return p.value, true
		}
	}
	return nil, false
}

// check reads the functions of check(res, {name: (r) => r.status === 200}). False: there is one
// that is not known.
func (r *reader) check(c *ast.CallExpression) bool {
	if len(c.ArgumentList) < 2 {
		return false
	}
	at, ok := r.answer(c.ArgumentList[0])
	if !ok {
		return false
	}
	all := true
	for _, p := range r.properties(c.ArgumentList[1]) {
		f, ok := p.value.(*ast.ArrowFunctionLiteral)
		if ok && len(f.ParameterList.List) == 1 {
			name, named := f.ParameterList.List[0].Target.(*ast.Identifier)
			body, plain := f.Body.(*ast.ExpressionBody)
			if ok = named && plain; ok {
				ok = r.test(&r.load.Requests[at].Flow.Check, name.Name.String(), body.Expression)
			}
		} else {
			ok = false
		}
		all = all && ok
	}
	return all
}

// test reads a predicate on an answer.
func (r *reader) test(into *foreign.Check, answer string, e ast.Expression) bool {
	b, ok := e.(*ast.BinaryExpression)
	if !ok {
		path, ok := r.path(answer, e)
		if ok {
			into.JSON = append(into.JSON, foreign.JSONTest{Path: path})
		}
		return ok
	}
	value, known := r.value(b.Right)
	path, field := r.path(answer, b.Left)
	status := member(answer, b.Left) == "status"
	number, isNumber := value.(float64)
	switch {
	case b.Operator == token.LOGICAL_AND:
		left := r.test(into, answer, b.Left)
		return r.test(into, answer, b.Right) && left
	case !known:
		return false
	case status && isNumber && (b.Operator == token.STRICT_EQUAL || b.Operator == token.EQUAL):
		if code := int(number); code >= 100 && code <= 599 && !slices.Contains(into.Status, code) {
			into.Status = append(into.Status, code)
		}
		return number >= 100 && number <= 599
	case status && isNumber && b.Operator == token.LESS && number == 400:
		return true // as without a check
	case field && (b.Operator == token.STRICT_NOT_EQUAL || b.Operator == token.NOT_EQUAL) && (value == nil || value == ""):
		into.JSON = append(into.JSON, foreign.JSONTest{Path: path})
		return true
	case field && (b.Operator == token.STRICT_EQUAL || b.Operator == token.EQUAL):
		switch value.(type) {
		case string, float64, bool:
			into.JSON = append(into.JSON, foreign.JSONTest{Path: path, Equals: value})
			return true
		}
	}
	return false
}

// member returns the name of a field of the answer itself; empty: the expression is another.
func member(answer string, e ast.Expression) string {
	if dot, ok := e.(*ast.DotExpression); ok {
		if name, ok := dot.Left.(*ast.Identifier); ok && name.Name.String() == answer {
			return dot.Identifier.Name.String()
		}
	}
	return ""
}

// path returns the path of answer.json('a.b').c.
func (r *reader) path(answer string, e ast.Expression) (string, bool) {
	var names []string
	for range 50 {
		switch x := e.(type) {
		case *ast.DotExpression:
			names = append(names, x.Identifier.Name.String())
			e = x.Left
			continue
		case *ast.CallExpression:
			if member(answer, x.Callee) != "json" {
				return "", false
			}
			if len(x.ArgumentList) > 0 {
				path, ok := r.text(x.ArgumentList[0])
				if !ok || strings.ContainsAny(path, "#|@*?\\") {
					return "", false
				}
				more := strings.Split(path, ".")
				slices.Reverse(more)
				names = append(names, more...)
			}
			slices.Reverse(names)
			return foreign.Path(names)
		}
		break
	}
	return "", false
}
