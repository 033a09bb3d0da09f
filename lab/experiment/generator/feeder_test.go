package generator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/lab/experiment/environment"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/quicktest"
)

// feeding is a generator whose feeder is the given shell script.
func feeding(script, format string) *Generator {
	sc := &scenario.Scenario{}
	sc.Load.Feeder = &workload.Feeder{Program: workload.Program{Command: []string{"/bin/sh", "-c"}, Args: []string{script}}, Format: format}
	return New(&environment.Programs{Scenario: sc, Say: func(string) {}})
}

func TestFeed(t *testing.T) {
	for _, c := range []struct {
		name, script, format string
		rows                 int
		says                 string // "": no error
	}{
		{"csv", "echo uid,token; echo 1,a; echo 2,b", "csv", 2, ""},
		{"ndjson", `echo '{"uid":1}'; echo '{"uid":2}'; echo '{"uid":3}'`, "ndjson", 3, ""},
		{"what it says besides", "echo working >&2; echo uid; echo 1", "csv", 1, ""},
		{"a dollar", "printf 'uid\\n$$$$\\n'", "csv", 1, ""},
		{"no rows", "echo uid", "csv", 0, "the feeder has no rows"},
		{"nothing", "true", "csv", 0, "the feeder is empty"},
		{"the wrong format", "echo uid; echo 1", "ndjson", 0, "line 1 is not a JSON object"},
		{"a failure", "echo uid; echo 1; echo out of luck >&2; exit 3", "csv", 0, "feeder ended with exit code 3; its log ends:\n\tout of luck"},
		{"a failure before anything", "echo --token=s3cret >&2; exit 1", "csv", 0, "--token=***"},
		{"no end", "echo uid; while :; do echo 1; done", "csv", 0, "more than 1000000 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "no end" && quicktest.On() {
				t.Skip("-short: a shell prints a million rows, which takes seconds")
			}
			b := feeding(c.script, c.format)
			err := b.Feed(t.Context())
			fault := new(scenario.Fault)
			switch {
			case c.says == "" && (err != nil || b.rows.Len() != c.rows):
				t.Errorf("%v, %v", b.rows, err)
			case c.says != "" && (!errors.As(err, &fault) || !strings.HasPrefix(err.Error(), "load.feeder /bin/sh: ") || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// An interrupt (Ctrl-C) ends a feeder that is still running, and is no fault of the scenario.
func TestFeedInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began := filepath.Join(t.TempDir(), "began")
	if err := os.Mkdir(began, 0o700); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := os.Stat(began); err != nil { // the feeder has removed it
				cancel()
				return
			}
		}
	}()
	err := feeding("rmdir "+began+"; echo uid; exec sleep 600", "csv").Feed(ctx)
	if fault := new(scenario.Fault); !errors.Is(err, context.Canceled) || errors.As(err, &fault) {
		t.Errorf("%v", err)
	}
}

func TestFeedWithoutProgram(t *testing.T) {
	b := feeding("", "csv")
	b.Scenario.Load.Feeder.Program.Command = []string{"no-such-feeder"}
	if err := b.Feed(t.Context()); err == nil || !strings.Contains(err.Error(), "install no-such-feeder") {
		t.Errorf("%v", err)
	}
}
