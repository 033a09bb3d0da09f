// Package revision builds a program at revisions of its git repository: it finds revisions, writes
// their files into temporary folders, and builds there. It only reads the repository and changes no
// branch, index, work tree or stash of it, so there is nothing to undo if the lab is killed. Next,
// Left and Suspects are pure functions for a bisection, the search for the first revision that
// misses a gate.
//
// The package does not measure what it builds. It starts no goroutines; the git and go commands
// that it starts have ended when a call returns.
package revision

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dyno/parts/process"
)

// Here is the name for the files of the folder as they are now, committed or not.
const Here = "."

// Revision is a commit, or the folder as it is now.
type Revision struct {
	Name    string    // as the caller named it
	Hash    string    // of the commit; empty: the folder as it is now
	Subject string    // first line of the commit's message
	Time    time.Time // of the commit
	Merge   bool      // the commit has several parents
}

// shortHash is the number of characters of a hash that people see.
const shortHash = 10

// Short returns the beginning of the commit's hash, or "folder" for Here.
func (r Revision) Short() string {
	if r.Hash == "" {
		return "folder"
	}
	return r.Hash[:min(shortHash, len(r.Hash))]
}

// Title returns the name of the revision for people: main@1a2b3c4d5e, or the hash alone.
func (r Revision) Title() string {
	if r.Hash == "" || strings.HasPrefix(r.Hash, r.Name) {
		return r.Short()
	}
	return r.Name + "@" + r.Short()
}

// Package is a Go package in a repository.
type Package struct {
	Dir  string // a folder of the repository
	Name string // the package, relative to Dir: ".", "./cmd/server"
	Work string // the folder in which its program runs; empty: the current one
}

// Repository is a git repository from which programs are built.
type Repository struct {
	root string // its top folder
	temp string // folder for checked-out files and binaries; Close removes it

	Say func(text string) // reports what takes long; nil: it is not reported
}

// Open returns the repository that contains a folder. The caller must close it.
func Open(ctx context.Context, dir string) (*Repository, error) {
	root, err := git(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("comparing revisions needs git, which is not installed")
	}
	if err != nil && strings.Contains(err.Error(), "not a git repository") {
		return nil, fmt.Errorf("%s is not in a git repository, so there are no revisions to build", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for a git repository around %s: %w", dir, err)
	}
	temp, err := process.TempDir("dyno-revisions-")
	if err != nil {
		return nil, err
	}
	return &Repository{root: root, temp: temp}, nil
}

// Close removes everything that was checked out and built.
func (r *Repository) Close() error { return os.RemoveAll(r.temp) }

// Resolve returns the commit that a name stands for: a branch, a tag, a hash, HEAD~3.
func (r *Repository) Resolve(ctx context.Context, name string) (Revision, error) {
	if name == Here {
		return Revision{Name: Here, Subject: "the folder as it is now"}, nil
	}
	if name == "" || strings.HasPrefix(name, "-") {
		return Revision{}, fmt.Errorf("%q is not a git revision; name a branch, a tag, a commit, or . for the folder as it is now", name)
	}
	hash, err := git(ctx, r.root, nil, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		if ctx.Err() != nil {
			return Revision{}, ctx.Err()
		}
		return Revision{}, fmt.Errorf("git knows no revision %q%s", name, r.shallow(ctx))
	}
	found, err := r.describe(ctx, "-1", hash)
	if err != nil {
		return Revision{}, err
	}
	if len(found) != 1 {
		return Revision{}, fmt.Errorf("git log lists %d commits for %s", len(found), hash)
	}
	found[0].Name = name
	return found[0], nil
}

// shallow returns the hint that a clone lacks history; empty: it does not.
func (r *Repository) shallow(ctx context.Context) string {
	if shallow, _ := git(ctx, r.root, nil, "rev-parse", "--is-shallow-repository"); shallow == "true" {
		return " (this clone is shallow: fetch more history, in a GitHub workflow with fetch-depth: 0)"
	}
	return ""
}

// Between lists the commits after good up to bad, the oldest first. It follows first parents, so
// that a merge of a branch is one step.
func (r *Repository) Between(ctx context.Context, good, bad Revision) ([]Revision, error) {
	if _, err := git(ctx, r.root, nil, "merge-base", "--is-ancestor", good.Hash, bad.Hash); err != nil {
		if _, err := git(ctx, r.root, nil, "merge-base", "--is-ancestor", bad.Hash, good.Hash); err == nil {
			return nil, fmt.Errorf("%s comes after %s: good is the earlier one, and bad the later; exchange them, or turn the gate round", good.Title(), bad.Title())
		}
		return nil, fmt.Errorf("%s is not an ancestor of %s, so there is no line of commits between them%s", good.Title(), bad.Title(), r.shallow(ctx))
	}
	return r.describe(ctx, "--reverse", "--first-parent", good.Hash+".."+bad.Hash)
}

// describe lists the commits that git log finds with the given arguments.
func (r *Repository) describe(ctx context.Context, args ...string) ([]Revision, error) {
	out, err := git(ctx, r.root, nil, append([]string{"log", "--no-show-signature", "--format=%H%x00%ct%x00%P%x00%s"}, args...)...)
	if err != nil {
		return nil, err
	}
	return parseLog(out)
}

func parseLog(text string) (out []Revision, err error) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 4)
		if len(f) != 4 || len(f[0]) < shortHash {
			return nil, fmt.Errorf("git log printed %q, which is not a commit", line)
		}
		seconds, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git log printed the time %q", f[1])
		}
		out = append(out, Revision{Name: f[0], Hash: f[0], Subject: f[3], Time: time.Unix(seconds, 0).UTC(), Merge: strings.Contains(f[2], " ")})
	}
	return out, nil
}

// Program is a program that was built.
type Program struct {
	Revision
	Binary string
	Dir    string // the folder of the revision's files that corresponds to Package.Work
	Sum    string // SHA-256 of the binary: equal programs have equal sums
}

// BuildError is the error of a revision that does not build.
type BuildError struct {
	Revision Revision
	Err      error
}

func (e *BuildError) Error() string { return e.Revision.Title() + " does not build: " + e.Err.Error() }
func (e *BuildError) Unwrap() error { return e.Err }

// flags make the binary depend only on the source, not on the folder or the commit.
var flags = []string{"-trimpath", "-buildvcs=false"}

// Build builds a package of a revision. The program remains until Close. If the package does not
// build there, the error is a *BuildError.
func (r *Repository) Build(ctx context.Context, rev Revision, pkg Package) (Program, error) {
	p := Program{Revision: rev}
	inside, err := r.within(pkg.Dir)
	if err != nil {
		return p, err
	}
	out := filepath.Join(r.temp, "here", "bin")
	if rev.Hash != "" {
		out = filepath.Join(r.temp, rev.Hash, "bin")
	}
	tree, err := r.files(ctx, rev)
	if err != nil {
		return p, err
	}
	p.Dir = tree
	if from, err := r.within(cmp.Or(pkg.Work, ".")); err == nil && isFolder(filepath.Join(tree, from)) {
		p.Dir = filepath.Join(tree, from)
	}
	if !isFolder(filepath.Join(tree, inside)) {
		return p, &BuildError{rev, fmt.Errorf("it has no folder %s", inside)}
	}
	if p.Binary, err = process.Build(ctx, filepath.Join(tree, inside), pkg.Name, out, flags...); err != nil {
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		return p, &BuildError{rev, refusal(err, pkg.Dir)}
	}
	p.Sum, err = Sum(p.Binary)
	return p, err
}

// files returns the folder with all files of a revision: the repository itself for Here.
func (r *Repository) files(ctx context.Context, rev Revision) (tree string, err error) {
	if rev.Hash == "" {
		return r.root, nil
	}
	tree = filepath.Join(r.base(rev), r.root)
	return tree, r.checkOut(ctx, rev, tree)
}

// refusal returns the compiler's error without the path of the temporary folder in which it ran.
func refusal(err error, dir string) error {
	failed := new(process.BuildError)
	switch {
	case !errors.As(err, &failed):
		return err
	case strings.Contains(failed.Said, "requires exactly one main package"):
		return fmt.Errorf("%s is not the folder of a program: it has no package main", dir)
	}
	return fmt.Errorf("%w%s", failed.Err, failed.Said)
}

// checkOut writes the files of a revision into a new folder. It uses a temporary index, so that the
// index of the repository does not change.
func (r *Repository) checkOut(ctx context.Context, rev Revision, tree string) error {
	if isFolder(tree) {
		return nil // it was checked out before
	}
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(filepath.Dir(r.base(rev)), "index")}
	if _, err := git(ctx, r.root, index, "read-tree", rev.Hash); err != nil {
		return fmt.Errorf("reading the files of %s: %w", rev.Title(), err)
	}
	if _, err := git(ctx, r.root, index, "checkout-index", "--all", "--force", "--quiet", "--prefix="+tree+string(filepath.Separator)); err != nil {
		os.RemoveAll(tree) // an incomplete tree must not be built
		return fmt.Errorf("writing the files of %s: %w", rev.Title(), err)
	}
	return nil
}

// within returns the path of a folder relative to the top of the repository.
func (r *Repository) within(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	inside, err := filepath.Rel(r.root, abs)
	if err != nil || !filepath.IsLocal(inside) {
		return "", fmt.Errorf("%s is not in the repository %s", dir, r.root)
	}
	return inside, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Sum returns the SHA-256 of a file in hexadecimal digits.
func Sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// gitGrace is the time limit for reading the output of git after it has ended: a filter process may
// hold the pipe open.
const gitGrace = time.Second

// git runs a git command in a folder and returns its output without the final newline.
func git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var out bytes.Buffer
	complaints := &head{}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, complaints, gitGrace
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if said := strings.TrimSpace(string(complaints.kept)); said != "" {
			return "", fmt.Errorf("git %s: %s (%w)", args[0], said, err)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// head keeps the first bytes that are written to it.
type head struct{ kept []byte }

// mostComplaint is the maximum kept length of git's error output, in bytes.
const mostComplaint = 4 << 10

func (t *head) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b[:min(len(b), mostComplaint-len(t.kept))]...)
	return len(b), nil
}
