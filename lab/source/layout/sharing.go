package layout

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// structs looks at the structs that a file declares.
func (p *program) structs(s source, r *Report) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Assign.IsValid() {
			return true
		}
		name, ok := s.pkg.TypesInfo.Defs[spec.Name].(*types.TypeName)
		if !ok {
			return true
		}
		typ, generic := p.concrete(name.Type())
		if typ == nil {
			return true
		}
		if str, ok := under(typ).(*types.Struct); ok && str.NumFields() > 0 {
			r.Structs++
			file, line := p.at(s, spec.Pos())
			title := s.pkg.Name + "." + name.Name()
			for _, found := range p.shared(str, name) {
				found.Struct, found.File, found.Line, found.Generic = title, file, line, generic
				r.Sharing = append(r.Sharing, found)
			}
			if pad, ok := p.padding(str); ok {
				pad.Struct, pad.File, pad.Line, pad.Generic = title, file, line, generic
				r.Padding = append(r.Padding, pad)
			}
		}
		return true
	})
}

// shared finds the lines of one struct that are written from one place and used from another.
func (p *program) shared(s *types.Struct, name *types.TypeName) []Sharing {
	members := p.members(s, name)
	size := p.sizes.Sizeof(s)
	var out []Sharing
	for line := int64(0); line*p.line < size; line++ {
		var here []member
		for _, m := range members {
			if m.on(line, p.line) {
				here = append(here, m)
			}
		}
		kind, apart := p.apart(here)
		if len(apart) == 0 {
			continue
		}
		found := Sharing{Kind: kind, Size: size, CacheLine: line}
		for _, m := range apart {
			found.Fields = append(found.Fields, m.field(name.Pkg()))
		}
		found.Advice = p.advice(kind, apart)
		out = append(out, found)
	}
	return out
}

// apart returns the members of a line that are written apart; when there are none, the ones that are read
// by functions that do not touch the one that is written.
func (p *program) apart(line []member) (Kind, []member) {
	involved := map[int]bool{}
	for i, a := range line {
		for j, b := range line[:i] {
			if a.written() && b.written() && (a.use != Counter || b.use != Counter) && p.beyond(a, b) && p.beyond(b, a) {
				involved[i], involved[j] = true, true
			}
		}
	}
	kind := Writers
	if len(involved) == 0 {
		kind = Readers
		if !slices.ContainsFunc(line, func(m member) bool { return m.use == Atomic }) {
			return kind, nil // a lock beside what is only read is what most structs with a lock look like
		}
		for i, r := range line {
			if r.use == Read && p.untouched(r, line) {
				involved[i] = true
			}
		}
		if len(involved) == 0 {
			return kind, nil
		}
		for i, m := range line {
			if m.written() {
				involved[i] = true
			}
		}
	}
	var out []member
	for _, i := range slices.Sorted(maps.Keys(involved)) {
		out = append(out, line[i])
	}
	return kind, out
}

// beyond reports whether somebody uses a who does not also use b, by a function that it calls at the most.
// Who uses both has to wait for b's line in any case.
func (p *program) beyond(a, b member) bool {
	through := callersOf(b.busy)
	for f := range a.users {
		if !through[f] {
			return true
		}
	}
	return false
}

// untouched reports whether somebody reads r who has no other business with what is written on its line.
func (p *program) untouched(r member, line []member) bool {
	busy := map[*function]bool{}
	for _, m := range line {
		if m.written() {
			maps.Copy(busy, callersOf(m.busy))
		}
	}
	for f := range r.users {
		if !busy[f] {
			return true
		}
	}
	return false
}

// callersOf is some functions and all that reach them by calls.
func callersOf(of map[*function]bool) map[*function]bool {
	out := maps.Clone(of)
	next := slices.Collect(maps.Keys(of))
	for len(next) > 0 {
		f := next[len(next)-1]
		next = next[:len(next)-1]
		for _, c := range f.callers {
			if !out[c] {
				out[c] = true
				next = append(next, c)
			}
		}
	}
	return out
}

// advice says what to try.
func (p *program) advice(kind Kind, fields []member) string {
	pad := fmt.Sprintf("`_ [%d]byte` (or cpu.CacheLinePad of golang.org/x/sys/cpu)", p.line)
	var written, read []string
	for _, m := range fields {
		if m.written() {
			written = append(written, m.name)
		} else {
			read = append(read, m.name)
		}
	}
	if kind == Readers {
		return fmt.Sprintf("move %s behind %s, so that %s can stay in every core's cache", list(written), pad, list(read))
	}
	if len(written) == 2 {
		return fmt.Sprintf("put %s between %s", pad, list(written))
	}
	return fmt.Sprintf("put %s between those of %s that are written apart", pad, list(written))
}

func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// padding says what another order of the fields would save.
func (p *program) padding(s *types.Struct) (Padding, bool) {
	if padded(s) {
		return Padding{}, false
	}
	order := bestOrder(s, p.sizes)
	out := Padding{Size: p.sizes.Sizeof(s), Best: p.sizes.Sizeof(reordered(s, order))}
	for _, i := range order {
		out.Order = append(out.Order, s.Field(i).Name())
	}
	return out, out.Waste() > 0
}

// sort puts first what is likeliest to cost something: the kind, then how many fields and functions are
// in it.
func (r *Report) sort() {
	rank := map[Kind]int{Neighbours: 0, Writers: 1, Readers: 2}
	weight := func(s Sharing) (fields, functions int) {
		for _, f := range s.Fields {
			if f.Use != Read {
				fields++
			}
			functions += len(f.By)
		}
		return fields, functions
	}
	slices.SortStableFunc(r.Sharing, func(a, b Sharing) int {
		fieldsA, functionsA := weight(a)
		fieldsB, functionsB := weight(b)
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(fieldsB, fieldsA), cmp.Compare(functionsB, functionsA),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	slices.SortStableFunc(r.Padding, func(a, b Padding) int {
		return cmp.Or(cmp.Compare(b.Waste(), a.Waste()), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
