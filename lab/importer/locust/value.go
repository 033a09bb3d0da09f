package locust

import (
	"strconv"
	"strings"

	"dyno/lab/importer/foreign"
)

// result is what an expression is worth: a value, or the name of what only a run knows.
type result struct {
	value   any
	unknown string // empty: value is known
}

// names are the constants of a file; a name that is assigned twice is not in it.
type names map[string]result

// parser reads expressions of literals and constants.
type parser struct {
	tokens []token
	at     int
	names  names
	deep   int
	// answers are the names that hold answers; keep saves a value of one, and returns its mark.
	answers map[string]access
	keep    func(access) (string, bool)
	raw     bool // an expression that is an answer, or an object of one, stays an access
}

const maxDeep = 100

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{kind: other}
}

func (p *parser) take() token {
	t := p.peek()
	p.at++
	return t
}

func (p *parser) skip(op string) bool {
	if p.peek().is(op) {
		p.at++
		return true
	}
	return false
}

// expression reads an expression up to a comma, a closing bracket, a colon or an equals sign that
// belongs to what surrounds it.
func (p *parser) expression() result {
	r := p.single()
	for p.at < len(p.tokens) && !p.ends() {
		if r.unknown == "" && p.skip("+") {
			right := p.single()
			a, left := r.value.(string)
			b, both := right.value.(string)
			switch {
			case right.unknown != "":
				r = right
			case left && both && len(a)+len(b) < foreign.MaxBody:
				r.value = a + b
			default:
				r.unknown = "a sum"
			}
			continue
		}
		if r.unknown == "" {
			r.unknown = "an expression"
		}
		p.pass()
	}
	return r
}

func (p *parser) ends() bool {
	t := p.peek()
	return t.kind == other && strings.Contains(",)]}:=", t.text)
}

// pass skips a token, or all of a bracket.
func (p *parser) pass() {
	t := p.take()
	if !t.is("(") && !t.is("[") && !t.is("{") {
		return
	}
	for open := 1; open > 0 && p.at < len(p.tokens); {
		switch t := p.take(); {
		case t.is("("), t.is("["), t.is("{"):
			open++
		case t.is(")"), t.is("]"), t.is("}"):
			open--
		}
	}
}

func (p *parser) single() result {
	if p.deep++; p.deep > maxDeep {
		p.at = len(p.tokens)
		return result{unknown: "an expression"}
	}
	defer func() { p.deep-- }()
	t := p.take()
	switch {
	case t.kind == text:
		return p.text(t)
	case t.kind == number:
		if f, err := strconv.ParseFloat(t.text, 64); err == nil && f-f == 0 { // no infinity
			return result{value: f}
		}
	case t.is("-") && p.peek().kind == number:
		r := p.single()
		if f, ok := r.value.(float64); ok {
			r.value = -f
		}
		return r
	case t.is("["):
		return p.list("]")
	case t.is("("):
		return p.list(")")
	case t.is("{"):
		return p.dict()
	case t.kind == name:
		return p.name(t)
	}
	return result{unknown: "an expression"}
}

// name reads a constant; a name that is followed by a dot or a bracket is no constant.
func (p *parser) name(t token) result {
	switch t.text {
	case "True":
		return result{value: true}
	case "False":
		return result{value: false}
	case "None":
		return result{}
	}
	if t.text == "self" && p.peek().is(".") && p.at+1 < len(p.tokens) && p.tokens[p.at+1].kind == name {
		p.at++
		t = p.take()
	}
	if a, ok := p.answers[t.text]; ok {
		return p.access(t, a)
	}
	if p.peek().is(".") || p.peek().is("(") || p.peek().is("[") {
		return result{unknown: t.text}
	}
	if r, ok := p.names[t.text]; ok {
		return r
	}
	return result{unknown: t.text}
}

// text joins neighbouring texts, and fills constants into formatted ones.
func (p *parser) text(t token) result {
	var out strings.Builder
	for {
		if r := p.formatted(t); r.unknown != "" {
			for p.peek().kind == text {
				p.at++
			}
			return r
		} else if s, ok := r.value.(string); ok {
			out.WriteString(s)
		}
		if p.peek().kind != text {
			return result{value: out.String()}
		}
		t = p.take()
	}
}

func (p *parser) formatted(t token) result {
	if !t.form {
		return result{value: t.text}
	}
	var out strings.Builder
	for s := t.text; s != ""; {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			out.WriteString(s)
			break
		}
		out.WriteString(s[:i])
		if strings.HasPrefix(s[i:], "{{") || strings.HasPrefix(s[i:], "}}") {
			out.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		inner, rest, ok := strings.Cut(s[i+1:], "}")
		known, found := p.names[strings.TrimPrefix(inner, "self.")]
		if ok && !found {
			known = p.inner(inner)
			found = known.unknown == ""
		}
		if !ok || !found || known.unknown != "" || out.Len() > foreign.MaxBody {
			return result{unknown: clip(inner)}
		}
		out.WriteString(foreign.Text(known.value))
		s = rest
	}
	return result{value: out.String()}
}

// clip makes a part of a file a word of a message: only a name, since a text may be a secret.
func clip(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !(r == '_' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
	if end >= 0 {
		s = s[:end]
	}
	if s == "" || len(s) > 60 {
		return "an expression"
	}
	return s
}

// list reads the members up to a closing bracket; one in round brackets is that one.
func (p *parser) list(end string) result {
	out, unknown, comma := []any{}, "", false
	for p.at < len(p.tokens) && !p.skip(end) {
		r := p.expression()
		out = append(out, r.value)
		if unknown == "" {
			unknown = r.unknown
		}
		if p.skip(",") {
			comma = true
		} else if !p.peek().is(end) {
			p.at++ // what an expression does not have
			unknown = "an expression"
		}
	}
	if end == ")" && len(out) == 1 && !comma {
		return result{out[0], unknown}
	}
	return result{out, unknown}
}

// dict reads an object. Its fields are in order.
func (p *parser) dict() result {
	out, unknown := foreign.Object{}, ""
	for p.at < len(p.tokens) && !p.skip("}") {
		key := p.expression()
		field, plain := key.value.(string)
		if !p.skip(":") || !plain || key.unknown != "" {
			unknown = "an expression"
			if !p.skip(",") && !p.peek().is("}") {
				p.pass()
			}
			continue
		}
		r := p.expression()
		if r.unknown != "" {
			unknown = r.unknown
			r.value = partly{r.unknown}
		}
		out = append(out, foreign.Member{Name: field, Value: r.value})
		p.skip(",")
	}
	if unknown == "" && foreign.Size(out, foreign.MaxBody) >= foreign.MaxBody {
		unknown = "a large object"
	}
	return result{out, unknown}
}

// partly stands for the value of a field that only a run knows, in an object of which other fields
// are known.
type partly struct{ unknown string }
