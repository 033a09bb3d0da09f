package daemon

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// completed resolves the options from all three sources.
func completed(t *testing.T, args []string, env map[string]string, file string) (options, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "toyd.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	var o options
	flags := pflag.NewFlagSet("toyd", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.declare(flags, toy())
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, o.complete(flags, toy(), func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}, nil)
}

func TestFlagsThenEnvironmentThenFile(t *testing.T) {
	file := "listen: file:1\ndrain-timeout: 3s\nassembly: ring\nset:\n  workers: 3\n  queue: swap\n"
	env := map[string]string{"TOYD_LISTEN": "env:1", "TOYD_DRAIN_TIMEOUT": "2s", "TOYD_SET": "workers=2,linger=2ms"}
	for _, c := range []struct {
		name string
		args []string
		env  map[string]string
		file string
		want string // listen, drain-timeout, assembly, workers, queue, linger
	}{
		{"defaults", nil, nil, "", "127.0.0.1:8080 20s tuned 8 ring 1ms"},
		{"file", nil, nil, file, "file:1 3s ring 3 swap 0s"},
		{"environment over file", nil, env, file, "env:1 2s ring 2 swap 2ms"},
		{"flags over both", []string{"--listen=flag:1", "--set=workers=1", "--assembly=baseline"}, env, file, "flag:1 2s baseline 1 swap 2ms"},
		{"a flag given as its default", []string{"--listen=127.0.0.1:8080"}, env, file, "127.0.0.1:8080 2s ring 2 swap 2ms"},
		{"the last of a name", []string{"--set=workers=5", "--set=workers=6"}, nil, "", "127.0.0.1:8080 20s tuned 6 ring 1ms"},
		{"empty variable", nil, map[string]string{"TOYD_LISTEN": ""}, file, "file:1 3s ring 3 swap 0s"},
		{"empty file", nil, nil, "# nothing\n", "127.0.0.1:8080 20s tuned 8 ring 1ms"},
		{"value with an equals sign", nil, map[string]string{"TOYD_DATA": "a=b,c"}, "", "127.0.0.1:8080 20s tuned 8 ring 1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := completed(t, c.args, c.env, c.file)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(o.listen, " ", o.drainTimeout, " ", o.choice.Name(), " ", o.choice.Get("workers"), " ",
				o.choice.Get("queue"), " ", o.choice.Get("linger"))
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if want := c.env["TOYD_DATA"]; want != "" && o.data != want {
				t.Errorf("data %q, want %q", o.data, want)
			}
		})
	}
}

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
		var o options
		flags := pflag.NewFlagSet("toyd", pflag.ContinueOnError)
		o.declare(flags, toy())
		servers := flags.StringArray("server", nil, "")
		if err := flags.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		err := fromFile(flags, path, nil)
		if c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)) || c.err == "" && err != nil {
			t.Errorf("%s: %v, want %q", c.file, err, c.err)
		}
		if got := strings.Join(*servers, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.file, got, c.want)
		}
	}
}

func TestConfigurationIsBounded(t *testing.T) {
	_, err := completed(t, nil, nil, "listen: a\n"+strings.Repeat("#", maxConfigBytes))
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
