package document

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Path is the place of a value in a document: names of fields, and list indexes from 0.
type Path []string

// At builds a path of strings and ints.
func At(steps ...any) Path { return Path(nil).To(steps...) }

// To returns the path extended by steps.
func (p Path) To(steps ...any) Path {
	out := append(Path(nil), p...)
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			out = append(out, s)
		case int:
			out = append(out, strconv.Itoa(s))
		}
	}
	return out
}

// find returns the value at p and the name of its field (nil in a list). If the path does not
// exist, it returns the last node on the way, and false.
func (d *Document) find(p Path) (key, value *yaml.Node, ok bool) {
	value = d.root
	for _, step := range p {
		var next, name *yaml.Node
		if value.Kind == yaml.SequenceNode {
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(value.Content) {
				next = value.Content[i]
			}
		} else {
			name, next = entry(value, step)
		}
		if next == nil {
			return key, value, false
		}
		key, value = name, next
	}
	return key, value, true
}

// Has reports whether there is a value at p.
func (d *Document) Has(p Path) bool {
	_, _, ok := d.find(p)
	return ok
}

// FaultAt reports an error at the value at p, or at its nearest ancestor.
func (d *Document) FaultAt(p Path, format string, args ...any) {
	d.fault(d.Node(p), p, format, args...)
}

// FaultName reports an error at the name of the field at p.
func (d *Document) FaultName(p Path, format string, args ...any) {
	key, n, _ := d.find(p)
	if key != nil {
		n = key
	}
	d.fault(n, p, format, args...)
}

// Display formats a path: load.classes[0].name.
func (d *Document) Display(p Path) string {
	var out strings.Builder
	for i, step := range p {
		_, parent, ok := d.find(p[:i])
		switch {
		case ok && parent.Kind == yaml.SequenceNode:
			out.WriteString("[" + step + "]")
		case i > 0:
			out.WriteString("." + Clip(step))
		default:
			out.WriteString(Clip(step))
		}
	}
	return out.String()
}

// Node returns the value at p, or its nearest ancestor.
func (d *Document) Node(p Path) *yaml.Node {
	_, n, _ := d.find(p)
	return n
}
