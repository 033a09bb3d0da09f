package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxBuildOutput bounds the kept part of a build's messages, in bytes. The compiler stops at ten
// errors per package.
const maxBuildOutput = 1 << 20

// Build compiles the program of package pkg, as named from within dir, and returns the path of
// the binary, which it puts into outDir under the package's name. The flags are those of go build.
// If the compiler fails, the error holds its full output. Build does not cache: go build does, and
// the caller knows what it built already.
func Build(ctx context.Context, dir, pkg, outDir string, flags ...string) (string, error) {
	name, err := programName(dir, pkg)
	if err != nil {
		return "", err
	}
	outDir, err = filepath.Abs(outDir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return "", fmt.Errorf("making the folder for %s: %w", name, err)
	}
	binary := filepath.Join(outDir, name)
	if err := os.Remove(binary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("removing the %s built before: %w", name, err)
	}
	said, err := goBuild(ctx, dir, pkg, binary, flags)
	if err != nil {
		return "", &BuildError{pkg, dir, err, said}
	}
	return binary, nil
}

// BuildError means that a package does not build.
type BuildError struct {
	Package, Dir string
	Err          error
	Said         string // by the compiler, after a colon
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("building %s in %s: %v%s", e.Package, e.Dir, e.Err, e.Said)
}
func (e *BuildError) Unwrap() error { return e.Err }

// goBuild runs the compiler and returns its output. -buildmode=exe refuses a package that is not
// a program; -o would otherwise write an archive under the program's name.
func goBuild(ctx context.Context, dir, pkg, binary string, flags []string) (said string, err error) {
	messages, err := os.CreateTemp(filepath.Dir(binary), ".build-*")
	if err != nil {
		return "", err
	}
	messages.Close()
	defer os.Remove(messages.Name())
	p, err := Start(ctx, Spec{
		Name:    "go build",
		Command: slices.Concat([]string{"go", "build", "-buildmode=exe", "-o", binary}, flags, []string{pkg}),
		Dir:     dir,
		Log:     messages.Name(),
	})
	if err != nil {
		return "", err
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
		p.Stop(stopGrace)
		return "", ctx.Err()
	}
	var failed *ExitError
	if !errors.As(p.Err(), &failed) {
		return "", p.Err()
	}
	f, err := os.Open(messages.Name())
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBuildOutput))
	if err != nil {
		return "", err
	}
	return ":\n" + string(bytes.TrimSpace(text)), fmt.Errorf("the compiler refused (exit code %d)", failed.Code)
}

// programName is the last part of the package's path.
func programName(dir, pkg string) (string, error) {
	if pkg == "" || strings.HasPrefix(pkg, "-") || strings.Contains(pkg, "...") {
		return "", fmt.Errorf("%q is not one package to build: name a folder, as in ./services/cmd/ordersd", pkg)
	}
	if pkg == "." || pkg == ".." || strings.HasPrefix(pkg, "./") || strings.HasPrefix(pkg, "../") {
		abs, err := filepath.Abs(filepath.Join(dir, pkg))
		if err != nil {
			return "", err
		}
		pkg = abs
	}
	name := filepath.Base(pkg)
	if name == string(filepath.Separator) {
		return "", fmt.Errorf("%q in %s is not one package to build: name a folder, as in ./services/cmd/ordersd", pkg, dir)
	}
	return name, nil
}
