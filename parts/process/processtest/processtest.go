// Package processtest builds and starts programs for tests. Builds are kept for the rest of the
// test binary's run; processes end with the test that started them. It is not for programs.
package processtest

import (
	"os"
	"sync"
	"testing"
	"time"

	"dyno/parts/process"
)

// Builds are the programs that a package's tests have built. Its zero value is ready; TestMain
// calls Remove.
type Builds struct {
	mu       sync.Mutex
	dir      string
	programs map[string]string // path by package
}

// Program returns the path of a package's program, which it builds when it is asked for the first
// time.
func (b *Builds) Program(t testing.TB, pkg string) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if path, built := b.programs[pkg]; built {
		return path
	}
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "programs-")
		if err != nil {
			t.Fatal(err)
		}
		b.dir, b.programs = dir, map[string]string{}
	}
	path, err := process.Build(t.Context(), "", pkg, b.dir)
	if err != nil {
		t.Fatal(err)
	}
	b.programs[pkg] = path
	return path
}

// Remove deletes what was built.
func (b *Builds) Remove() { os.RemoveAll(b.dir) }

// patience is how long a process may take to be ready, and to end after SIGTERM: a loaded machine's.
const patience = 3 * time.Minute

// Start starts a program that prints a ready line, and kills it when the test ends unless it was
// stopped before.
func Start(t testing.TB, command ...string) *process.Process {
	t.Helper()
	p, err := process.Start(t.Context(), process.Spec{Command: command, ReadyLine: true, ReadyTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Stop sends SIGTERM to a process and waits for its end; a process that does not end well fails the
// test.
func Stop(t testing.TB, p *process.Process) {
	t.Helper()
	if err := p.Stop(patience); err != nil {
		t.Error(err)
	}
}
