package gobench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pkg is a package with benchmarks on both sides.
type pkg struct {
	path  string
	sides [2]*binary
	equal bool // both sides build the same binary
	// switched has the benchmark functions that loop by b.N on one side and by b.Loop on the other.
	switched map[string]bool
	// changed has the benchmark functions whose own code differs between the sides.
	changed   map[string]bool
	functions [2]map[string]function // the benchmark functions of each side
	linking   time.Duration          // how long both sides took last
	broken    string                 // why its benchmarks can no longer be measured
	looking   string                 // the benchmark that the first look did not end
	patient   bool                   // the first look has more time, since its processes take long to start or to end
	start     time.Duration          // then how long one takes at most
	lost      bool                   // that did not suffice
}

// has reports whether a side has the function of a benchmark, as far as its source shows.
func (p *pkg) has(side int, name string) bool {
	name, _, _ = strings.Cut(name, "/")
	_, ok := p.functions[side]["Benchmark"+name]
	return ok
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
	GoFiles, CgoFiles         []string
	Error                     *struct{ Err string }
	benchmarks                map[string]function
}

// function is the function of a benchmark, with the functions of the tests that it mentions.
type function struct {
	loops  bool   // by b.Loop
	source string // without comments
}

// testFiles are the paths of the package's test files.
func (l *listed) testFiles() []string { return l.in(l.TestGoFiles, l.XTestGoFiles) }

// otherFiles are the paths of its other Go files.
func (l *listed) otherFiles() []string { return l.in(l.GoFiles, l.CgoFiles) }

func (l *listed) in(lists ...[]string) (files []string) {
	for _, name := range slices.Concat(lists...) {
		files = append(files, filepath.Join(l.Dir, name))
	}
	return files
}

// list finds the packages of a side that have a benchmark which is asked for.
func (r *run) list(ctx context.Context, side int) (map[string]*listed, error) {
	args := append([]string{"list", "-e", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,GoFiles,CgoFiles,Error", "--"}, r.Packages...)
	out, err := r.goCommand(ctx, side, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: listing its packages: %w", r.Sides[side].Title, err)
	}
	found := map[string]*listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		l := &listed{}
		if err := d.Decode(l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list prints: %w", err)
		}
		if l.Error != nil {
			if l.missing() {
				r.missing[side] = append(r.missing[side], l.ImportPath)
			}
			r.skipFailed(side, l.ImportPath, "", firstLine(strings.ReplaceAll(l.Error.Err, r.Sides[side].Dir+string(filepath.Separator), "")))
			continue
		}
		if l.benchmarks = r.asked(benchmarksIn(l.testFiles(), l.otherFiles())); len(l.benchmarks) > 0 {
			found[l.ImportPath] = l
		}
	}
	return found, nil
}

// asksPaths reports whether the package asks for the paths of its source files, as benchmarks do that find testdata by
// them: such a binary must not have trimmed ones.
func (l *listed) asksPaths() bool {
	return l != nil && slices.ContainsFunc(slices.Concat(l.testFiles(), l.otherFiles()), func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte("runtime.Caller"))
	})
}

// missing reports whether go list found no Go file for what it lists.
func (l *listed) missing() bool {
	files, err := filepath.Glob(filepath.Join(l.Dir, "*.go"))
	return l.Dir == "" || err == nil && len(files) == 0
}

// onOneSide takes back that a package fails which one side does not have and the other does.
func (r *run) onOneSide() {
	r.skipped = slices.DeleteFunc(r.skipped, func(s Skipped) bool {
		return s.Cause == FailsOnA && slices.Contains(r.missing[0], s.Package) || s.Cause == FailsOnB && slices.Contains(r.missing[1], s.Package)
	})
}

// onlyNew reports whether all that matches is what only B has, so that there is nothing to compare.
func (r *run) onlyNew() bool {
	return len(r.skipped) > 0 && !slices.ContainsFunc(r.skipped, func(s Skipped) bool { return s.Cause != OnlyB })
}

// asked leaves the functions that the pattern can match. A pattern for parts of names matches level
// by level, which is left to the test binary.
func (r *run) asked(functions map[string]function) map[string]function {
	if r.Bench == nil || strings.Contains(r.Bench.String(), "/") {
		return functions
	}
	for name := range functions {
		if !r.Bench.MatchString(name) {
			delete(functions, name)
		}
	}
	return functions
}

// benchmarksIn returns the benchmark functions in test files. A file that cannot be parsed is left to
// the compiler. What they call may have the loop: of methods, and of the other files of the package, that
// is what takes a *testing.B.
func benchmarksIn(tests, others []string) map[string]function {
	functions, benchmarks := map[string][]*ast.FuncDecl{}, map[string]bool{}
	for i, file := range slices.Concat(tests, others) {
		text, err := os.ReadFile(file)
		if err != nil || i >= len(tests) && !bytes.Contains(text, []byte(`"testing"`)) {
			continue
		}
		parsed, _ := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if parsed == nil {
			continue
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			of := ok && f.Recv == nil && i < len(tests)
			if ok && (of || takesB(f)) {
				functions[f.Name.Name] = append(functions[f.Name.Name], f)
			}
			if of && benchmarkName.MatchString(f.Name.Name) && f.Type.Params.NumFields() == 1 {
				benchmarks[f.Name.Name] = true
			}
		}
	}
	found := map[string]function{}
	for name := range benchmarks {
		x := function{}
		x.add(functions, name, map[string]bool{})
		found[name] = x
	}
	return found
}

// takesB reports whether a function has a parameter of the type testing.B.
func takesB(f *ast.FuncDecl) (takes bool) {
	ast.Inspect(f.Type.Params, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		takes = takes || ok && s.Sel.Name == "B"
		return true
	})
	return takes
}

// benchmarkName matches the names of benchmark functions, as the go command does.
var benchmarkName = regexp.MustCompile(`^Benchmark($|[^\p{Ll}])`)

// add adds the functions of a name, and those that they mention.
func (x *function) add(functions map[string][]*ast.FuncDecl, name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	for _, f := range functions[name] {
		if f.Body == nil {
			continue
		}
		var source strings.Builder
		if printer.Fprint(&source, token.NewFileSet(), f.Body) == nil {
			x.source += source.String()
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				x.loops = x.loops || ok && s.Sel.Name == "Loop" && len(n.Args) == 0
			case *ast.Ident:
				x.add(functions, n.Name, seen)
			}
			return true
		})
	}
}

// firstLine returns the first line of a text that says anything, shortened.
func firstLine(text string) string {
	const most = 300 // bytes
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
