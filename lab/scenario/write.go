package scenario

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// SchemaFile is the file that Modeline names, in the folder of the scenario.
const SchemaFile = "dyno.schema.json"

// Modeline makes editors with the YAML language server complete and check a scenario.
const Modeline = "# yaml-language-server: $schema=" + SchemaFile

// Comments are the comments of a written file.
type Comments struct {
	Modeline bool              // begin with Modeline
	Top      []string          // above everything else, a line each
	Above    map[string]string // by the field of the scenario above which the comment stands
	// Names is the order of header fields, variables and saved values; others follow by name.
	Names []string
}

// Starting returns the comments of a first scenario, of mode capacity.
func Starting() Comments {
	return Comments{Above: map[string]string{
		"mode": "find the highest rate that meets the slo; dyno run and dyno capacity both take this file",
		"slo":  "edit this: a load that misses it does not count as carried",
	}}
}

// Write writes a scenario as a file that the parser reads as the same scenario. Texts must be
// templates; see workload.Literal.
func Write(to io.Writer, s *Scenario, c Comments) error {
	root, err := tree(s)
	if err != nil {
		return fmt.Errorf("writing a scenario: %w", err)
	}
	w := writer{names: c.Names}
	w.style(root, "")
	for i := 0; i < len(root.Content); i += 2 {
		if text := c.Above[root.Content[i].Value]; text != "" {
			root.Content[i].HeadComment = "# " + oneLine(text)
		}
	}
	var out bytes.Buffer
	if c.Modeline {
		out.WriteString(Modeline + "\n")
	}
	for _, line := range c.Top {
		out.WriteString(strings.TrimRight("# "+oneLine(line), " ") + "\n")
	}
	if out.Len() > 0 {
		out.WriteString("\n")
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return fmt.Errorf("writing a scenario: %w", err)
	}
	if err := enc.Close(); err != nil {
		return err
	}
	_, err = to.Write(out.Bytes())
	return err
}

// orderOfLoad are the first fields of load, and order those of the scenario, in a file.
var (
	orderOfLoad = []string{"kind", "url", "method", "headers", "body", "body_file", "repeat", "array", "check", "corpus", "feeder", "steps", "classes", "tls"}
	order       = []string{"name", "description", "mode", "target", "companions", "setup", "load", "slo", "variants", "sweep", "measure", "exclusive"}
)

func tree(s *Scenario) (*yaml.Node, error) {
	file := File{Scenario: *s, Load: FieldsOf(s.Load)}
	if s.Sweep != nil {
		file.Variants = nil // they follow from it
	}
	root := &yaml.Node{}
	if err := root.Encode(file); err != nil {
		return nil, err
	}
	if slo := s.SLO.String(); slo != "" {
		root.Content = append(root.Content, text("slo"), text(slo))
	}
	byName(root, order)
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "load" {
			byName(root.Content[i+1], orderOfLoad)
		}
	}
	return root, nil
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// writer gives the nodes of a scenario their form.
type writer struct{ names []string }

// style sets the form of a node and of those below it; name is the field that it is the value of.
func (w *writer) style(n *yaml.Node, name string) {
	switch n.Kind {
	case yaml.ScalarNode:
		plain(n)
	case yaml.SequenceNode:
		if name == "json" || !slices.ContainsFunc(n.Content, func(item *yaml.Node) bool { return item.Kind != yaml.ScalarNode }) {
			n.Style = yaml.FlowStyle
		}
		for _, item := range n.Content {
			if name == "json" {
				existing(item)
			}
			w.style(item, "")
		}
	case yaml.MappingNode:
		if name == "headers" || name == "env" || name == "save" {
			byName(n, w.names)
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			plain(key)
			w.style(value, key.Value)
			if name == "save" {
				value.Style = yaml.FlowStyle
			}
		}
	}
}

// byName sorts a mapping by the order of some names, which precede all others.
func byName(n *yaml.Node, names []string) {
	type field struct{ key, value *yaml.Node }
	var fields []field
	for i := 0; i+1 < len(n.Content); i += 2 {
		fields = append(fields, field{n.Content[i], n.Content[i+1]})
	}
	at := func(f field) int {
		if i := slices.Index(names, f.key.Value); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(fields, func(a, b field) int { return at(a) - at(b) })
	n.Content = n.Content[:0]
	for _, f := range fields {
		n.Content = append(n.Content, f.key, f.value)
	}
}

// existing removes equals from a test that a field exists: the file must not have both.
func existing(test *yaml.Node) {
	fields := map[string]int{}
	for i := 0; i+1 < len(test.Content); i += 2 {
		fields[test.Content[i].Value] = i
	}
	if _, exists := fields["exists"]; exists {
		test.Content = slices.Delete(test.Content, fields["equals"], fields["equals"]+2)
	}
}

// plain makes a scalar text that YAML and terminals can show.
func plain(n *yaml.Node) {
	if n.Tag == "!!binary" {
		b, _ := base64.StdEncoding.DecodeString(n.Value) // the encoder wrote it
		n.SetString(strings.ToValidUTF8(string(b), "?"))
	}
	if strings.ContainsFunc(strings.ReplaceAll(n.Value, "\n", ""), unseen) {
		n.Style = yaml.DoubleQuotedStyle // the style that permits escapes
	}
}

// oneLine makes a text a line of a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) || r == '\ufeff' || r == '\ufffe' || r == '\uffff' { // the last three are not valid in YAML
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// unseen reports whether a character controls a terminal, or changes the writing direction.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
