package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/scenario"
)

// A companion that is ready when it has ended fills its folder for those that start after it, and
// is none of the processes that are watched and stopped later: its ID may be another process's by then.
func TestCompanionEnds(t *testing.T) {
	fill := scenario.Dependency{Name: "fill", Process: scenario.Process{Command: []string{"sh", "-c", "echo filled > $0/file"}, Args: []string{"${scratch}"}, Ready: scenario.Ready{Exit: true}}}
	next := scenario.Dependency{Name: "next", Process: scenario.Process{Command: []string{"cp"}, Args: []string{"${fill.scratch}/file", "${scratch}/copy"}, Ready: scenario.Ready{Exit: true}}}
	b := &Programs{Scenario: &scenario.Scenario{Dependencies: []scenario.Dependency{fill, next}}}
	s := b.New(t.TempDir(), nil)
	defer s.Down()
	if err := s.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(filepath.Join(s.scratch, "next", "copy"))
	if err != nil || string(copied) != "filled\n" {
		t.Errorf("%q, %v", copied, err)
	}
	if pids := s.DependencyPIDs(); len(pids) > 0 {
		t.Errorf("processes %v are watched, though all have ended", pids)
	}
}

// One that fails, or does not end in time, is an error that says which, and why.
func TestCompanionDoesNotEnd(t *testing.T) {
	for command, c := range map[string]struct {
		timeout time.Duration
		want    string
	}{
		"echo no space left >&2; exit 3": {time.Minute, "no space left"},
		"exec sleep 1000":                {100 * time.Millisecond, "ready.timeout"},
	} {
		fill := scenario.Dependency{Name: "fill", Process: scenario.Process{Command: []string{"sh", "-c", command}, Ready: scenario.Ready{Exit: true, Timeout: c.timeout}}}
		b := &Programs{Scenario: &scenario.Scenario{Dependencies: []scenario.Dependency{fill}}}
		s := b.New(t.TempDir(), nil)
		err := s.Up(t.Context())
		s.Down()
		if err == nil || !strings.Contains(err.Error(), "companion fill") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", command, err, c.want)
		}
	}
}
