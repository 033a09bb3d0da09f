package k6

import (
	"strconv"
	"strings"

	"dyno/lab/importer/foreign"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/token"
)

// text evaluates an expression that must be a text, a number or a truth value.
func (r *reader) text(e ast.Expression) (string, bool) {
	v, ok := r.value(e)
	switch v.(type) {
	case string, float64, bool:
		return foreign.Text(v), ok
	}
	return "", false
}

// value evaluates an expression of literals and constants.
func (r *reader) value(e ast.Expression) (any, bool) {
	switch e.(type) {
	case *ast.DotExpression, *ast.BracketExpression, *ast.CallExpression:
		if mark, ok := r.saved(e); ok {
			return mark, true
		}
	}
	switch e := e.(type) {
	case *ast.StringLiteral:
		return e.Value.String(), true
	case *ast.NullLiteral:
		return nil, true
	case *ast.BooleanLiteral:
		return e.Value, true
	case *ast.NumberLiteral:
		switch n := e.Value.(type) {
		case int64:
			return float64(n), true
		case float64:
			return n, true
		}
	case *ast.UnaryExpression:
		if n, ok := r.value(e.Operand); ok && e.Operator == token.MINUS {
			if f, ok := n.(float64); ok {
				return -f, true
			}
		}
	case *ast.Identifier:
		if e.Name == "undefined" {
			return nil, true
		}
		return r.constant(e.Name.String())
	case *ast.TemplateLiteral:
		return r.template(e)
	case *ast.BinaryExpression:
		return r.binary(e)
	case *ast.DotExpression:
		return r.field(e.Left, e.Identifier.Name.String())
	case *ast.BracketExpression:
		if name, ok := r.text(e.Member); ok {
			return r.field(e.Left, name)
		}
	case *ast.ArrayLiteral:
		out := []any{}
		for _, x := range e.Value {
			v, ok := r.value(x)
			if x == nil || !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return bounded(out)
	case *ast.ObjectLiteral:
		return r.literal(e)
	case *ast.CallExpression:
		return r.function(e)
	}
	return nil, false
}

// constant is the value of a name that the script binds once, to an expression that can be
// evaluated.
func (r *reader) constant(name string) (any, bool) {
	if v, done := r.values[name]; done {
		_, unknown := v.(unknown)
		return v, !unknown
	}
	r.values[name] = unknown{} // also while its own expression is evaluated
	if bound := r.bound[name]; len(bound) == 1 && bound[0] != nil {
		if v, ok := r.value(bound[0]); ok {
			r.values[name] = v
			return v, true
		}
	}
	return nil, false
}

// unknown is the value of a name that only a run knows.
type unknown struct{}

// resolve follows names to the expression that they are bound to.
func (r *reader) resolve(e ast.Expression) ast.Expression {
	for range 10 { // names that are bound to names
		name, ok := e.(*ast.Identifier)
		if !ok {
			return e
		}
		bound := r.bound[name.Name.String()]
		if len(bound) != 1 || bound[0] == nil {
			return e
		}
		e = bound[0]
	}
	return e
}

func (r *reader) template(e *ast.TemplateLiteral) (any, bool) {
	if dot, ok := e.Tag.(*ast.DotExpression); e.Tag != nil && (!ok || dot.Identifier.Name != "url") { // http.url`...`
		return nil, false
	}
	var out strings.Builder
	for i, part := range e.Elements {
		out.WriteString(part.Parsed.String())
		if i < len(e.Expressions) {
			s, ok := r.text(e.Expressions[i])
			if !ok {
				return nil, false
			}
			out.WriteString(s)
		}
	}
	return bounded(out.String())
}

// bounded returns a value that is small enough for a request: constants of constants grow fast.
func bounded(v any) (any, bool) {
	if foreign.Size(v, foreign.MaxBody) >= foreign.MaxBody {
		return nil, false
	}
	return v, true
}

// binary evaluates a sum of texts, and a default such as __ENV.BASE || 'http://...'.
func (r *reader) binary(e *ast.BinaryExpression) (any, bool) {
	left, known := r.value(e.Left)
	switch e.Operator {
	case token.LOGICAL_OR, token.COALESCE:
		if known && left != nil && left != "" && left != false {
			return left, true
		}
		if !known && !environment(e.Left) {
			return nil, false
		}
		return r.value(e.Right)
	case token.PLUS:
		right, ok := r.value(e.Right)
		if !known || !ok {
			return nil, false
		}
		a, both := left.(float64)
		if b, numbers := right.(float64); both && numbers {
			return a + b, true
		}
		return bounded(foreign.Text(left) + foreign.Text(right))
	}
	return nil, false
}

// environment reports whether an expression is a variable of the environment.
func environment(e ast.Expression) bool {
	var owner ast.Expression
	switch e := e.(type) {
	case *ast.DotExpression:
		owner = e.Left
	case *ast.BracketExpression:
		owner = e.Left
	}
	name, ok := owner.(*ast.Identifier)
	return ok && name.Name == "__ENV"
}

func (r *reader) field(owner ast.Expression, name string) (any, bool) {
	v, ok := r.value(owner)
	if !ok {
		return nil, false
	}
	switch v := v.(type) {
	case foreign.Object:
		for _, m := range v {
			if m.Name == name {
				return m.Value, true
			}
		}
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

func (r *reader) literal(e *ast.ObjectLiteral) (any, bool) {
	out := foreign.Object{}
	for _, p := range r.properties(e) {
		v, ok := r.value(p.value)
		if p.name == "" || !ok {
			return nil, false
		}
		out = append(out, foreign.Member{Name: p.name, Value: v})
	}
	return bounded(out)
}

// function evaluates the functions that are as good as literals.
func (r *reader) function(e *ast.CallExpression) (any, bool) {
	if dot, ok := e.Callee.(*ast.DotExpression); ok && len(e.ArgumentList) > 0 && dot.Identifier.Name == "stringify" {
		v, ok := r.value(e.ArgumentList[0])
		if !ok {
			return nil, false
		}
		return foreign.JSON(v), true
	}
	if name, ok := e.Callee.(*ast.Identifier); ok && name.Name == "String" && len(e.ArgumentList) == 1 {
		return r.text(e.ArgumentList[0])
	}
	return nil, false
}

// property is a field of an object whose value may not be known.
type property struct {
	name  string // empty: a field whose name only a run knows, or all fields of another object
	value ast.Expression
}

// properties lists the fields of an object. What is no literal object is one field without a
// name, and null has none.
func (r *reader) properties(e ast.Expression) (out []property) {
	if r.spread++; r.spread > 10_000 { // objects that spread themselves into themselves
		return []property{{"", e}}
	}
	switch o := r.resolve(e).(type) {
	case *ast.NullLiteral:
		return nil
	case *ast.ObjectLiteral:
		for _, p := range o.Value {
			switch p := p.(type) {
			case *ast.PropertyKeyed:
				name, ok := r.text(p.Key)
				if !ok || p.Kind != ast.PropertyKindValue {
					name = ""
				}
				out = append(out, property{name, p.Value})
			case *ast.PropertyShort:
				name := p.Name
				out = append(out, property{name.Name.String(), &name})
			case *ast.SpreadElement:
				out = append(out, r.properties(p.Expression)...)
			default:
				out = append(out, property{"", e})
			}
		}
		return out
	}
	return []property{{"", e}}
}
