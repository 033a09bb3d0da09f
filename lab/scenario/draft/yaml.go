package draft

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// mapping is a YAML mapping in the order of its lines.
type mapping []*yaml.Node

func (m mapping) node() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: m} }

// add adds a line, unless the value is an empty text. The comment stands above it.
func (m *mapping) add(name string, value any, comment string) {
	if value != "" {
		m.put(name, scalar(value), comment)
	}
}

// always adds a line, also with an empty text.
func (m *mapping) always(name, value string) { m.put(name, scalar(value), "") }

// child adds a mapping unless it is empty.
func (m *mapping) child(name string, value mapping, comment string) {
	if len(value) > 0 {
		m.put(name, value.node(), comment)
	}
}

// children adds a list of classes.
func (m *mapping) children(name string, classes []Class) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range classes {
		n := classes[i].mapping().node()
		n.HeadComment = comment(classes[i].Comment)
		list.Content = append(list.Content, n)
	}
	m.put(name, list, "")
}

func (m *mapping) put(name string, value *yaml.Node, above string) {
	key := scalar(name)
	key.HeadComment = comment(above)
	*m = append(*m, key, value)
}

func comment(s string) string {
	if s == "" {
		return ""
	}
	return "# " + oneLine(s)
}

// oneLine makes a text a line of a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) || r == '\ufeff' || r == '\ufffe' || r == '\uffff' { // YAML has none of the last three
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// unseen reports whether a character controls a terminal, or changes the writing direction.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

func scalar(value any) *yaml.Node {
	n := &yaml.Node{}
	if n.Encode(value) != nil { // only texts, numbers and truth values arrive here
		n.SetString("")
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!binary" {
		n.SetString(strings.ToValidUTF8(value.(string), "?"))
	}
	if n.Kind == yaml.ScalarNode && strings.ContainsFunc(strings.ReplaceAll(n.Value, "\n", ""), unseen) {
		n.Style = yaml.DoubleQuotedStyle // the one in which what shows the file may escape them
	}
	return n
}

// list adds a list on one line, unless it is empty.
func (m *mapping) list(name string, values any) {
	n := scalar(values)
	if len(n.Content) > 0 {
		n.Style = yaml.FlowStyle
		m.put(name, n, "")
	}
}
