package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dyno/bench/command"

	"go.yaml.in/yaml/v3"
)

// listed is what the command knows of programs and of the bounds of their loads.
//
//go:embed programs.yaml
var listed []byte

// debugPages serves net/http/pprof; it is built into programs that have no debug address.
//
//go:embed pprof.go.txt
var debugPages []byte

// Variants of each load's scenario.
const (
	asIs    = "as-is"
	changed = "changed"
)

// program is one that others wrote.
type program struct {
	Name   string
	Kind   string
	Module string // MODULE@VERSION
	Main   string // package; empty: the module's own
	Pprof  bool   // it has no debug address, and gets one: its package main gains a file
	Loads  []bound
}

// bound is a load with what bounds it.
type bound struct {
	Name  string   // of its scenario in loads, without .yaml
	Truth string   // what bounds it, in words
	Kinds []string // verdicts that say so, as diagnosis.kinds has them
	Place string   // pattern of what the headline or the first place must have; of Sheds, where the kind is sheds
	place *regexp.Regexp
}

func (l bound) file() string { return filepath.Join("bench", "verdicts", "loads", l.Name+".yaml") }

func (p program) version() string {
	_, version, _ := strings.Cut(p.Module, "@")
	return strings.TrimPrefix(version, "v")
}

func programs() (all []program, err error) {
	read := yaml.NewDecoder(bytes.NewReader(listed))
	read.KnownFields(true)
	if err := read.Decode(&all); err != nil {
		return nil, fmt.Errorf("programs.yaml: %w", err)
	}
	for _, p := range all {
		for i := range p.Loads {
			if p.Loads[i].place, err = regexp.Compile(p.Loads[i].Place); err != nil {
				return nil, fmt.Errorf("programs.yaml: %s: %w", p.Loads[i].Name, err)
			}
		}
	}
	return all, nil
}

// chosen returns the programs and loads of the given names; none: all.
func chosen(names []string) ([]program, error) {
	all, err := programs()
	if err != nil || len(names) == 0 {
		return all, err
	}
	var out []program
	found := map[string]bool{}
	for _, p := range all {
		p.Loads = slices.DeleteFunc(p.Loads, func(l bound) bool {
			found[p.Name] = found[p.Name] || slices.Contains(names, p.Name)
			found[l.Name] = found[l.Name] || slices.Contains(names, l.Name)
			return !found[p.Name] && !found[l.Name]
		})
		if len(p.Loads) > 0 {
			out = append(out, p)
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fmt.Errorf("no program and no load is called %q", n)
		}
	}
	return out, nil
}

func programsFolder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "dyno", "verdicts"), err
}

// build builds the program, unless the folder has it in this version already. Where go install does not, a
// scratch module requires it in exactly this version, and what it requires.
func (p program) build(ctx context.Context, bin string) error {
	module, version, _ := strings.Cut(p.Module, "@")
	binary := filepath.Join(bin, p.Name)
	if info, err := buildinfo.ReadFile(binary); err == nil && info.Main.Path == module && info.Main.Version == version {
		return nil
	}
	command.Say("building %s %s", p.Name, version)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(bin, "scratch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), fmt.Appendf(nil, "module scratch\n\nrequire %s %s\n", module, version), 0o644); err != nil {
		return err
	}
	pkg := p.Main
	if pkg == "" {
		pkg = module
	}
	if !p.Pprof && install(ctx, scratch, pkg+"@"+version, binary) == nil {
		return nil
	}
	if p.Pprof {
		if err := addPages(ctx, scratch, module, pkg); err != nil {
			return err
		}
	}
	_, err = goCommand(ctx, scratch, "build", "-o", binary, pkg)
	return err
}

// install builds a program as its authors do, which the go command refuses where its go.mod replaces modules.
func install(ctx context.Context, scratch, pkg, binary string) error {
	into := filepath.Join(scratch, "bin")
	if _, err := goCommand(ctx, scratch, "install", pkg); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(into, "*"))
	if err != nil || len(found) != 1 {
		return errors.Join(err, fmt.Errorf("go install made %d programs", len(found)))
	}
	return os.Rename(found[0], binary)
}

// addPages replaces the module in the scratch module by a copy of it whose package main serves the debug
// pages: an overlay may not touch the cache of modules.
func addPages(ctx context.Context, scratch, module, pkg string) error {
	folders, err := goCommand(ctx, scratch, "list", "-f", "{{.Module.Dir}}\n{{.Dir}}", pkg)
	if err != nil {
		return err
	}
	from, dir, _ := strings.Cut(folders, "\n")
	below, err := filepath.Rel(from, dir)
	if err != nil {
		return err
	}
	own := filepath.Join(scratch, "module")
	if err := os.CopyFS(own, os.DirFS(from)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(own, below, "dyno_pprof.go"), debugPages, 0o644); err != nil {
		return err
	}
	_, err = goCommand(ctx, scratch, "mod", "edit", "-replace", module+"="+own)
	return err
}

// goCommand runs the go command in a folder, outside of this repository's workspace. The error has its last line.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOBIN="+filepath.Join(dir, "bin"))
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, command.LastLine(log.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
