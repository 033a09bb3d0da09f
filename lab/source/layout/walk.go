package layout

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// how is how an expression's parent uses it.
type how int

const (
	reads  how = iota
	passes     // only on the way to a field inside
	writes     // locks, or writes atomically
	loads      // reads atomically
	counts
	sets
)

// walk visits one function. Parents are visited before their children and record how they use them.
type walk struct {
	p    *program
	info *types.Info
	f    *function
	does map[ast.Expr]how
}

func (w *walk) body(b ast.Node) { ast.Inspect(b, w.visit) }

func (w *walk) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		if lit, ok := n.Call.Fun.(*ast.FuncLit); ok {
			started := &function{name: w.f.name + " (go)", body: true, makes: w.f.makes, locks: map[*types.Var]bool{}}
			(&walk{w.p, w.info, started, w.does}).body(lit.Body)
			for _, arg := range n.Call.Args {
				w.body(arg)
			}
			return false
		}
	case *ast.IncDecStmt:
		w.note(n.X, counts)
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
				w.note(left, sets)
			} else {
				w.note(left, counts)
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			w.address(n.X)
		}
	case *ast.CompositeLit:
		w.made(w.info.TypeOf(n))
	case *ast.CallExpr:
		w.call(n)
	case *ast.SelectorExpr:
		w.selector(n)
	}
	return true
}

// note records the use of e, unless one was recorded before, as for the receiver of a call.
func (w *walk) note(e ast.Expr, h how) {
	e = w.inPlace(e)
	if _, ok := w.does[e]; !ok && e != nil {
		w.does[e] = h
	}
}

// inPlace is the array that an element belongs to, or e itself; nil if e is an element outside the
// struct, of a slice or a map.
func (w *walk) inPlace(e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	if index, ok := e.(*ast.IndexExpr); ok {
		if _, ok := under(w.info.TypeOf(index.X)).(*types.Array); !ok {
			return nil
		}
		e = ast.Unparen(index.X)
	}
	return e
}

// address records a field whose address is taken: for an atomic, to write it elsewhere.
func (w *walk) address(e ast.Expr) {
	if kindOf(w.info.TypeOf(e)) == Atomic {
		w.note(e, writes)
	} else {
		w.note(e, passes)
	}
}

func (w *walk) made(t types.Type) {
	if named, ok := t.(*types.Named); ok {
		w.f.makes[named.Origin().Obj()] = true
	}
}

// call records locks, atomics, created values, and the caller of each function.
func (w *walk) call(call *ast.CallExpr) {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if b, ok := w.info.Uses[fun].(*types.Builtin); ok && b.Name() == "new" && len(call.Args) == 1 {
			w.made(w.info.TypeOf(call.Args[0]))
		}
		w.calls(w.info.Uses[fun])
	case *ast.IndexExpr:
		if id, ok := fun.X.(*ast.Ident); ok {
			w.calls(w.info.Uses[id])
		}
	case *ast.SelectorExpr:
		w.calls(w.info.Uses[fun.Sel])
		method, ok := w.info.Uses[fun.Sel].(*types.Func)
		if !ok {
			return
		}
		if s := w.info.Selections[fun]; s != nil {
			w.method(fun, s, method, call.Args)
		} else if method.Pkg() != nil && method.Pkg().Path() == "sync/atomic" && len(call.Args) > 0 {
			w.atomicCall(call.Args[0], method.Name())
		}
	}
}

func (w *walk) calls(obj types.Object) {
	if f, ok := obj.(*types.Func); ok {
		callee := w.p.function(f)
		callee.callers = append(callee.callers, w.f)
	}
}

// method records a method call on a field, or on an embedded one.
func (w *walk) method(fun *ast.SelectorExpr, s *types.Selection, method *types.Func, args []ast.Expr) {
	on := kindOf(receiver(method))
	h := passes
	switch {
	case on == Lock:
		h = lockDoes(method.Name())
	case on == Atomic:
		h = w.atomicDoes(receiver(method), method.Name(), args)
	default:
		if sig := method.Signature(); sig.Recv() == nil || !isPointer(sig.Recv().Type()) {
			h = reads
		}
	}
	field := embedded(s)
	if field == nil {
		if sel, ok := w.inPlace(fun.X).(*ast.SelectorExpr); ok {
			field = w.field(sel)
			w.does[sel] = passes
		}
	}
	if field != nil {
		if isPointer(field.Type()) { // its target is outside the struct
			h = reads
		}
		w.enter(field, h)
	}
}

func lockDoes(method string) how {
	switch method {
	case "Lock", "RLock", "TryLock", "TryRLock":
		return writes
	}
	return passes // Unlock follows a Lock elsewhere
}

// atomicDoes separates repeated writes from single ones: a flag that is set, a pointer to a
// configuration that is replaced.
func (w *walk) atomicDoes(t types.Type, method string, args []ast.Expr) how {
	if method == "Load" {
		return loads
	}
	if named, ok := types.Unalias(t).(*types.Named); ok && method == "Store" {
		switch named.Obj().Name() {
		case "Pointer", "Value":
			return loads
		case "Bool":
			if v := w.info.Types[args[0]].Value; v != nil && v.Kind() == constant.Bool {
				return loads
			}
		}
	}
	return writes
}

// atomicCall records atomic.AddInt64(&x.f, 1) and similar calls.
func (w *walk) atomicCall(arg ast.Expr, name string) {
	amp, ok := ast.Unparen(arg).(*ast.UnaryExpr)
	if !ok || amp.Op != token.AND {
		return
	}
	sel, ok := w.inPlace(amp.X).(*ast.SelectorExpr)
	if !ok {
		return
	}
	if field := w.field(sel); field != nil {
		w.does[sel] = passes
		if strings.HasPrefix(name, "Load") {
			w.enter(field, loads)
		} else {
			w.enter(field, writes)
		}
	}
}

// selector records x.f with its parent's use; x is then only passed through.
func (w *walk) selector(sel *ast.SelectorExpr) {
	if inner, ok := ast.Unparen(sel.X).(*ast.SelectorExpr); ok && !isPointer(w.info.TypeOf(inner)) {
		if _, isStruct := under(w.info.TypeOf(inner)).(*types.Struct); isStruct {
			w.note(inner, passes)
		}
	}
	if field := w.field(sel); field != nil {
		w.enter(field, w.does[sel])
	}
}

func (w *walk) field(sel *ast.SelectorExpr) *types.Var {
	if s := w.info.Selections[sel]; s != nil && s.Kind() == types.FieldVal {
		return s.Obj().(*types.Var)
	}
	return nil
}

func (w *walk) enter(field *types.Var, h how) {
	u := w.p.of(field)
	switch h {
	case reads, loads:
		u.reads[w.f] = true
	case writes:
		u.writes[w.f] = true
		if elementKind(field.Type()) == Lock {
			w.f.locks[field.Origin()] = true
		}
	case counts:
		u.counts[w.f] = true
	case sets:
		u.sets[w.f] = true
	}
}

func isPointer(t types.Type) bool {
	_, ok := under(t).(*types.Pointer)
	return ok
}

func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// receiver is the type that a method belongs to.
func receiver(method *types.Func) types.Type {
	recv := method.Signature().Recv()
	if recv == nil {
		return nil
	}
	if ptr, ok := recv.Type().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return recv.Type()
}

// embedded is the embedded field that a selected method belongs to; nil when it is the operand's
// own.
func embedded(s *types.Selection) *types.Var {
	t, index := s.Recv(), s.Index()
	var field *types.Var
	for _, i := range index[:len(index)-1] {
		if ptr, ok := under(t).(*types.Pointer); ok {
			t = ptr.Elem()
		}
		str, ok := under(t).(*types.Struct)
		if !ok || i >= str.NumFields() {
			return nil
		}
		field = str.Field(i)
		t = field.Type()
	}
	return field
}

// kindOf is Lock for a mutex, Atomic for a type of sync/atomic, or Read.
func kindOf(t types.Type) Use {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return Read
	}
	switch path, name := named.Obj().Pkg().Path(), named.Obj().Name(); {
	case path == "sync" && (name == "Mutex" || name == "RWMutex"):
		return Lock
	case path == "sync/atomic":
		return Atomic
	}
	return Read
}
