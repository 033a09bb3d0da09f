package config

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"dyno/parts/refusal"
)

// A configuration file has some dozens of keys; what is larger is another file given by mistake.
const maxConfigBytes = 1 << 20

// FromFile sets the flags that neither the command line nor the environment set. One file may serve
// all commands of a service, so keys that are flags of another command (elsewhere) are ignored.
func FromFile(f *pflag.FlagSet, path string, elsewhere []string) error {
	keys, err := readConfig(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var names []string
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "help" && flag.Name != "config" {
			names = append(names, flag.Name)
		}
	})
	for _, k := range keys {
		where := fmt.Sprintf("%s:%d", path, k.line)
		switch {
		case slices.Contains(names, k.name):
		case slices.Contains(elsewhere, k.name):
			continue
		default:
			hint := "the keys are the names of flags, which --help lists"
			if near := refusal.Nearest(k.name, append(names, elsewhere...)); near != "" {
				hint = "did you mean " + near + "?"
			}
			return fmt.Errorf("%s: unknown key %s; %s", where, k.name, hint)
		}
		if err := k.fits(f.Lookup(k.name).Value); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if err := supply(f, f.Lookup(k.name), where, k.values); err != nil {
			return err
		}
	}
	return nil
}

func readConfig(path string) ([]configKey, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfigBytes {
		return nil, fmt.Errorf("%s has more than %d bytes: is it the right file?", path, maxConfigBytes)
	}
	keys, err := parseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// configKey is one top-level key of a configuration file.
type configKey struct {
	name   string
	line   int
	kind   yaml.Kind
	values []string // one, those of a list, or NAME=VALUE for each pair of a mapping
}

// fits says whether a flag takes a key's kind of value.
func (k configKey) fits(flag pflag.Value) error {
	pairs, ok := flag.(*Pairs)
	_, repeats := flag.(pflag.SliceValue)
	switch {
	case k.kind == yaml.ScalarNode && (!ok || pairs.Alone != ""),
		k.kind == yaml.SequenceNode && repeats,
		k.kind == yaml.MappingNode && ok:
		return nil
	case ok:
		return fmt.Errorf("%s takes a mapping of names to values", k.name)
	case repeats:
		return fmt.Errorf("%s takes a value or a list of them", k.name)
	}
	return fmt.Errorf("%s takes a single value", k.name)
}

// parseConfig reads a mapping of keys to values, lists of values, or mappings of names to values.
func parseConfig(text []byte) ([]configKey, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 { // nothing but comments
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, atLine(top, `a configuration is a mapping such as "listen: 127.0.0.1:8080"`)
	}
	var keys []configKey
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], top.Content[i+1]
		if name.Kind != yaml.ScalarNode {
			return nil, atLine(name, "a key is a single word")
		}
		if slices.ContainsFunc(keys, func(k configKey) bool { return k.name == name.Value }) {
			return nil, atLine(name, name.Value+" is there twice")
		}
		values, err := configValues(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name.Value, err)
		}
		keys = append(keys, configKey{name.Value, name.Line, value.Kind, values})
	}
	return keys, nil
}

// configValues reads a scalar, the elements of a list, or each pair of a mapping as NAME=VALUE.
func configValues(value *yaml.Node) (values []string, err error) {
	nodes := []*yaml.Node{value}
	if value.Kind == yaml.MappingNode || value.Kind == yaml.SequenceNode {
		nodes = value.Content
	}
	for _, n := range nodes {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return nil, atLine(n, "a single value is missing here")
		}
		values = append(values, n.Value)
	}
	if value.Kind != yaml.MappingNode {
		return values, nil
	}
	var pairs []string
	for pair := range slices.Chunk(values, 2) {
		pairs = append(pairs, strings.Join(pair, "="))
	}
	return pairs, nil
}

func atLine(n *yaml.Node, what string) error {
	return fmt.Errorf("line %d: %s", n.Line, what)
}
