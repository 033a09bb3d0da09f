package request

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"

	"github.com/spf13/pflag"
)

// Program holds the flags that say how to start a program that is built from a Go package.
type Program struct {
	args, env []string
	port      int
	path      string

	set *pflag.FlagSet
}

// Register adds the flags to those of a command.
func (p *Program) Register(f *pflag.FlagSet) {
	p.set = f
	f.StringArrayVar(&p.args, "args", nil, "arguments of a PACKAGE's program, separated by spaces, as in '-addr 127.0.0.1:0'; repeatable")
	f.StringArrayVar(&p.env, "env", nil, "environment variable KEY=VALUE of a PACKAGE's program; repeatable")
	f.IntVar(&p.port, "port", 0, "TCP port that a PACKAGE's program listens at (default: found)")
	f.StringVar(&p.path, "url-path", "/", "path and query of the requests to a PACKAGE's program")
}

// Unused returns an error if a flag was given although no PACKAGE was.
func (p *Program) Unused() error {
	for _, name := range []string{"args", "env", "port", "url-path"} {
		if p.set.Changed(name) {
			return usage.Errorf("--%s is for the folder of a Go package, as in ./cmd/server; for a scenario, change its file", name)
		}
	}
	return nil
}

// Start is what is built and started: a Go package as a scenario starts it.
type Start struct {
	Scenario *scenario.Scenario // Start.Between replaces its variants
	Variant  scenario.Variant   // of the scenario, which is built; empty: it has no variants
	Dir      string             // folder from which Package is named
	Package  string
	WorkDir  string // working directory of the program; empty: the current folder
}

// IsPackage reports whether an argument is the folder of a Go package.
func IsPackage(arg string) bool {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return false
	}
	if _, err := os.Stat(filepath.Join(arg, folder.ExperimentFile)); err == nil {
		return false
	}
	files, err := filepath.Glob(filepath.Join(arg, "*.go"))
	return err == nil && len(files) > 0
}

// Programs lists the folders of Go programs in and below a folder, by their paths.
func Programs(ctx context.Context, dir string) (found []string) {
	list := exec.CommandContext(ctx, "go", "list", "-e", "-f", `{{if eq .Name "main"}}{{.Dir}}{{end}}`, "./...")
	list.Dir = dir
	listed, _ := list.Output() // without a module there are none
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for at := range strings.Lines(string(listed)) {
		if rel, err := filepath.Rel(abs, strings.TrimSpace(at)); err == nil && strings.TrimSpace(at) != "" {
			found = append(found, filepath.Join(dir, rel))
		}
	}
	return found
}

// RefuseLibrary returns an error if the folder of a Go package holds no program. It names the
// programs below the folder, or else those of its module.
func RefuseLibrary(ctx context.Context, dir string) error {
	list := exec.CommandContext(ctx, "go", "list", "-e", "-f", "{{.Name}}\n{{with .Module}}{{.Dir}}{{end}}", ".")
	list.Dir = dir
	listed, err := list.Output()
	name, module, _ := strings.Cut(strings.TrimSpace(string(listed)), "\n")
	if err != nil || name == "main" || name == "" {
		return nil // a build reports what is wrong
	}
	found := Programs(ctx, dir)
	if len(found) == 0 && module != "" {
		found = Programs(ctx, relative(module))
	}
	if len(found) == 0 {
		return usage.Errorf("%s holds package %s, which is no program, and its module has none: name the folder of a package main", dir, name)
	}
	return usage.Errorf("%s holds package %s, which is no program; name the folder of one:%s", dir, name, Lines("", found))
}

// relative returns a folder's path from the current folder.
func relative(dir string) string {
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, dir); err == nil {
			return rel
		}
	}
	return dir
}

// Lines lists folders of programs, each on a line of its own after what is in front of it.
func Lines(front string, folders []string) string {
	const most = 20
	var b strings.Builder
	for _, p := range folders[:min(len(folders), most)] {
		if p = filepath.ToSlash(p); filepath.IsLocal(p) {
			p = "./" + p
		}
		b.WriteString("\n  " + front + p)
	}
	if n := len(folders) - most; n > 0 {
		fmt.Fprintf(&b, "\n  and %d more", n)
	}
	return b.String()
}

// Start reads an argument that names a Go package's folder, or a scenario, whose last variant is
// started.
func (q *Flags) Start(ctx context.Context, p *Program, arg string) (*Start, error) {
	if IsPackage(arg) {
		if err := RefuseLibrary(ctx, arg); err != nil {
			return nil, err
		}
		return q.packageOf(p, arg)
	}
	if err := p.Unused(); err != nil {
		return nil, err
	}
	sc, err := q.Open(arg)
	if err != nil {
		return nil, err
	}
	out := &Start{Scenario: sc, Dir: sc.Root}
	if n := len(sc.Variants); n > 0 {
		out.Variant = sc.Variants[n-1]
	}
	t := sc.TargetOf(out.Variant)
	if out.Package = t.Build; t.Build == "" {
		return nil, usage.Errorf("%s starts no Go package (target.build), so there is nothing to build at a revision", arg)
	}
	if t.Dir != "" {
		out.WorkDir = sc.Resolve(t.Dir)
	}
	sc.Mode = record.KindCompare
	return out, nil
}

// packageOf makes a scenario of a Go package.
func (q *Flags) packageOf(p *Program, dir string) (*Start, error) {
	target, path, err := p.Target()
	if err != nil {
		return nil, err
	}
	sc, err := q.Scenario(record.KindCompare, "http://${target.listen}"+path)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	target.Debug = q.debug
	sc.Name, sc.Target = filepath.Base(abs), target
	return &Start{Scenario: sc, Dir: abs, Package: "."}, nil
}

// Target returns how the flags start a program that is built from a package, and the path that is
// asked for.
func (p *Program) Target() (t scenario.Target, path string, err error) {
	if !strings.HasPrefix(p.path, "/") {
		return t, "", usage.Errorf("--url-path takes a path such as /orders?limit=10, not %q", p.path)
	}
	if p.port < 0 || p.port > 65535 {
		return t, "", usage.Errorf("--port takes a TCP port, not %d", p.port)
	}
	for _, words := range p.args {
		t.Args = append(t.Args, strings.Fields(words)...)
	}
	t.Env = map[string]string{}
	for _, e := range p.env {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return t, "", usage.Errorf("--env takes KEY=VALUE, not %q", e)
		}
		t.Env[name] = value
	}
	t.Ready.Port = &p.port
	return t, p.path, nil
}

// Side is a program that was built for one side of a comparison.
type Side struct {
	Name, Change string
	Binary, Dir  string // Dir is its working directory
}

// Between returns the scenario that compares programs that were built from the package.
func (s *Start) Between(sides ...Side) *scenario.Scenario {
	sc := *s.Scenario
	t := sc.TargetOf(s.Variant)
	sc.Sweep, sc.Variants = nil, nil
	for _, side := range sides {
		v := scenario.Variant{Name: side.Name, Change: side.Change, Command: []string{side.Binary}, Args: t.Args,
			Env: maps.Clone(t.Env), Dir: cmp.Or(side.Dir, t.Dir), Setup: s.Variant.Setup, Load: s.Variant.Load}
		sc.Variants = append(sc.Variants, v)
	}
	return &sc
}
