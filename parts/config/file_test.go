package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// A flag that may be given several times takes a list; the command line replaces all of it.
func TestConfigurationOfSeveralValues(t *testing.T) {
	for _, c := range []struct{ args, file, want, err string }{
		{"", "server: a", "a", ""},
		{"", "server: [a, b]", "a b", ""},
		{"", "server:\n  - a\n  - b\n", "a b", ""},
		{"--server=c", "server: [a, b]", "c", ""},
		{"", "server: []", "", ""},
		{"", "server: {a: b}", "", "toyd.yaml:1: server takes a value or a list of them"},
		{"", "server: [[a]]", "", "line 1: a single value is missing here"},
		{"", "listen: [a]", "", "toyd.yaml:1: listen takes a single value"},
		{"", "listen: {a: b}", "", "toyd.yaml:1: listen takes a single value"},
		{"", "set: [a, b]", "", "toyd.yaml:1: set takes a mapping of names to values"},
	} {
		path := filepath.Join(t.TempDir(), "toyd.yaml")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet("toyd", pflag.ContinueOnError)
		flags.String("listen", "", "")
		flags.Var(&Pairs{}, "set", "")
		servers := flags.StringArray("server", nil, "")
		if err := flags.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		err := FromFile(flags, path, nil)
		if c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)) || c.err == "" && err != nil {
			t.Errorf("%s: %v, want %q", c.file, err, c.err)
		}
		if got := strings.Join(*servers, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.file, got, c.want)
		}
	}
}

func TestConfigurationIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toyd.yaml")
	if err := os.WriteFile(path, []byte("listen: a\n"+strings.Repeat("#", maxConfigBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	err := FromFile(pflag.NewFlagSet("toyd", pflag.ContinueOnError), path, nil)
	if err == nil || !strings.Contains(err.Error(), "is it the right file?") {
		t.Error(err)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{"", "listen: a", "set: {a: b}", "a: &x [1]\nb: *x", "? [a]\n: b", "a: !!binary x", "<<: {a: b}",
		"listen: [", "\x00", "a:\n- b", "set: {a: {b: c}}", "--- a\n--- b", "&a a: *a"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseConfig(text)
		if err != nil && len(keys) > 0 {
			t.Fatal("keys beside an error")
		}
		seen := make(map[string]bool)
		for _, k := range keys {
			if seen[k.name] || k.line < 1 || k.kind == yaml.ScalarNode && len(k.values) != 1 {
				t.Fatalf("%+v", k)
			}
			seen[k.name] = true
		}
	})
}
