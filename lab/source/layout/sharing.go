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

// structs examines the structs that a file declares.
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

// shared finds the lines of one struct that are written by one function and used by another.
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
		kind, fields := p.independentWriters(here)
		if len(fields) == 0 {
			continue
		}
		found := Sharing{Kind: kind, Size: size, CacheLine: line}
		for _, m := range fields {
			found.Fields = append(found.Fields, m.field(name.Pkg()))
		}
		found.Advice = p.advice(kind, fields)
		out = append(out, found)
	}
	return out
}

// independentWriters returns the members of a line that are written by independent functions; if
// there are none, the members read by functions that do not access the written one.
func (p *program) independentWriters(line []member) (Kind, []member) {
	involved := map[int]bool{}
	for i, a := range line {
		for j, b := range line[:i] {
			if a.written() && b.written() && (a.use != Counter || b.use != Counter) && p.accessedElsewhere(a, b) && p.accessedElsewhere(b, a) {
				involved[i], involved[j] = true, true
			}
		}
	}
	kind := Writers
	if len(involved) == 0 {
		kind = Readers
		if !slices.ContainsFunc(line, func(m member) bool { return m.use == Atomic }) {
			return kind, nil // most structs with a lock have it beside fields that are only read
		}
		for i, r := range line {
			if r.use == Read && p.neverWrittenBy(r, line) {
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

// accessedElsewhere reports whether a function uses a, and neither it nor its callees use b. A
// function that uses both has to wait for b's line in any case.
func (p *program) accessedElsewhere(a, b member) bool {
	through := callersOf(b.busy)
	for f := range a.users {
		if !through[f] {
			return true
		}
	}
	return false
}

// neverWrittenBy reports whether a function that reads r does not access the written members of its
// line.
func (p *program) neverWrittenBy(r member, line []member) bool {
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

// callersOf returns some functions and all functions that reach them by calls.
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

// advice is the change to try.
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
	return fmt.Sprintf("put %s between those of %s with independent writers", pad, list(written))
}

func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// padding computes the bytes that another order of the fields would save.
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

// sort orders by probable cost: first the kind, then the number of fields and functions.
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
