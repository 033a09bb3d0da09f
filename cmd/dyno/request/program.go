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

// Program holds the flags that say how to start a program built from a Go package.
type Program struct {
	args, env []string
	port      int
	path      string

	set *pflag.FlagSet
}

// Register adds the flags to a command's flags.
func (p *Program) Register(f *pflag.FlagSet) {
	p.set = f
	f.StringArrayVar(&p.args, "args", nil, "arguments of a PACKAGE's program, separated by spaces, as in '-addr 127.0.0.1:0'; repeatable")
	f.StringArrayVar(&p.env, "env", nil, "environment variable KEY=VALUE of a PACKAGE's program; repeatable")
	f.IntVar(&p.port, "port", 0, "TCP port that a PACKAGE's program listens at (default: found)")
	f.StringVar(&p.path, "url-path", "/", "path and query of the requests to a PACKAGE's program")
}

// Unused returns an error if one of the flags was given, for a command line without a PACKAGE.
func (p *Program) Unused() error {
	for _, name := range []string{"args", "env", "port", "url-path"} {
		if p.set.Changed(name) {
			return usage.Errorf("--%s is for the folder of a Go package, as in ./cmd/server; for a scenario, change its file", name)
		}
	}
	return nil
}

// Start is a Go package to build, and how a scenario starts its program.
type Start struct {
	Scenario *scenario.Scenario // Between returns a copy with other variants
	Variant  scenario.Variant   // the scenario's variant that is built; zero: the scenario declares none
	Dir      string             // folder to which Package is relative
	Package  string
	WorkDir  string // the program's working directory; empty: the current folder
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

// Programs lists the folders of the Go programs in and below a folder.
func Programs(ctx context.Context, dir string) (found []string) {
	list := exec.CommandContext(ctx, "go", "list", "-e", "-f", `{{if eq .Name "main"}}{{.Dir}}{{end}}`, "./...")
	list.Dir = dir
	listed, _ := list.Output() // without a module there are no programs
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

// RefuseLibrary returns an error if a folder has a Go package that is no program. The error lists
// the programs below the folder or, if there are none, those of its module.
func RefuseLibrary(ctx context.Context, dir string) error {
	list := exec.CommandContext(ctx, "go", "list", "-e", "-f", "{{.Name}}\n{{with .Module}}{{.Dir}}{{end}}", ".")
	list.Dir = dir
	listed, err := list.Output()
	name, module, _ := strings.Cut(strings.TrimSpace(string(listed)), "\n")
	if err != nil || name == "main" || name == "" {
		return nil // building it reports what is wrong
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

// Lines lists folders of programs, each on its own line after the text front.
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

// Start reads an argument that names the folder of a Go package or a scenario. Of a scenario it
// starts the last variant.
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

// packageOf returns the Start of a Go package, with a scenario made from the flags.
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

// Target returns how to start a program built from a package, and the path that the requests go
// to.
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
	Binary, Dir  string // Dir is the working directory
}

// Between returns a scenario that compares programs built from the package.
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
