package programs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxFiles bounds the Go files of a tree.
const maxFiles = 20_000

// tree holds the Go packages of the repository around a folder.
type tree struct {
	folder  string // absolute: where programs are looked for
	top     string // absolute: the whole that imports are looked up in
	set     *token.FileSet
	modules map[string]string   // folder of a go.mod, relative to top -> module path
	parsed  map[string]*pack    // folder, relative to top
	byPath  map[string]string   // import path -> folder
	files   map[string][]string // folder -> names of Go files
}

// pack is a package.
type pack struct {
	dir     string
	name    string
	files   map[string]*ast.File // by name
	imports []string
	consts  map[string]string // texts
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)

func readTree(folder string) (*tree, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	t := &tree{folder: abs, top: top(abs), set: token.NewFileSet(), modules: map[string]string{}, parsed: map[string]*pack{}, byPath: map[string]string{}, files: map[string][]string{}}
	n := 0
	err = filepath.WalkDir(t.top, func(p string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(t.top, p)
		if err != nil || relErr != nil { // a folder that may not be read has no programs
			return fs.SkipDir
		}
		name := d.Name()
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		switch {
		case name == "go.mod":
			if b, err := readFile(p); err == nil {
				if m := moduleLine.FindSubmatch(b); m != nil {
					t.modules[dir] = string(m[1])
				}
			}
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			if n++; n > maxFiles {
				return fmt.Errorf("%s has more than %d Go files; run dyno init in the program's own folder", t.top, maxFiles)
			}
			t.files[dir] = append(t.files[dir], name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for dir := range t.files {
		if p, ok := t.importPath(dir); ok {
			t.byPath[p] = dir
		}
	}
	return t, nil
}

// top returns the nearest folder at or above that holds a go.work, else a go.mod, else the folder.
func top(folder string) string {
	for _, file := range []string{"go.work", "go.mod"} {
		for dir := folder; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
				return dir
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return folder
}

// importPath returns a folder's import path, by the nearest go.mod.
func (t *tree) importPath(dir string) (string, bool) {
	d, ok := t.module(dir)
	if !ok {
		return "", false
	}
	if d == "." {
		return path.Join(t.modules[d], dir), true
	}
	return path.Join(t.modules[d], strings.TrimPrefix(dir, d)), true
}

// pack parses a folder's package; nil: it has none.
func (t *tree) pack(dir string) *pack {
	if p, done := t.parsed[dir]; done {
		return p
	}
	p := &pack{dir: dir, files: map[string]*ast.File{}, consts: map[string]string{}}
	t.parsed[dir] = nil
	for _, name := range t.files[dir] {
		full := filepath.Join(t.top, filepath.FromSlash(dir), name)
		src, err := readFile(full)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(t.set, path.Join(dir, name), src, parser.SkipObjectResolution)
		if f == nil || f.Name == nil || err != nil {
			continue // a file that does not compile is the compiler's to report
		}
		p.name = f.Name.Name
		p.files[name] = f
		for _, spec := range f.Imports {
			if s, err := strconv.Unquote(spec.Path.Value); err == nil && !slices.Contains(p.imports, s) {
				p.imports = append(p.imports, s)
			}
		}
		p.constants(f)
	}
	if len(p.files) > 0 {
		t.parsed[dir] = p
	}
	return t.parsed[dir]
}

// constants notes the constants of the package that are texts.
func (p *pack) constants(f *ast.File) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, name := range v.Names {
				if i < len(v.Values) {
					if s, ok := p.text(v.Values[i]); ok {
						p.consts[name.Name] = s
					}
				}
			}
		}
	}
}

// text is the value of a literal, a constant, or a sum of them.
func (p *pack) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}
	case *ast.Ident:
		s, ok := p.consts[e.Name]
		return s, ok
	case *ast.ParenExpr:
		return p.text(e.X)
	case *ast.BinaryExpr:
		a, known := p.text(e.X)
		b, both := p.text(e.Y)
		return a + b, e.Op == token.ADD && known && both
	}
	return "", false
}

// mains lists the folders below the tree's folder that hold a program.
func (t *tree) mains() (out []string) {
	rel, err := filepath.Rel(t.top, t.folder)
	if err != nil {
		return nil
	}
	rel = filepath.ToSlash(rel)
	for _, dir := range slices.Sorted(maps.Keys(t.files)) {
		if rel != "." && dir != rel && !strings.HasPrefix(dir, rel+"/") {
			continue
		}
		if p := t.pack(dir); p != nil && p.name == "main" && t.builds(dir, rel) {
			out = append(out, dir)
		}
	}
	return out
}

// builds reports whether go build can build the package from a folder: their go.mod is the same,
// or there is a go.work.
func (t *tree) builds(dir, from string) bool {
	if _, err := os.Stat(filepath.Join(t.top, "go.work")); err == nil {
		return true
	}
	module, ok := t.module(dir)
	around, same := t.module(from)
	return ok && same && module == around
}

// module returns the nearest folder at or above that holds a go.mod.
func (t *tree) module(dir string) (string, bool) {
	for d := dir; ; d = path.Dir(d) {
		if _, ok := t.modules[d]; ok {
			return d, true
		}
		if d == "." {
			return "", false
		}
	}
}

// reachable lists a package and those of the repository that it imports, directly or not.
func (t *tree) reachable(dir string) (out []*pack) {
	seen := map[string]bool{dir: true}
	queue := []string{dir}
	for len(queue) > 0 {
		p := t.pack(queue[0])
		queue = queue[1:]
		if p == nil {
			continue
		}
		out = append(out, p)
		for _, i := range p.imports {
			if d, ours := t.byPath[i]; ours && !seen[d] {
				seen[d] = true
				queue = append(queue, d)
			}
		}
	}
	return out
}
