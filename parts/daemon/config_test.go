package daemon

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
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
