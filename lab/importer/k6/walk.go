package k6

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/token"
)

// declare finds what names are bound to, and the calls in the order of the script.
func (r *reader) declare() {
	r.bound = map[string][]ast.Expression{}
	bind := func(name string, to ast.Expression) { r.bound[name] = append(r.bound[name], to) }
	seen := map[ast.Node]bool{}
	var within []ast.Node
	walk(r.program, func(n ast.Node) bool {
		if seen[n] { // a function also lists its variables
			return false
		}
		seen[n] = true
		switch n := n.(type) {
		case *ast.ImportDeclaration:
			r.imported(n)
		case *ast.Binding:
			r.binding(n, bind)
		case *ast.ForDeclaration:
			if name, ok := n.Target.(*ast.Identifier); ok {
				bind(name.Name.String(), nil)
			}
		case *ast.AssignExpression:
			if name, ok := n.Left.(*ast.Identifier); ok && n.Operator == token.ASSIGN {
				bind(name.Name.String(), n.Right)
			} else if ok {
				bind(name.Name.String(), nil) // it changes while the script runs
			}
		case *ast.UnaryExpression:
			if name, ok := n.Operand.(*ast.Identifier); ok && n.Operator.String() != "-" && n.Operator.String() != "+" {
				bind(name.Name.String(), nil)
			}
		case *ast.CallExpression:
			r.calls = append(r.calls, placed{n, slices.Clone(within)})
		}
		within = append(within, n)
		return true
	}, func() { within = within[:len(within)-1] })
	once := func(p placed) int { // setup runs before the others
		if onlyOnce(p.within) == "setup" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(r.calls, func(a, b placed) int {
		return cmp.Or(once(a)-once(b), int(a.call.Idx0())-int(b.call.Idx0()))
	})
}

// binding notes a variable; const http = require('k6/http') is an import.
func (r *reader) binding(n *ast.Binding, bind func(string, ast.Expression)) {
	name, ok := n.Target.(*ast.Identifier)
	if !ok {
		return // a pattern: its names are not bound, and so not known
	}
	if n.Initializer == nil {
		return // one assignment further on gives it its value
	}
	bind(name.Name.String(), n.Initializer)
	call, ok := n.Initializer.(*ast.CallExpression)
	if !ok || len(call.ArgumentList) != 1 {
		return
	}
	callee, isName := call.Callee.(*ast.Identifier)
	module, isText := call.ArgumentList[0].(*ast.StringLiteral)
	if isName && isText && callee.Name == "require" {
		r.module(name.Name.String(), module.Value.String(), r.line(n))
	}
}

func (r *reader) imported(n *ast.ImportDeclaration) {
	if n.FromClause == nil || n.ImportClause == nil {
		return
	}
	module, c := n.FromClause.ModuleSpecifier.String(), n.ImportClause
	if c.ImportedDefaultBinding != nil {
		r.module(c.ImportedDefaultBinding.Name.String(), module, r.line(n))
	}
	if c.NameSpaceImport != nil {
		r.module(c.NameSpaceImport.ImportedBinding.String(), module, r.line(n))
	}
	if c.NamedImports == nil {
		return
	}
	for _, s := range c.NamedImports.ImportsList {
		name := s.IdentifierName.String()
		if s.Alias != "" {
			name = s.Alias.String()
		}
		if name != "http" && module == "k6/http" {
			r.load.Leave(r.line(n), "import of "+name, "only calls such as http.get are read")
			continue
		}
		r.module(name, module, r.line(n))
	}
}

// silent are modules that need no mention.
var silent = []string{"k6", "k6/http", "k6/metrics", "k6/data", "k6/execution", "k6/encoding", "k6/crypto", "k6/timers", "k6/html"}

func (r *reader) module(name, module string, line int) {
	r.modules[name] = module
	if !slices.Contains(silent, module) {
		r.load.Leave(line, "the module "+module, "only k6/http is read")
	}
}

// walk calls enter for each node below n, and leave after those below a node for which enter
// returned true. The package ast has no function for that.
func walk(n ast.Node, enter func(ast.Node) bool, leave func()) {
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Pointer:
			if v.IsNil() || v.Elem().Kind() != reflect.Struct {
				return
			}
			node, ok := v.Interface().(ast.Node)
			if ok && !enter(node) {
				return
			}
			if v.Elem().Type().PkgPath() == astPackage {
				visit(v.Elem())
			}
			if ok {
				leave()
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					visit(v.Field(i))
				}
			}
		}
	}
	visit(reflect.ValueOf(n))
}

var astPackage = reflect.TypeFor[ast.Program]().PkgPath()

// onlyOnce returns the name of the function that k6 runs once and that the nodes lie in; empty:
// none.
func onlyOnce(within []ast.Node) string {
	for _, n := range within {
		if f, ok := n.(*ast.FunctionLiteral); ok && f.Name != nil {
			if name := f.Name.Name; name == "setup" || name == "teardown" || name == "handleSummary" {
				return name.String()
			}
		}
	}
	return ""
}

// conditional reports whether the nodes lie in a loop or a condition.
func conditional(within []ast.Node) bool {
	return slices.ContainsFunc(within, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.IfStatement, *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.DoWhileStatement, *ast.SwitchStatement, *ast.ConditionalExpression:
			return true
		}
		return false
	})
}

// why names what an expression depends on: the first name in it that has no value.
func (r *reader) why(e ast.Expression) string {
	name := "an expression"
	walk(e, func(n ast.Node) bool {
		if name != "an expression" {
			return false
		}
		switch n := n.(type) {
		case *ast.DotExpression:
			if environment(n) {
				name = "__ENV." + n.Identifier.Name.String()
			}
		case *ast.Identifier:
			if _, ok := r.constant(n.Name.String()); !ok {
				name = n.Name.String()
			}
		}
		return true
	}, func() {})
	return name
}
