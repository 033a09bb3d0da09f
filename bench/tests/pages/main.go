// Command pages types the commands of README.md and of the pages below docs/ as their readers do:
// page by page, in a clone that is clean again for each, in a shell that keeps its folder and its
// variables. A command must end with 0 or with what the page says. `make pages` calls it; with
// arguments it runs only those pages.
//
// A server that prints that it is ready occupies its terminal; the next command is typed into
// another one. Marks in the page's comments say what is not run and why (see steps).
//
// It does not compare what commands print, which differs from run to run. Each terminal owns the
// processes that were started in it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dyno/parts/flock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// programs are those of this repository that pages name.
var programs = []string{"dyno", "notifyd", "ordersd", "ledgersync", "chaind", "arenad"}

const (
	commandTimeout = 10 * time.Minute // reached only by a command that hangs
	busyMachine    = 4                // exit code of dyno where other programs left it too little CPU to measure
	startTimeout   = commandTimeout   // until a server in the background is ready; it may be compiled first
)

func run(ctx context.Context, only []string) error {
	pages := only
	if len(pages) == 0 {
		var err error
		if pages, err = allPages(); err != nil {
			return err
		}
	}
	d, err := newDesk(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	var ran, skipped int
	var failed []error
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		all, err := steps(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if len(all) == 0 {
			continue
		}
		began := time.Now()
		r, s, err := d.follow(ctx, page, all)
		ran, skipped = ran+r, skipped+s
		fmt.Printf("%-44s ran %2d, not run %2d, %4.1f s\n", page, r, s, time.Since(began).Seconds())
		if ctx.Err() != nil {
			return errors.Join(append(failed, ctx.Err())...)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	fmt.Printf("ran %d commands of %d pages; %d are not run here\n", ran, len(pages), skipped)
	return errors.Join(failed...)
}

// allPages lists the pages in the order in which an index would.
func allPages() ([]string, error) {
	all := []string{"README.md"}
	err := filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	})
	return all, err
}

// desk is where pages are followed: a clone, and the programs on the PATH.
type desk struct {
	folder    string // where the clone is, and what a page has its reader make beside it
	clone     string
	commit    string // what the clone holds
	bin, home string
	lock      *os.File
}

// newDesk clones the repository of the current folder with its uncommitted changes, and builds the
// programs. The clone's folder is always the same, so that Go compiles only what changed.
func newDesk(ctx context.Context) (*desk, error) {
	root := filepath.Join(os.TempDir(), fmt.Sprintf("dyno-pages-%d", os.Getuid()))
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	lock, err := flock.Open(filepath.Join(root, "lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	folder := filepath.Join(root, "folder")
	d := &desk{folder: folder, clone: filepath.Join(folder, "dyno"), bin: filepath.Join(root, "bin"), home: filepath.Join(root, "home"), lock: lock}
	if err := d.prepare(ctx); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

func (d *desk) prepare(ctx context.Context) error {
	for _, dir := range []string{d.folder, d.home} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	for _, dir := range []string{d.folder, d.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	// A file that was written again with the same bytes would make git stash fail; status looks at it.
	if _, err := git(ctx, ".", "status", "--porcelain"); err != nil {
		return err
	}
	changed, err := git(ctx, ".", "stash", "create")
	for tries := 1; err != nil && tries < 100 && strings.Contains(err.Error(), "index.lock"); tries++ {
		time.Sleep(100 * time.Millisecond) // another git, such as that of go build, is writing the index
		changed, err = git(ctx, ".", "stash", "create")
	}
	if err != nil {
		return err
	}
	if _, err := git(ctx, ".", "clone", "-q", "--shared", "--no-checkout", ".", d.clone); err != nil {
		return err
	}
	if d.commit, err = git(ctx, ".", "rev-parse", cmp.Or(changed, "HEAD")); err != nil {
		return err
	}
	if err := d.checkout(ctx); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", d.bin+"/", "./cmd/dyno", "dyno/services/...cmd/...")
	build.Dir, build.Stderr = d.clone, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the programs: %w", err)
	}
	return nil
}

func (d *desk) checkout(ctx context.Context) error {
	_, err := git(ctx, d.clone, "checkout", "-q", "--force", "-B", "main", d.commit)
	return err
}

func (d *desk) close() { d.lock.Close() }

// clean makes the clone as it was, with the programs built in it, and nothing beside it.
func (d *desk) clean(ctx context.Context) error {
	beside, err := os.ReadDir(d.folder)
	if err != nil {
		return err
	}
	for _, b := range beside {
		if path := filepath.Join(d.folder, b.Name()); path != d.clone {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	if err := d.checkout(ctx); err != nil {
		return err
	}
	if _, err := git(ctx, d.clone, "clean", "-q", "-ffdx"); err != nil {
		return err
	}
	for _, p := range programs {
		if err := os.Link(filepath.Join(d.bin, p), filepath.Join(d.clone, p)); err != nil {
			return err
		}
	}
	return nil
}

// environment is that of a reader with an empty home. What Go and npm have downloaded and compiled
// stays where it is.
func (d *desk) environment(ctx context.Context) ([]string, error) {
	env := append(os.Environ(), "HOME="+d.home, "TMPDIR="+d.home, "PATH="+d.bin+":"+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL="+filepath.Join(d.home, "gitconfig"),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE", "GOENV").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env = append(env, []string{"GOMODCACHE", "GOCACHE", "GOENV"}[i]+"="+value)
	}
	if home, err := os.UserHomeDir(); err == nil {
		env = append(env, "npm_config_cache="+filepath.Join(home, ".npm"), "npm_config_userconfig="+filepath.Join(home, ".npmrc"))
	}
	return env, nil
}

// follow does the steps of a page until one fails.
func (d *desk) follow(ctx context.Context, page string, all []step) (ran, skipped int, err error) {
	if err := d.clean(ctx); err != nil {
		return 0, 0, err
	}
	env, err := d.environment(ctx)
	if err != nil {
		return 0, 0, err
	}
	r := reader{dir: d.clone, env: env}
	defer r.close()
	for _, s := range all {
		switch {
		case s.skip != "":
			skipped++
		case s.file != "":
			err = os.WriteFile(filepath.Join(r.dir, s.file), []byte(s.text), 0o600)
		default:
			ran++
			err = r.do(ctx, s)
		}
		if err != nil {
			return ran, skipped, fmt.Errorf("%s:%d: %s\n  %w", page, s.line, s.text, err)
		}
	}
	return ran, skipped, nil
}

// reader is a reader of one page, with the terminals that are open.
type reader struct {
	dir       string
	env       []string
	terminals []*terminal
	busy      bool // the last terminal is occupied by a server
}

func (r *reader) close() {
	for _, t := range r.terminals {
		t.close()
	}
}

// do types a command.
func (r *reader) do(ctx context.Context, s step) error {
	if len(r.terminals) == 0 || r.busy {
		t, err := open(r.dir, r.env)
		if err != nil {
			return err
		}
		r.terminals, r.busy = append(r.terminals, t), false
	}
	t := r.terminals[len(r.terminals)-1]
	limited, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	end, err := t.run(limited, s.text)
	switch {
	case errors.Is(err, errServes):
		r.busy = true
		return nil
	case err != nil:
		r.busy = true
	case end.status != s.exit && !busy(s.text, end.status, t.out.tail()):
		err = fmt.Errorf("it ended with %d, not %d", end.status, s.exit)
	default:
		r.dir = end.dir
		if serves(s.text) {
			starting, cancel := context.WithTimeout(ctx, startTimeout)
			defer cancel()
			t.awaitReady(starting)
		}
		return nil
	}
	return fmt.Errorf("%w\n%s", err, indented(t.out.tail()))
}

// busy reports whether a command of dyno says that other programs left it too little CPU to measure; go run
// ends with 1 then, and prints the status.
func busy(command string, status int, said string) bool {
	return status == busyMachine && strings.HasPrefix(command, "dyno ") ||
		status == 1 && strings.HasPrefix(command, "go run ./cmd/dyno ") && strings.Contains(said, fmt.Sprint("exit status ", busyMachine))
}

// serves reports whether a command starts a server of this repository in the background.
func serves(command string) bool {
	return strings.HasSuffix(command, "&") && (strings.Contains(command, " serve ") || strings.Contains(command, " sim ") ||
		strings.Contains(command, " sink ") || strings.Contains(command, "./subjects/"))
}

func indented(text string) string { return "  | " + strings.ReplaceAll(text, "\n", "\n  | ") }

// git runs git in a folder, and returns what it prints.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
