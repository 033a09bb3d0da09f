package scenario

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// path is the place of a value in a document: names of fields, and list indexes from 0.
type path []string

// at builds a path of strings and ints.
func at(steps ...any) path { return path(nil).to(steps...) }

// to returns the path extended by steps.
func (p path) to(steps ...any) path {
	out := append(path(nil), p...)
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
func (d *document) find(p path) (key, value *yaml.Node, ok bool) {
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

// has reports whether there is a value at p.
func (d *document) has(p path) bool {
	_, _, ok := d.find(p)
	return ok
}

// faultAt reports an error at the value at p, or at its nearest ancestor.
func (d *document) faultAt(p path, format string, args ...any) {
	d.fault(d.node(p), p, format, args...)
}

// faultName reports an error at the name of the field at p.
func (d *document) faultName(p path, format string, args ...any) {
	key, n, _ := d.find(p)
	if key != nil {
		n = key
	}
	d.fault(n, p, format, args...)
}

// display formats a path: load.classes[0].name.
func (d *document) display(p path) string {
	var out strings.Builder
	for i, step := range p {
		_, parent, ok := d.find(p[:i])
		switch {
		case ok && parent.Kind == yaml.SequenceNode:
			out.WriteString("[" + step + "]")
		case i > 0:
			out.WriteString("." + clip(step))
		default:
			out.WriteString(clip(step))
		}
	}
	return out.String()
}

// node returns the value at p, or its nearest ancestor.
func (d *document) node(p path) *yaml.Node {
	_, n, _ := d.find(p)
	return n
}
