package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// readOpenAPI reads the operations of an OpenAPI 3 document, in JSON or YAML: one request for
// each, with the document's examples, and values made up from the schema where it has none. It
// reads no other file to which the document refers.
func readOpenAPI(text []byte) (load *Load, err error) {
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
	r := &openapiReader{doc: doc, load: &Load{}}
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
		for _, method := range methodsOf(operations) {
			r.operation(path, method, item, operations[method])
		}
	}
	r.remarks()
	return r.load, nil
}

// methodsOf lists the methods of a path in a fixed order.
func methodsOf(operations map[string]*openapi3.Operation) (out []string) {
	for m := range operations {
		out = append(out, m)
	}
	slices.Sort(out)
	return out
}

type openapiReader struct {
	doc      *openapi3.T
	load     *Load
	madeUp   []string // values without an example, by operation
	without  []string // optional values that are left out, by operation
	replaces []string // secrets that the user must write
}

func (r *openapiReader) operation(path, method string, item *openapi3.PathItem, op *openapi3.Operation) {
	what := method + " " + path
	switch {
	case op == nil:
		return
	case op.Deprecated:
		r.load.Leave(0, what, "it is deprecated")
		return
	}
	request := Request{Method: method, Name: op.OperationID, Exact: true}
	lacks, err := r.body(&request, op)
	if err != nil {
		r.load.Leave(0, what, "its body: %v", err)
		return
	}
	q := operationParts{path: path}
	for _, p := range operationParameters(item, op) {
		if err := q.add(p); err != nil {
			r.load.Leave(0, what, "parameter %s: %v", p.Name, err)
			return
		}
	}
	if strings.ContainsAny(q.path, "{}") {
		r.load.Leave(0, what, "its path has a parameter that the document does not describe")
		return
	}
	r.madeUp = withNote(r.madeUp, q.made, what)
	r.madeUp = withNote(r.madeUp, lacks.made, "the body of "+what)
	r.without = withNote(r.without, lacks.without, "the body of "+what)
	request.Header = append(request.Header, q.header...)
	r.security(&request, &q, op)
	if len(q.cookies) > 0 {
		request.Header = append(request.Header, Field{Name: "Cookie", Value: strings.Join(q.cookies, "; ")})
	}
	request.URL = strings.TrimSuffix(r.server(item, op), "/") + q.path
	if len(q.query) > 0 {
		request.URL += "?" + strings.Join(q.query, "&")
	}
	r.load.Add(request)
}

func withNote(notes, names []string, of string) []string {
	const most = 5
	if len(names) == 0 {
		return notes
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return append(notes, text+" of "+of)
}

// server is the URL before the path, with its variables' defaults; empty: the document names none.
func (r *openapiReader) server(item *openapi3.PathItem, op *openapi3.Operation) string {
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

// security adds the credentials that the first alternative of the operation's security needs, as
// replaceMe.
func (r *openapiReader) security(request *Request, q *operationParts, op *openapi3.Operation) {
	needs := r.doc.Security
	if op.Security != nil {
		needs = *op.Security
	}
	if len(needs) == 0 || r.doc.Components == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(needs[0])) {
		ref := r.doc.Components.SecuritySchemes[name]
		if ref == nil || ref.Value == nil {
			continue
		}
		s := ref.Value
		f := Field{Name: "Authorization", Value: "Bearer " + replaceMe}
		switch {
		case s.Type == "http" && strings.EqualFold(s.Scheme, "basic"):
			f.Value = "Basic " + replaceMe
		case s.Type == "apiKey" && s.In == "query":
			q.query = append(q.query, escapeStrict(s.Name)+"="+replaceMe)
			f.Name = ""
		case s.Type == "apiKey" && s.In == "cookie":
			q.cookies = append(q.cookies, s.Name+"="+replaceMe)
			f.Name = ""
		case s.Type == "apiKey":
			f = Field{Name: s.Name, Value: replaceMe}
		}
		if f.Name != "" && f.Valid() {
			request.Header = append(request.Header, f)
		}
		if !slices.Contains(r.replaces, name) {
			r.replaces = append(r.replaces, name)
		}
	}
}

// list adds a note with the names of values, of a few operations at most.
func (r *openapiReader) list(what string, notes []string) {
	const most = 8
	if n := len(notes); n > 0 {
		names, more := notes[:min(n, most)], ""
		if n > most {
			more = fmt.Sprintf("; and of %d more", n-most)
		}
		r.load.Note("%s: %s%s", what, strings.Join(names, "; "), more)
	}
}

// remarks adds notes about what the user should check.
func (r *openapiReader) remarks() {
	if len(r.replaces) > 0 {
		slices.Sort(r.replaces)
		r.load.Note("%s in place of the secrets of %s: write them, or take them from rows (feeder)", replaceMe, strings.Join(r.replaces, ", "))
	}
	r.list("values made up, because the document has no example", r.madeUp)
	r.list("optional values left out, because none was found", r.without)
	if slices.ContainsFunc(r.load.Requests, func(q Request) bool { return q.Method == http.MethodDelete }) {
		r.load.Note("there are DELETE requests: drop them unless the service may lose what they name")
	}
}
