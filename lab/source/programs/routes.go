package programs

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// routers are the import paths, without their versions, of routers whose methods are named after
// those of HTTP: r.Get(path, handler), r.GET(path, handler).
var routers = []string{
	"github.com/go-chi/chi", "github.com/gin-gonic/gin", "github.com/labstack/echo", "github.com/gofiber/fiber",
	"github.com/gorilla/mux", "github.com/julienschmidt/httprouter", "goji.io", "github.com/bmizerany/pat",
}

// methods are the names of such methods.
var methods = map[string]string{
	"Get": "GET", "Post": "POST", "Put": "PUT", "Patch": "PATCH", "Delete": "DELETE", "Head": "HEAD",
	"GET": "GET", "POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE", "HEAD": "HEAD", "Any": "", "All": "",
}

// usesRouter reports whether the file imports one of the routers.
func usesRouter(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(spec *ast.ImportSpec) bool {
		return slices.ContainsFunc(routers, func(r string) bool { return strings.HasPrefix(strings.Trim(spec.Path.Value, "`\""), r) })
	})
}

// other matches files of another server than the program's own: its debug address, or a companion
// that plays the other end of its connections.
var other = regexp.MustCompile(`(?i)(^|/)(debug|sims?|sink|fakes?|mocks?|stubs?|\w*test)(/|\w*\.go$)`)

// routes returns the routes that a package registers.
func (t *tree) routes(p *pack) (out []Route) {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if other.MatchString(path.Join(p.dir, name)) {
			continue
		}
		f := p.files[name]
		v := visitor{tree: t, pack: p, router: usesRouter(f), prefixes: map[string]string{}}
		v.walk(f, "")
		out = append(out, v.out...)
	}
	return out
}

// visitor collects the routes of a file.
type visitor struct {
	tree     *tree
	pack     *pack
	router   bool
	prefixes map[string]string // variable -> prefix of its group: v1 := r.Group("/v1")
	out      []Route
}

func (v *visitor) walk(n ast.Node, prefix string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			v.group(n, prefix)
		case *ast.CallExpr:
			return v.call(n, prefix)
		case *ast.BasicLit: // a pattern in a table of handlers
			if s, ok := v.pack.text(n); ok && pattern.MatchString(s) {
				method, route, _ := strings.Cut(s, " ")
				v.add(n, method, prefix+route)
			}
		}
		return true
	})
}

// pattern matches a whole pattern of package http.
var pattern = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) /\S*$`)

// group notes the prefix of v1 := r.Group("/v1").
func (v *visitor) group(n *ast.AssignStmt, prefix string) {
	for i, e := range n.Rhs {
		call, ok := e.(*ast.CallExpr)
		if !ok || i >= len(n.Lhs) || len(call.Args) == 0 {
			continue
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		name, named := n.Lhs[i].(*ast.Ident)
		if !ok || !named || selector.Sel.Name != "Group" {
			continue
		}
		if part, ok := v.pack.text(call.Args[0]); ok {
			v.prefixes[name.Name] = v.prefix(selector.X, prefix) + strings.TrimSuffix(part, "/")
		}
	}
}

// prefix is that of the router that an expression names.
func (v *visitor) prefix(router ast.Expr, around string) string {
	if name, ok := router.(*ast.Ident); ok && v.prefixes[name.Name] != "" {
		return v.prefixes[name.Name]
	}
	return around
}

// call reads a call; it returns whether to look into its arguments.
func (v *visitor) call(call *ast.CallExpr, around string) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return true
	}
	name, prefix := selector.Sel.Name, v.prefix(selector.X, around)
	first, known := v.pack.text(call.Args[0])
	method, byMethod := methods[name]
	switch {
	case name == "Methods" && known: // gorilla: r.HandleFunc(path, h).Methods("GET")
		before := len(v.out)
		v.walk(selector.X, around)
		for i := before; i < len(v.out); i++ {
			v.out[i].Method = first
		}
		return false
	case (name == "Route" || name == "Group") && v.router: // chi: r.Route("/v1", func(r chi.Router) {...})
		f, ok := call.Args[len(call.Args)-1].(*ast.FuncLit)
		if !ok {
			return true
		}
		if len(call.Args) == 2 && known {
			prefix += strings.TrimSuffix(first, "/")
		}
		outer := v.prefixes
		v.prefixes = maps.Clone(outer)
		for _, field := range f.Type.Params.List {
			for _, parameter := range field.Names {
				delete(v.prefixes, parameter.Name)
			}
		}
		v.walk(f.Body, prefix)
		v.prefixes = outer
		return false
	case name == "Handle" || name == "HandleFunc" || name == "Handler" || name == "HandlerFunc":
		if second, ok := "", false; len(call.Args) > 2 && known { // httprouter: r.Handle("GET", path, h)
			if second, ok = v.pack.text(call.Args[1]); ok {
				v.add(call, first, prefix+second)
				return true
			}
		}
		if known && len(call.Args) >= 2 && !hidden(selector.X) {
			m, p, ok := strings.Cut(first, " ")
			if !ok {
				m, p = "", first
			}
			v.add(call, m, prefix+strings.TrimSpace(p))
		}
	case v.router && byMethod && known && len(call.Args) >= 2:
		v.add(call, method, prefix+first)
	}
	return true
}

// hidden reports whether a mux is for the debug address: env.Debug.Handle(...).
func hidden(mux ast.Expr) bool {
	switch e := mux.(type) {
	case *ast.SelectorExpr:
		return strings.Contains(strings.ToLower(e.Sel.Name), "debug")
	case *ast.Ident:
		return strings.Contains(strings.ToLower(e.Name), "debug")
	}
	return false
}

func (v *visitor) add(at ast.Node, method, route string) {
	if i := strings.IndexByte(route, '/'); i > 0 && !strings.Contains(route[:i], " ") {
		route = route[i:] // a host before the path
	}
	if !strings.HasPrefix(route, "/") || strings.ContainsAny(route, " \t\n") || method != strings.ToUpper(method) {
		return
	}
	place := v.tree.set.Position(at.Pos())
	v.out = append(v.out, Route{Method: method, Path: route, File: path.Clean(place.Filename), Line: place.Line})
}
