package escape

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// mostStderr is the maximum kept length of the go command's error output, in bytes.
const mostStderr = 64 << 10

// Compile runs the go command on the packages that the patterns name, relative to dir (empty: the
// working directory), and returns the compiler's diagnostics. For unchanged packages, the go
// command replays them from the build cache. It links nothing, and writes only to the cache.
func Compile(ctx context.Context, dir string, patterns ...string) (*Listing, error) {
	const fields = "{{.ImportPath}}\t{{.Name}}\t{{.Dir}}"
	var stdout bytes.Buffer
	cmd := command(ctx, dir, patterns, "-gcflags=-m=2", "-f", fields)
	cmd.Stdout = &stdout
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the go command, which escape needs: %w", err)
	}
	listing, readErr := Parse(said)
	if err := cmd.Wait(); err != nil {
		return nil, explain(ctx, dir, patterns, err)
	}
	if readErr != nil {
		return nil, readErr
	}
	for row := range strings.Lines(stdout.String()) {
		if f := strings.Split(strings.TrimRight(row, "\n"), "\t"); len(f) == 3 {
			listing.Packages = append(listing.Packages, Package{Path: f[0], Name: f[1], Dir: f[2]})
		}
	}
	if len(listing.Packages) == 0 {
		return nil, fmt.Errorf("%s: no packages there", strings.Join(patterns, " "))
	}
	return listing, nil
}

// command returns a command that compiles packages without linking them: go list builds a package
// to report the path of its export data.
func command(ctx context.Context, dir string, patterns []string, flags ...string) *exec.Cmd {
	args := append([]string{"list", "-export"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(append(args, "--"), patterns...)...)
	cmd.Dir = dir
	return cmd
}

// explain returns, as one line, why the packages do not compile. It compiles them again without -m,
// whose output would hide the errors.
func explain(ctx context.Context, dir string, patterns []string, failed error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cmd := command(ctx, dir, patterns, "-f", "")
	stderr := &head{most: mostStderr}
	cmd.Stderr = stderr
	_ = cmd.Run() // it fails again; only its output is used
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for row := range strings.Lines(string(stderr.kept)) {
		if row = strings.TrimSpace(row); row != "" && !strings.HasPrefix(row, "#") {
			return fmt.Errorf("the packages do not compile: %s", row)
		}
	}
	return fmt.Errorf("the packages do not compile: %w", failed)
}

// head keeps the first bytes that are written to it.
type head struct {
	most int
	kept []byte
}

func (h *head) Write(b []byte) (int, error) {
	h.kept = append(h.kept, b[:min(len(b), h.most-len(h.kept))]...)
	return len(b), nil
}
