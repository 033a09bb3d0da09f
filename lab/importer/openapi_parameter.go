package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// operationParts are the parts of a request to which an operation's parameters are written.
type operationParts struct {
	path           string
	query, cookies []string
	header         []Field
	made           []string // names of parameters without an example
}

// operationParameters are the parameters of an operation and of its path; the operation's override
// the path's.
func operationParameters(item *openapi3.PathItem, op *openapi3.Operation) (out []*openapi3.Parameter) {
	for _, ref := range slices.Concat(op.Parameters, item.Parameters) {
		if ref == nil || ref.Value == nil {
			continue
		}
		p := ref.Value
		if !slices.ContainsFunc(out, func(o *openapi3.Parameter) bool { return o.Name == p.Name && o.In == p.In }) {
			out = append(out, p)
		}
	}
	return out
}

// describedFields are header fields that other parts of a document describe (OpenAPI 3.1, 4.8.12).
var describedFields = []string{"accept", "content-type", "authorization"}

// add adds a parameter, unless it is optional and the document has no value for it.
func (q *operationParts) add(p *openapi3.Parameter) error {
	if p.In == openapi3.ParameterInHeader && slices.Contains(describedFields, strings.ToLower(p.Name)) {
		return nil
	}
	v, made, err := parameterValue(p)
	if (made || err != nil) && p.In != openapi3.ParameterInPath && !p.Required {
		return nil
	}
	if err = cmp.Or(err, asWritten(v)); err != nil {
		return err
	}
	if made {
		q.made = append(q.made, p.Name)
	}
	if len(p.Content) > 0 {
		if v, err = inContent(p.Content, v); err != nil {
			return err
		}
	}
	w := writtenParameter{escape: escapeStrict}
	switch p.In {
	case openapi3.ParameterInPath:
		w.style, w.explode = statedStyle(p.Style, "simple", p.Explode)
		value, err := w.path(p.Name, v)
		if err == nil && value == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			return err
		}
		q.path = strings.ReplaceAll(q.path, "{"+p.Name+"}", value)
	case openapi3.ParameterInQuery:
		if w.style, w.explode = statedStyle(p.Style, "form", p.Explode); p.AllowReserved {
			w.escape = escapeReserved
		}
		pairs, err := w.pairs(p.Name, v)
		if err != nil {
			return err
		}
		q.query = append(q.query, pairs...)
	case openapi3.ParameterInCookie:
		w.style, w.explode = statedStyle(p.Style, "form", p.Explode)
		if w.escape = cookieValue; w.style != "form" {
			return fmt.Errorf("the style %s is not made in a cookie", w.style)
		}
		pairs, err := w.pairs(p.Name, v)
		if err != nil {
			return err
		}
		if len(pairs) > 0 {
			q.cookies = append(q.cookies, strings.Join(pairs, "&"))
		}
	case openapi3.ParameterInHeader:
		w.style, w.explode = statedStyle(p.Style, "simple", p.Explode)
		w.escape = func(s string) string { return s }
		if w.style != "simple" {
			return fmt.Errorf("the style %s is not made in a header field", w.style)
		}
		value, err := w.path(p.Name, v)
		if err != nil {
			return err
		}
		f := Field{Name: p.Name, Value: value}
		if !f.Valid() {
			return errors.New("it is no header field that a request can have")
		}
		q.header = append(q.header, f)
	}
	return nil
}

// parameterValue returns a parameter's value, and whether it is made up.
func parameterValue(p *openapi3.Parameter) (v any, made bool, err error) {
	if v, ok := example(p.Example, p.Examples); ok {
		return v, false, nil
	}
	schema := p.Schema
	for _, m := range p.Content { // there is one
		if m == nil {
			continue
		}
		if v, ok := example(m.Example, m.Examples); ok {
			return v, false, nil
		}
		schema = m.Schema
	}
	if schema == nil {
		return "1", true, nil
	}
	m := newSampler()
	v, err = m.value(schema, "", 0)
	return v, len(m.made) > 0, err
}
