package layout

import (
	"go/types"
	"maps"
)

// member is a field of a struct, or of a struct inside it, with its position and the functions that
// use it.
type member struct {
	name   string
	typ    types.Type
	shown  types.Type // as declared, with its type parameters
	offset int64      // bytes
	size   int64      // bytes
	use    Use
	// functions with this use: writers, or readers of a field that is only read; not those that
	// create the struct
	users map[*function]bool
	// functions that have the field's line in any case: users, readers, and those called with it
	// locked
	busy map[*function]bool
}

// members flattens a struct of the given name (nil: none): fields of embedded values are on the
// struct's own lines. Structs of other packages count as one field. Fields that are not visibly
// used from several places are left out.
func (p *program) members(s *types.Struct, name *types.TypeName) []member {
	var out []member
	var add func(s *types.Struct, prefix string, base int64, path []*types.Var)
	add = func(s *types.Struct, prefix string, base int64, path []*types.Var) {
		vars := make([]*types.Var, s.NumFields())
		for i := range vars {
			vars[i] = s.Field(i)
		}
		for i, offset := range p.sizes.Offsetsof(vars) {
			f := vars[i]
			if f.Name() == "_" {
				continue
			}
			path := append(path[:len(path):len(path)], f)
			if inner, ok := under(f.Type()).(*types.Struct); ok && kindOf(f.Type()) == Read && p.declared(f.Type()) {
				add(inner, prefix+f.Name()+".", base+offset, path)
				continue
			}
			m := member{name: prefix + f.Name(), typ: f.Type(), shown: f.Origin().Type(), offset: base + offset, size: p.sizes.Sizeof(f.Type())}
			if m.size > 0 && p.judge(&m, path, name) {
				out = append(out, m)
			}
		}
	}
	add(s, "", 0, nil)
	return out
}

// declared reports whether a type was declared in the packages, or has no name.
func (p *program) declared(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return true
	}
	for _, f := range p.files {
		if f.pkg.Types == named.Obj().Pkg() {
			return true
		}
	}
	return false
}

// judge sets the member's use. The path leads from the struct to the field; a function that writes
// a struct as a whole writes all its fields. It returns false for a field whose use is irrelevant.
func (p *program) judge(m *member, path []*types.Var, name *types.TypeName) bool {
	all := newUses()
	for _, f := range path {
		if u := p.uses[f.Origin()]; u != nil {
			maps.Copy(all.writes, u.writes)
			maps.Copy(all.holds, u.holds)
			maps.Copy(all.counts, u.counts)
			maps.Copy(all.sets, u.sets)
			maps.Copy(all.reads, u.reads)
		}
	}
	m.busy = maps.Clone(all.reads)
	maps.Copy(m.busy, all.holds)
	maps.Copy(m.busy, all.writes)
	maps.Copy(m.busy, all.counts)
	for _, set := range []map[*function]bool{all.writes, all.counts, all.sets, all.reads} {
		maps.DeleteFunc(set, func(f *function, _ bool) bool { return f.makes[name] || f.once() })
	}
	counted := len(all.counts) > 0
	maps.DeleteFunc(all.counts, func(f *function, _ bool) bool { return f.guarded || len(f.locks) > 0 })
	kind := elementKind(m.typ)
	switch {
	case len(all.writes) > 0 && kind == Lock:
		m.use, m.users = Lock, all.writes
	case len(all.writes) > 0:
		m.use, m.users = Atomic, all.writes
	case len(all.counts) > 0 && len(all.sets) == 0 && isInteger(m.typ):
		m.use, m.users = Counter, all.counts
	case !counted && len(all.sets) == 0 && len(all.reads) > 0 && kind != Lock:
		m.use, m.users = Read, all.reads
	default:
		return false
	}
	return true
}

// elementKind is kindOf an array's elements.
func elementKind(t types.Type) Use {
	if array, ok := under(t).(*types.Array); ok {
		t = array.Elem()
	}
	return kindOf(t)
}

func isInteger(t types.Type) bool {
	basic, ok := under(t).(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

// written reports whether other cores repeatedly take the member's line.
func (m member) written() bool { return m.use != Read }

// on reports whether the member is on a cache line, at least in part.
func (m member) on(line, length int64) bool {
	return m.offset/length <= line && line <= (m.offset+m.size-1)/length
}

func (m member) field(from *types.Package) Field {
	return Field{Name: m.name, Type: types.TypeString(m.shown, types.RelativeTo(from)), Offset: m.offset, Size: m.size, Use: m.use,
		By: names(m.users)}
}
