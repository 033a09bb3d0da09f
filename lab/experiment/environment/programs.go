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

// Programs are the programs of a scenario, from which environments are made.
type Programs struct {
	Scenario *scenario.Scenario
	Variants []scenario.Variant // those that are measured, in order
	PID      int                // process of a running target; 0: the process that listens at its URL
	Say      func(text string)  // reports an event in words
	Dir      string             // folder of the binaries, apart from the record, which only this user can read

	binaries map[string]string // Go package -> its binary
}

// Build builds every program that the scenario names.
func (b *Programs) Build(ctx context.Context) error {
	var err error
	if b.Dir, err = os.MkdirTemp("", "dyno-"); err != nil {
		return err
	}
	b.binaries = map[string]string{}
	packages := []string{}
	for _, c := range b.Scenario.Companions {
		packages = append(packages, c.Build)
	}
	if f := b.Scenario.Load.Feeder; f != nil {
		packages = append(packages, f.Build)
	}
	if d := b.Scenario.Load.Driver; d != nil {
		packages = append(packages, d.Build)
	}
	for _, v := range b.Variants {
		packages = append(packages, b.Scenario.TargetOf(v).Build)
	}
	for _, pkg := range packages {
		if pkg == "" || b.binaries[pkg] != "" {
			continue
		}
		b.Say("building " + pkg)
		// One folder per package: ./old/server and ./new/server are both called server.
		bin, err := process.Build(ctx, b.Scenario.Root, pkg, filepath.Join(b.Dir, strconv.Itoa(len(b.binaries))))
		if err != nil {
			b.Close()
			return err // it names the package
		}
		b.binaries[pkg] = bin
	}
	return nil
}

// Close removes the binaries.
func (b *Programs) Close() { os.RemoveAll(b.Dir) }

// Command returns a command whose program is either built from a Go package or its own first word.
func (b *Programs) Command(pkg string, command, args []string) []string {
	if pkg != "" {
		command = []string{b.binaries[pkg]}
	}
	return append(append([]string(nil), command...), args...)
}

// Variant returns the variant that a step starts. An ablation starts the last variant without the
// step's change.
func (b *Programs) Variant(step record.Step) (scenario.Variant, error) {
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
