package layout

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Examine reads the packages that the patterns name, relative to dir (empty: the working
// directory), for the GOOS and GOARCH of the environment. Tests and generated files are left out.
func Examine(ctx context.Context, dir string, patterns ...string) (*Report, error) {
	env := exec.CommandContext(ctx, "go", "env", "GOOS", "GOARCH")
	env.Dir = dir
	out, err := env.Output()
	platform := strings.Fields(string(out))
	if err != nil || len(platform) != 2 {
		return nil, fmt.Errorf("asking the go command for GOOS and GOARCH: %w", errors.Join(err, ctx.Err()))
	}
	pkgs, err := load(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	line := lineBytes(platform[0], platform[1])
	p := &program{sizes: pkgs[0].TypesSizes, line: line, uses: map[*types.Var]*uses{}, functions: map[*types.Func]*function{}}
	if p.base, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, pkg := range pkgs {
		for _, f := range pkg.Syntax {
			if !ast.IsGenerated(f) {
				p.files = append(p.files, source{pkg, f})
			}
		}
	}
	for _, f := range p.files {
		p.access(f)
	}
	p.inheritLocks()
	r := &Report{GOOS: platform[0], GOARCH: platform[1], LineBytes: line, Sharing: []Sharing{}, Padding: []Padding{}}
	for _, f := range p.files {
		p.structs(f, r)
		p.arrays(f, r)
	}
	r.sort()
	return r, nil
}

// load loads packages and returns the first error in them.
func load(ctx context.Context, dir string, patterns []string) ([]*packages.Package, error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Context: ctx, Dir: dir}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %s", strings.Join(patterns, " "), firstLine(err.Error()))
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("%s: no packages there", strings.Join(patterns, " "))
	}
	for _, pkg := range pkgs {
		if len(pkg.Errors) > 0 {
			return nil, fmt.Errorf("loading %s: %s", pkg.PkgPath, complaint(pkg.Errors[0]))
		}
	}
	return pkgs, nil
}

// complaint is an error in one line. An error of the go command contains its own positions.
func complaint(e packages.Error) string {
	if e.Pos == "" || e.Pos == "-" {
		return firstLine(e.Msg)
	}
	return e.Pos + ": " + firstLine(e.Msg)
}

// firstLine is the first line with content; the go command's output begins with the package's name.
func firstLine(text string) string {
	for row := range strings.Lines(text) {
		if row = strings.TrimSpace(row); row != "" && !strings.HasPrefix(row, "# ") {
			return row
		}
	}
	return "no reason was given"
}

// source is a file and the package it belongs to.
type source struct {
	pkg  *packages.Package
	file *ast.File
}

// program is the loaded packages and the uses of their fields.
type program struct {
	base      string // folder to which printed paths are relative
	sizes     types.Sizes
	line      int64
	files     []source
	uses      map[*types.Var]*uses // by field; for a generic type, by the declared field
	functions map[*types.Func]*function
}

// at returns a position, relative to the working directory.
func (p *program) at(s source, pos token.Pos) (string, int) {
	where := s.pkg.Fset.Position(pos)
	if rel, err := filepath.Rel(p.base, where.Filename); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), where.Line
	}
	return where.Filename, where.Line
}
