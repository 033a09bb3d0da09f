// Package document reads a YAML file in which every value knows its line and column, and validates
// it by a JSON Schema. Every error has file:line:column and, if it can be guessed, the intended
// value; all errors are reported together.
//
// It is not for what a schema cannot express: package scenario asks the document for values and
// adds faults at their positions. It starts no goroutines.
package document

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file, which may come from another person.
const (
	MaxBytes = 256 << 10 // of a file: a scenario is a page or two; 256 kB leave room for long lists of rates
	maxNodes = 20_000    // after aliases are resolved
	MaxText  = 1 << 20   // bytes of all values, after aliases are resolved
	maxDepth = 64        // the schema is 6 deep
)

// Document is a YAML file in which every alias and merge key was replaced by its value. Nodes
// keep the position at which they were written.
type Document struct {
	file  string
	rules *Schema
	root  *yaml.Node
	errs  Errors
	nodes int
	text  int // bytes of the values so far
	// following holds the anchors whose aliases are being resolved, to detect cycles.
	following map[*yaml.Node]bool
}

// Read parses b, for Validate with the rules; file precedes every error's position. It fails if b
// is not YAML, or not exactly one mapping.
func Read(file string, b []byte, rules *Schema) (*Document, error) {
	at := func(line int, format string, args ...any) error {
		return Errors{{File: file, Line: line, Column: 1, Message: fmt.Sprintf(format, args...)}}
	}
	if len(b) > MaxBytes {
		return nil, at(1, "the file has %d bytes; a scenario has at most %d: move bodies and lists to files of their own (body_file, corpus, feeder)", len(b), MaxBytes)
	}
	documents, err := parseYAML(b)
	switch {
	case err != nil:
		line, message := locate(b, err)
		return nil, at(line, "not YAML: %s (%s)", message, advice(b, line, message))
	case len(documents) == 0:
		return nil, at(1, "the file is empty; dyno init writes a scenario to start from")
	case len(documents) > 1:
		return nil, at(max(1, documents[1].Line), "a second document begins here; a file holds one scenario")
	}
	d := &Document{file: file, rules: rules, following: map[*yaml.Node]bool{}}
	d.root = d.resolve(documents[0].Content[0], 0)
	if d.root == nil {
		return nil, d.errs
	}
	if d.root.Kind != yaml.MappingNode {
		d.fault(d.root, nil, "found %s; a scenario is a mapping that begins like name: my-service", found(d.root))
		return nil, d.errs
	}
	return d, nil
}

// Decode fills in a value from the document, as far as the types allow.
func (d *Document) Decode(into any) error { return d.root.Decode(into) }

// Err returns the errors so far, in the order of the file; nil: none.
func (d *Document) Err() error {
	if len(d.errs) == 0 {
		return nil
	}
	d.errs = d.errs.sorted()
	return d.errs
}

// fault reports an error at a node; where is the node's place in the document.
func (d *Document) fault(n *yaml.Node, where Path, format string, args ...any) {
	if len(d.errs) == maxErrors {
		return
	}
	d.errs = append(d.errs, Error{File: d.file, Line: max(1, n.Line), Column: max(1, n.Column), Field: d.Display(where),
		Message: fmt.Sprintf(format, args...)})
}

// resolve copies a node without aliases and merge keys. It returns nil after an error that leaves
// no usable node.
func (d *Document) resolve(n *yaml.Node, depth int) *yaml.Node {
	d.nodes++
	d.text += len(n.Value)
	if d.nodes > maxNodes || d.text > MaxText {
		d.fault(n, nil, "more than %d values or %d bytes after aliases are resolved; a scenario needs far less", maxNodes, MaxText)
		return nil
	}
	if depth > maxDepth {
		d.fault(n, nil, "nested more than %d deep", maxDepth)
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias == nil || d.following[n.Alias] {
			d.fault(n, nil, "the anchor &%s contains itself", n.Value)
			return nil
		}
		d.following[n.Alias] = true
		defer delete(d.following, n.Alias)
		return d.resolve(n.Alias, depth+1)
	case yaml.MappingNode:
		return d.resolveMapping(n, depth)
	case yaml.SequenceNode:
		out := *n
		out.Anchor, out.Content = "", make([]*yaml.Node, 0, len(n.Content))
		for _, item := range n.Content {
			item = d.resolve(item, depth+1)
			if item == nil {
				return nil
			}
			out.Content = append(out.Content, item)
		}
		return &out
	default:
		out := *n
		out.Anchor = ""
		return &out
	}
}

// resolveMapping copies a mapping; its own fields override merged ones, and a repeated field is
// an error.
func (d *Document) resolveMapping(n *yaml.Node, depth int) *yaml.Node {
	out := *n
	out.Anchor, out.Content = "", nil
	first := map[string]int{} // line of each of its own fields
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], d.resolve(n.Content[i+1], depth+1)
		if value == nil {
			return nil
		}
		switch line, twice := first[key.Value]; {
		case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode:
			d.fault(key, nil, "found %s where a field's name should be", found(key))
			return nil
		case twice:
			d.fault(key, nil, "%s is written twice in one mapping; the first is on line %d", key.Value, line)
		default:
			first[key.Value] = key.Line
			name := *key
			name.Anchor, name.Tag = "", "!!str" // a field's name such as 200: or true: is text
			out.Content = append(out.Content, &name, value)
		}
	}
	for _, m := range merged {
		if !d.merge(&out, m) {
			return nil
		}
	}
	return &out
}

// merge adds the fields of a mapping, or of each of a list of mappings, that into lacks.
func (d *Document) merge(into, from *yaml.Node) bool {
	switch from.Kind {
	case yaml.SequenceNode:
		for _, item := range from.Content {
			if item.Kind != yaml.MappingNode || !d.merge(into, item) {
				d.fault(item, nil, "<< merges mappings; found %s", found(item))
				return false
			}
		}
		return true
	case yaml.MappingNode:
		for i := 0; i+1 < len(from.Content); i += 2 {
			if _, value := entry(into, from.Content[i].Value); value == nil {
				into.Content = append(into.Content, from.Content[i], from.Content[i+1])
			}
		}
		return true
	}
	d.fault(from, nil, "<< merges mappings; found %s", found(from))
	return false
}

// entry returns a mapping's field; both are nil if there is no such field.
func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// plain returns the node at p as JSON values for the schema.
func (d *Document) plain(n *yaml.Node, p Path) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			out[name] = d.plain(n.Content[i+1], p.To(name))
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = d.plain(item, p.To(i))
		}
		return out
	}
	return d.scalar(n, p)
}

// scalar returns null, bool, number or string. A YAML time stamp counts as text.
func (d *Document) scalar(n *yaml.Node, p Path) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			d.fault(n, p, "%q does not match its tag", Clip(n.Value))
			return n.Value
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			d.fault(n, p, "%s is not a usable number", n.Value)
			return 0
		}
		return v
	case "!!str", "!!timestamp":
		return n.Value
	}
	d.fault(n, p, "the tag %s is not supported", Clip(n.Tag))
	return n.Value
}

// found describes a node in a message.
func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!str":
		return fmt.Sprintf("the text %q", Clip(n.Value))
	}
	return Clip(n.Value)
}
