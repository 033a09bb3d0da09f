// Package openapi reads the operations of an OpenAPI 3 document: one request for each, with the
// document's examples, and values made up by schema where it has none.
//
// It is not for other files that a document refers to. It starts no goroutines.
package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"dyno/lab/importer/foreign"

	"github.com/getkin/kin-openapi/openapi3"
)

// Read reads a document, in JSON or YAML.
func Read(text []byte) (load *foreign.Load, err error) {
	if bytes.Contains(text[:min(len(text), 4096)], []byte("swagger")) && !bytes.Contains(text, []byte("openapi")) {
		return nil, errors.New("it is of version 2 (Swagger); convert it to OpenAPI 3 first, for example on editor.swagger.io")
	}
	defer func() { // the library has panicked on documents that no schema permits
		if p := recover(); p != nil {
			load, err = nil, fmt.Errorf("the document cannot be resolved: %v", p)
		}
	}()
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("the document cannot be resolved: %w", err)
	}
	if doc.Paths.Len() == 0 {
		return nil, errors.New("it has no paths")
	}
	r := &reader{doc: doc, load: &foreign.Load{}}
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		r.load.Note("the document is not valid: %.200s", first)
	}
	for _, path := range doc.Paths.Keys() {
		item := doc.Paths.Value(path)
		if item == nil {
			continue
		}
		operations := item.Operations()
		for _, method := range methods(operations) {
			r.operation(path, method, item, operations[method])
		}
	}
	r.remarks()
	return r.load, nil
}

// methods lists the methods of a path in a fixed order.
func methods(operations map[string]*openapi3.Operation) (out []string) {
	for m := range operations {
		out = append(out, m)
	}
	slices.Sort(out)
	return out
}

type reader struct {
	doc      *openapi3.T
	load     *foreign.Load
	madeUp   []string // parameters without an example
	replaces []string // secrets that the user must write
}

// operation adds the request of an operation.
func (r *reader) operation(path, method string, item *openapi3.PathItem, op *openapi3.Operation) {
	what := method + " " + path
	switch {
	case op == nil:
		return
	case op.Deprecated:
		r.load.Leave(0, what, "it is deprecated")
		return
	}
	request := foreign.Request{Method: method, Name: op.OperationID}
	query := url.Values{}
	var cookies []string
	if wrong := r.body(&request, op); wrong != "" {
		r.load.Leave(0, what, "%s", wrong)
		return
	}
	for _, p := range parameters(item, op) {
		value, made := text(p)
		if p.In != openapi3.ParameterInPath && !p.Required && made {
			continue // optional, and the document says no value
		}
		if made {
			r.madeUp = append(r.madeUp, p.Name+" of "+what)
		}
		switch p.In {
		case openapi3.ParameterInPath:
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(value))
		case openapi3.ParameterInQuery:
			query.Add(p.Name, value)
		case openapi3.ParameterInCookie:
			cookies = append(cookies, p.Name+"="+value)
		case openapi3.ParameterInHeader:
			if f := (foreign.Field{Name: p.Name, Value: value}); f.Valid() {
				request.Header = append(request.Header, f)
			}
		}
	}
	if strings.ContainsAny(path, "{}") {
		r.load.Leave(0, what, "its path has a parameter that the document does not describe")
		return
	}
	cookies = r.security(&request, query, cookies, op)
	if len(cookies) > 0 {
		request.Header = append(request.Header, foreign.Field{Name: "Cookie", Value: strings.Join(cookies, "; ")})
	}
	request.URL = strings.TrimSuffix(r.server(item, op), "/") + path
	if len(query) > 0 {
		request.URL += "?" + query.Encode()
	}
	r.load.Add(request)
}

// parameters are those of an operation and of its path, each once.
func parameters(item *openapi3.PathItem, op *openapi3.Operation) (out []*openapi3.Parameter) {
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

// server is the URL before the path, with its variables' defaults; empty: the document names none.
func (r *reader) server(item *openapi3.PathItem, op *openapi3.Operation) string {
	servers := r.doc.Servers
	if len(item.Servers) > 0 {
		servers = item.Servers
	}
	if op.Servers != nil && len(*op.Servers) > 0 {
		servers = *op.Servers
	}
	if len(servers) == 0 || servers[0] == nil {
		return ""
	}
	address := servers[0].URL
	for name, v := range servers[0].Variables {
		if v != nil {
			address = strings.ReplaceAll(address, "{"+name+"}", v.Default)
		}
	}
	if !strings.Contains(address, "://") && !strings.HasPrefix(address, "/") {
		return ""
	}
	return address
}

// security adds what the first alternative of the operation's security needs, with a placeholder.
func (r *reader) security(request *foreign.Request, query url.Values, cookies []string, op *openapi3.Operation) []string {
	needs := r.doc.Security
	if op.Security != nil {
		needs = *op.Security
	}
	if len(needs) == 0 || r.doc.Components == nil {
		return cookies
	}
	for name := range needs[0] {
		ref := r.doc.Components.SecuritySchemes[name]
		if ref == nil || ref.Value == nil {
			continue
		}
		s := ref.Value
		f := foreign.Field{Name: "Authorization", Value: "Bearer " + foreign.Replace}
		switch {
		case s.Type == "http" && strings.EqualFold(s.Scheme, "basic"):
			f.Value = "Basic " + foreign.Replace
		case s.Type == "apiKey" && s.In == "query":
			query.Set(s.Name, foreign.Replace)
			f.Name = ""
		case s.Type == "apiKey" && s.In == "cookie":
			cookies = append(cookies, s.Name+"="+foreign.Replace)
			f.Name = ""
		case s.Type == "apiKey":
			f = foreign.Field{Name: s.Name, Value: foreign.Replace}
		}
		if f.Name != "" && f.Valid() {
			request.Header = append(request.Header, f)
		}
		if !slices.Contains(r.replaces, name) {
			r.replaces = append(r.replaces, name)
		}
	}
	return cookies
}

// remarks notes what the user should look at.
func (r *reader) remarks() {
	if len(r.replaces) > 0 {
		slices.Sort(r.replaces)
		r.load.Note("%s in place of the secrets of %s: write them, or take them from rows (feeder)", foreign.Replace, strings.Join(r.replaces, ", "))
	}
	const most = 8
	if n := len(r.madeUp); n > 0 {
		names, more := r.madeUp[:min(n, most)], ""
		if n > most {
			more = fmt.Sprintf(" and %d more", n-most)
		}
		r.load.Note("values made up, because the document has no example: %s%s", strings.Join(names, ", "), more)
	}
	if slices.ContainsFunc(r.load.Requests, func(q foreign.Request) bool { return q.Method == http.MethodDelete }) {
		r.load.Note("there are DELETE requests: drop them unless the service may lose what they name")
	}
}
