package layout

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// function is a function with the literals in it; a literal started by a go statement is a function
// of its own.
type function struct {
	name    string
	body    bool                     // its body is in the packages
	locks   map[*types.Var]bool      // mutexes that it locks, or that all its callers hold
	guarded bool                     // it locks a mutex, or all its callers do
	callers []*function              // in the packages
	makes   map[*types.TypeName]bool // types whose values it creates
}

// uses are the functions that access a field, by kind of access.
type uses struct {
	writes map[*function]bool // lock it, or write it atomically
	holds  map[*function]bool // are only called with it locked
	counts map[*function]bool // apply ++, --, += to a plain field
	sets   map[*function]bool // write it plainly in another way
	reads  map[*function]bool
}

func (p *program) of(field *types.Var) *uses {
	field = field.Origin()
	if p.uses[field] == nil {
		p.uses[field] = newUses()
	}
	return p.uses[field]
}

func newUses() *uses {
	return &uses{writes: map[*function]bool{}, holds: map[*function]bool{}, counts: map[*function]bool{}, sets: map[*function]bool{}, reads: map[*function]bool{}}
}

// access records how the functions of a file use fields.
func (p *program) access(s source) {
	for _, d := range s.file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Body == nil {
			continue
		}
		f := &function{}
		if obj, ok := s.pkg.TypesInfo.Defs[decl.Name].(*types.Func); ok {
			f = p.function(obj)
		}
		f.name = decl.Name.Name
		if decl.Recv != nil && len(decl.Recv.List) > 0 {
			f.name = receiverName(decl.Recv.List[0].Type) + "." + f.name
		}
		f.init()
		f.body = true
		(&walk{p, s.pkg.TypesInfo, f, map[ast.Expr]how{}}).body(decl.Body)
	}
}

func (f *function) init() {
	if f.locks == nil {
		f.locks, f.makes = map[*types.Var]bool{}, map[*types.TypeName]bool{}
	}
}

func (p *program) function(obj *types.Func) *function {
	obj = obj.Origin()
	if p.functions[obj] == nil {
		p.functions[obj] = &function{name: obj.Name()}
		p.functions[obj].init()
	}
	return p.functions[obj]
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// inheritLocks adds to a function the locks that all its callers hold, so that a function only
// called with a lock held counts as holding it.
func (p *program) inheritLocks() {
	for changed := true; changed; { // terminates: locks are only added
		changed = false
		for _, f := range p.functions {
			if f.body && p.inherit(f) {
				changed = true
			}
		}
	}
}

// inherit does that for one function and reports whether it added a lock.
func (p *program) inherit(f *function) bool {
	var held map[*types.Var]bool
	guarded, learned := true, false
	for _, c := range f.callers {
		if c == f {
			continue
		}
		if held == nil {
			held = maps.Clone(c.locks)
		}
		maps.DeleteFunc(held, func(m *types.Var, _ bool) bool { return !c.locks[m] })
		guarded = guarded && (c.guarded || len(c.locks) > 0)
	}
	if held != nil && guarded && !f.guarded {
		f.guarded, learned = true, true
	}
	for m := range held {
		if !f.locks[m] {
			f.locks[m], learned = true, true
			p.of(m).holds[f] = true
		}
	}
	return learned
}

// once reports, by its name, whether a function runs once in a value's life: its accesses cannot
// cause lasting contention.
func (f *function) once() bool {
	switch name := strings.ToLower(f.name[strings.LastIndexByte(f.name, '.')+1:]); name {
	case "close", "stop", "shutdown", "start", "connect", "init", "main":
		return true
	}
	return false
}

// names lists functions.
func names(in map[*function]bool) []string {
	out := []string{}
	for f := range in {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	slices.Sort(out)
	return out
}
