package environment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/parts/process"
)

// Programs holds the programs of a scenario, for which it makes testbeds.
type Programs struct {
	Scenario *scenario.Scenario
	Variants []scenario.Variant // those that are measured, in order
	PID      int                // process of a target that the lab does not start; 0: the process that listens at its URL
	Say      func(text string)  // reports an event as text
	Dir      string             // folder of files for its programs, outside the record; only this user can read it
	Binaries *Binaries          // shared with other experiments; nil before Build: Build makes its own

	own bool // Close removes the binaries
}

// Build builds every program that the scenario names.
func (b *Programs) Build(ctx context.Context) error {
	var err error
	if b.Dir, err = os.MkdirTemp("", "dyno-"); err != nil {
		return err
	}
	if b.Binaries == nil {
		b.Binaries, b.own = &Binaries{Dir: filepath.Join(b.Dir, "bin")}, true
	}
	packages := []string{}
	for _, c := range b.Scenario.Dependencies {
		packages = append(packages, c.Build)
	}
	if f := b.Scenario.Load.Feeder; f != nil {
		packages = append(packages, f.Program.Build)
	}
	if d := b.Scenario.Load.Driver; d != nil {
		packages = append(packages, d.Build)
	}
	for _, v := range b.Variants {
		t := b.Scenario.TargetOf(v)
		if t.PGO != "" {
			_, err = b.Binaries.Build(ctx, b.Scenario.Root, t.Build, t.PGO, b.Say)
		} else {
			packages = append(packages, t.Build)
		}
		if err != nil {
			b.Close()
			return err
		}
	}
	for _, pkg := range packages {
		if pkg == "" {
			continue
		}
		if _, err := b.Binaries.Build(ctx, b.Scenario.Root, pkg, "", b.Say); err != nil {
			b.Close()
			return err // the error names the package
		}
	}
	return nil
}

// Close removes the files of Dir, and the binaries if no other experiment shares them.
func (b *Programs) Close() {
	os.RemoveAll(b.Dir)
	if b.own {
		b.Binaries.Close()
	}
}

// Command returns a command whose program is built from a Go package or, if pkg is empty, is the
// command's first word.
func (b *Programs) Command(pkg string, command, args []string) []string {
	return b.command(scenario.Process{Build: pkg, Command: command, Args: args})
}

func (b *Programs) command(p scenario.Process) []string {
	command := p.Command
	if p.Build != "" {
		command = []string{b.Binaries.paths[built{p.Build, p.PGO}]}
	}
	return append(append([]string(nil), command...), p.Args...)
}

// Binaries holds the programs that this process has built.
type Binaries struct {
	Dir   string // folder of the built programs
	paths map[built]string
}

// built is a Go package with the profile that it is compiled with.
type built struct{ pkg, pgo string }

// Build builds a package, whose name is relative to root, unless it is built already, and returns
// the program's path. pgo is a CPU profile for the compiler; empty: the package's default.pgo, if
// it has one.
func (b *Binaries) Build(ctx context.Context, root, pkg, pgo string, say func(string)) (string, error) {
	key := built{pkg, pgo}
	if path := b.paths[key]; path != "" {
		return path, nil
	}
	var flags []string
	if pgo == "" {
		say("building " + pkg)
	} else {
		say("building " + pkg + " with its profile")
		flags = []string{"-pgo=" + pgo}
	}
	// Each package has a folder of its own, since the programs of ./old/server and ./new/server
	// are both named server.
	path, err := process.Build(ctx, root, pkg, filepath.Join(b.Dir, strconv.Itoa(len(b.paths))), flags...)
	if err != nil {
		return "", err
	}
	if b.paths == nil {
		b.paths = map[built]string{}
	}
	b.paths[key] = path
	return path, nil
}

// Close removes the binaries.
func (b *Binaries) Close() { os.RemoveAll(b.Dir) }

// Variant returns the variant that a step starts. An ablation starts the last variant, with the
// arguments that undo one step's change.
func (b *Programs) Variant(step record.RunSpec) (scenario.Variant, error) {
	for _, v := range b.Variants {
		if v.Name != step.Variant {
			continue
		}
		if step.Role != record.RoleAblation {
			return v, nil
		}
		last := b.Variants[len(b.Variants)-1]
		last.Name = last.Name + " without " + v.Name
		last.Args = append(append([]string(nil), last.Args...), v.Undo...)
		return last, nil
	}
	return scenario.Variant{}, fmt.Errorf("no variant is called %q", step.Variant)
}
