package gobench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/revision"
	"dyno/parts/process"

	"mvdan.cc/sh/v3/shell"
)

// binary is the test binary of a package on one side.
type binary struct {
	path string // of the binary with the compiler's own order of functions
	dir  string // in which it runs: the package's folder
	sum  string
	// link is the command that made it, with the files that it needs: it makes the same program again
	// in another order, whatever became of the source files.
	link []string
	env  []string
	out  int // index of the binary's path in link
}

// build builds the test binaries of all packages on both sides.
func (r *run) build(ctx context.Context) error {
	var found [2]map[string]*listed
	var versions [2]string
	for side := range found {
		err := r.environment(ctx, side)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Sides[side].Title, err)
		}
		versions[side] = r.toolchains[side]["GOVERSION"]
		if found[side], err = r.list(ctx, side); err != nil {
			return err
		}
		if r.AA {
			found[1], versions[1] = found[0], versions[0]
			break
		}
	}
	if err := r.noPackage(found); err != nil {
		return err
	}
	if !r.AA {
		r.onOneSide()
	}
	r.compareWorkspaces()
	if versions[0] != versions[1] {
		return fmt.Errorf("%w: %s is built by %s and %s by %s, and compilers differ more than commits do: set GOTOOLCHAIN to one of them", ErrNothing, r.Sides[0].Title, versions[0], r.Sides[1].Title, versions[1])
	}
	paths := slices.Concat(slices.Collect(maps.Keys(found[0])), slices.Collect(maps.Keys(found[1])))
	slices.Sort(paths)
	for i, path := range slices.Compact(paths) {
		if err := r.buildPackage(ctx, i, path, found); err != nil {
			return err
		}
	}
	return nil
}

// forLinker are the settings of the go command that the linker reads from its environment, whether
// they come from there or from go env -w. GOVERSION is not one of them.
var forLinker = []string{"GOOS", "GOARCH", "GOEXPERIMENT", "GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOLOONG64"}

// environment reads the settings of the go command of a side.
func (r *run) environment(ctx context.Context, side int) error {
	out, err := r.goCommand(ctx, side, slices.Concat([]string{"env", "-json", "GOVERSION", "GOWORK", "GOFLAGS"}, forLinker)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, &r.toolchains[side]); err != nil {
		return fmt.Errorf("reading what go env prints: %w", err)
	}
	return nil
}

// noPackage returns an error if packages that are asked for by name are on neither side.
func (r *run) noPackage(found [2]map[string]*listed) error {
	if len(found[0]) > 0 || len(found[1]) > 0 {
		return nil
	}
	for _, s := range r.skipped {
		if (s.Cause == FailsOnBoth || r.AA) && slices.Contains(r.Packages, s.Package) {
			return fmt.Errorf("%w %s: %s", ErrPackage, s.Package, s.Why)
		}
	}
	return nil
}

// compareWorkspaces warns if a go.work applies to one side only: then other modules may differ than
// those of the commits.
func (r *run) compareWorkspaces() {
	if r.AA {
		return
	}
	var where [2]string // relative to the side's folder, or absolute if both have the same
	for side, env := range r.toolchains {
		where[side] = env["GOWORK"]
		if dir, err := filepath.Abs(r.Sides[side].Dir); err == nil && filepath.IsAbs(env["GOWORK"]) && r.toolchains[0]["GOWORK"] != r.toolchains[1]["GOWORK"] {
			if where[side], err = filepath.Rel(dir, env["GOWORK"]); err != nil {
				where[side] = env["GOWORK"]
			}
		}
	}
	if where[0] != where[1] {
		r.warn("the sides are built with different workspaces, GOWORK=%s and GOWORK=%s, so that their dependencies may differ: commit go.work, or set GOWORK=off", r.toolchains[0]["GOWORK"], r.toolchains[1]["GOWORK"])
	}
	if a, b := r.toolchains[0]["GOFLAGS"], r.toolchains[1]["GOFLAGS"]; a != b {
		r.warn("the sides are built with different GOFLAGS, %q and %q", a, b)
	}
}

// buildPackage builds the two test binaries of a package. An error is one that ends the run: a
// package that does not build is skipped.
func (r *run) buildPackage(ctx context.Context, number int, path string, found [2]map[string]*listed) error {
	p := &pkg{path: path, switched: map[string]bool{}, changed: map[string]bool{}}
	a, b := found[0][path], found[1][path]
	if a == nil || b == nil {
		has := 0
		if a == nil {
			has = 1
		}
		if r.TestsFrom == nil || *r.TestsFrom != has {
			if !slices.ContainsFunc(r.skipped, func(s Skipped) bool { return s.Package == path && s.Cause == failsOn[1-has] }) {
				r.skip(onlyOn[has], path, "", "only %s has benchmarks in it that match", r.Sides[has].Title)
			}
			return nil
		}
	}
	r.say("building " + path)
	for side := range p.sides {
		if side == 1 && r.AA {
			p.sides[1] = p.sides[0]
			break
		}
		if ok, err := r.buildSide(ctx, p, side, filepath.Join(r.temp, strconv.Itoa(number), strconv.Itoa(side)), found, true); !ok {
			return err
		}
	}
	p.equal = !r.AA && p.sides[0].sum == p.sides[1].sum
	if !p.equal && (a.asksPaths() || b.asksPaths()) {
		for side := range p.sides {
			if side == 1 && r.AA {
				p.sides[1] = p.sides[0]
				break
			}
			if ok, err := r.buildSide(ctx, p, side, filepath.Join(r.temp, strconv.Itoa(number), "paths", strconv.Itoa(side)), found, false); !ok {
				return err
			}
		}
	}
	for side := range p.functions {
		from := side
		if r.TestsFrom != nil {
			from = *r.TestsFrom
		}
		if l := found[from][path]; l != nil {
			p.functions[side] = l.benchmarks
		}
	}
	if a != nil && b != nil && r.TestsFrom == nil {
		for name, f := range a.benchmarks {
			if other, ok := b.benchmarks[name]; ok {
				p.switched[name], p.changed[name] = f.loops != other.loops, f.source != other.source
			}
		}
	}
	r.packages = append(r.packages, p)
	return nil
}

// buildSide builds the binary of a side of a package. false: it does not build, so that the package is skipped, or
// the error ends the run.
func (r *run) buildSide(ctx context.Context, p *pkg, side int, dir string, found [2]map[string]*listed, trim bool) (ok bool, err error) {
	l, overlay, err := r.source(ctx, side, p.path, found)
	if err == nil {
		p.sides[side], err = r.buildBinary(ctx, side, l, overlay, dir, trim)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		r.skipFailed(side, p.path, "", err.Error())
		return false, nil
	}
	return true, nil
}

// source returns the package of a side, and the overlay of files with which it is built: with
// TestsFrom, the tests of the other side take the place of its own.
func (r *run) source(ctx context.Context, side int, path string, found [2]map[string]*listed) (l *listed, overlay map[string]string, err error) {
	l = found[side][path]
	if r.TestsFrom == nil || *r.TestsFrom == side {
		return l, nil, nil
	}
	tests := found[1-side][path]
	if tests == nil {
		return nil, nil, errors.New("the side that tests are taken from has no benchmark in it")
	}
	if l == nil { // it has no benchmarks of its own
		out, err := r.goCommand(ctx, side, "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", path)
		if err != nil {
			return nil, nil, err
		}
		l = &listed{}
		if err := json.Unmarshal(out, l); err != nil {
			return nil, nil, fmt.Errorf("reading what go list prints: %w", err)
		}
	}
	overlay = map[string]string{}
	for _, file := range l.testFiles() {
		overlay[file] = "" // left out
	}
	for _, file := range tests.testFiles() {
		overlay[filepath.Join(l.Dir, filepath.Base(file))] = file
	}
	return &listed{ImportPath: l.ImportPath, Dir: tests.Dir}, overlay, nil
}

// buildBinary compiles a test binary and keeps the command that linked it. If the paths of source files are trimmed, it
// depends only on the source, not on the folder.
func (r *run) buildBinary(ctx context.Context, side int, l *listed, overlay map[string]string, out string, trim bool) (*binary, error) {
	work := filepath.Join(out, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	b := &binary{path: filepath.Join(out, "base.test"), dir: l.Dir}
	args := []string{"test", "-c", "-trimpath=" + strconv.FormatBool(trim), "-buildvcs=false", "-vet=off", "-o", b.path}
	if overlay != nil {
		text, err := json.Marshal(map[string]any{"Replace": overlay})
		if err == nil {
			err = os.WriteFile(filepath.Join(out, "overlay.json"), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, "-overlay", filepath.Join(out, "overlay.json"))
	}
	for _, name := range forLinker {
		if value := r.toolchains[side][name]; value != "" {
			b.env = append(b.env, name+"="+value)
		}
	}
	log := filepath.Join(out, "commands")
	p, err := r.start(ctx, process.Spec{Name: "go test -c", Dir: r.Sides[side].Dir, Env: append([]string{"GOTMPDIR=" + work}, r.Sides[side].Env...), Log: log,
		Command: slices.Concat([]string{"go"}, args, []string{"-work", "-x", l.ImportPath})})
	if err != nil {
		return nil, err
	}
	if p.Err() != nil {
		// Among the commands that -x prints, what the compiler says is hard to find.
		if _, err := r.goCommand(ctx, side, append(args, l.ImportPath)...); err != nil {
			return nil, fmt.Errorf("it does not build: %w", err)
		}
		return nil, p.Err()
	}
	if b.sum, err = revision.Sum(b.path); err != nil {
		return nil, err
	}
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if found, err := filepath.Glob(filepath.Join(work, "go-build*")); err == nil && len(found) == 1 {
		b.linkCommand(f, found[0])
	}
	return b, os.Remove(log)
}

// mostLine bounds the length of a line of what go test -x prints, in bytes.
const mostLine = 1 << 20

// linkCommand finds the command that linked the binary in what go test -x printed. work is the
// folder for which $WORK stands there. If there is none, link remains nil.
func (b *binary) linkCommand(commands *os.File, work string) {
	lines := bufio.NewScanner(commands)
	lines.Buffer(nil, mostLine)
	last := ""
	for lines.Scan() {
		if line := lines.Text(); strings.Contains(line, "-importcfg ") && strings.Contains(line, "importcfg.link") && !strings.HasPrefix(line, "cat ") {
			last = line
		}
	}
	words, err := shell.Fields(last, func(name string) string {
		if name == "WORK" {
			return work
		}
		return os.Getenv(name)
	})
	if err != nil {
		return
	}
	for len(words) > 0 && strings.Contains(words[0], "=") {
		b.env, words = append(b.env, words[0]), words[1:]
	}
	if at := slices.Index(words, "-o"); at > 0 && at+1 < len(words) {
		b.link, b.out = words, at+1
	}
}

func (r *run) say(text string) {
	if r.Say != nil {
		r.Say(text)
	}
}
