package layout

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
)

// arrays examines the arrays and slices that a file names: elements shorter than a line and written
// by different goroutines share a line with their neighbours.
func (p *program) arrays(s source, r *Report) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		array, ok := n.(*ast.ArrayType)
		if !ok {
			return true
		}
		elem, generic := p.concrete(s.pkg.TypesInfo.TypeOf(array.Elt))
		if elem == nil || single(s.pkg.TypesInfo.TypeOf(array)) {
			return true
		}
		found, ok := p.neighbours(elem, s.pkg.Types)
		if !ok {
			return true
		}
		found.Struct, found.Generic = "[]"+elementName(elem), generic
		found.File, found.Line = p.at(s, array.Pos())
		if !slices.ContainsFunc(r.Sharing, func(have Sharing) bool { // once for each type and package
			return have.Kind == Neighbours && have.Struct == found.Struct && path.Dir(have.File) == path.Dir(found.File)
		}) {
			r.Sharing = append(r.Sharing, found)
		}
		return true
	})
}

// elementName is the type's name without the substituted type arguments.
func elementName(t types.Type) string {
	if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil {
		return named.Obj().Pkg().Name() + "." + named.Obj().Name()
	}
	return types.TypeString(t, (*types.Package).Name)
}

// single reports whether a type is an array of fewer than two elements, which have no neighbours.
func single(t types.Type) bool {
	array, ok := under(t).(*types.Array)
	return ok && array.Len() >= 0 && array.Len() < 2
}

// neighbours reports how elements of a type disturb one another.
func (p *program) neighbours(elem types.Type, from *types.Package) (Sharing, bool) {
	size := p.sizes.Sizeof(elem)
	if size == 0 || size%p.line == 0 {
		return Sharing{}, false
	}
	out := Sharing{Kind: Neighbours, Size: size}
	out.Advice = fmt.Sprintf("end the element with `_ [%d]byte`, which makes it %d bytes long", p.line-size%p.line, size+p.line-size%p.line)
	if size > p.line {
		out.Advice += "; it is longer than a line, so only its ends are shared"
	}
	if kind := kindOf(elem); kind != Read {
		out.Advice = fmt.Sprintf("give each goroutine that writes an array of its own, or wrap the element in a struct that ends with `_ [%d]byte`", p.line-size%p.line)
		out.Fields = []Field{{Name: "(element)", Type: types.TypeString(elem, (*types.Package).Name), Size: size, Use: kind, By: []string{}}}
	} else if str, ok := under(elem).(*types.Struct); ok && p.declared(elem) {
		var name *types.TypeName
		if named, ok := types.Unalias(elem).(*types.Named); ok {
			name = named.Origin().Obj()
		}
		begin, end := size, int64(0)
		for _, m := range p.members(str, name) {
			begin, end = min(begin, m.offset), max(end, m.offset+m.size)
			if m.use == Lock || m.use == Atomic {
				out.Fields = append(out.Fields, m.field(from))
			}
		}
		if size-end+begin >= p.line { // padding at an end separates them already
			return Sharing{}, false
		}
	}
	return out, len(out.Fields) > 0
}

// concrete returns a type with a known layout: each type parameter is replaced by a word. It
// reports whether there were any; nil if the layout is unknown.
func (p *program) concrete(t types.Type) (types.Type, bool) {
	named, ok := types.Unalias(t).(*types.Named)
	if ok && named.TypeParams().Len() > 0 {
		word, triple := p.instance(named, types.Typ[types.Uintptr]), p.instance(named, types.NewArray(types.Typ[types.Uintptr], 3))
		if word == nil || triple == nil || open(word) || open(triple) {
			return nil, false
		}
		return word, p.sizes.Sizeof(word) != p.sizes.Sizeof(triple)
	}
	if t == nil || open(t) {
		return nil, false
	}
	return t, false
}

// instance is a generic type with one type for all its parameters; their constraints do not affect
// the layout.
func (p *program) instance(t *types.Named, arg types.Type) types.Type {
	args := make([]types.Type, t.TypeParams().Len())
	for i := range args {
		args[i] = arg
	}
	instance, err := types.Instantiate(nil, t.Origin(), args, false)
	if err != nil {
		return nil
	}
	return instance
}

// open reports whether the layout of a type depends on a type parameter of its enclosing
// declaration.
func open(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return true
	}
	switch t := under(t).(type) {
	case *types.Array:
		return open(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if open(f.Type()) {
				return true
			}
		}
	}
	return false
}
