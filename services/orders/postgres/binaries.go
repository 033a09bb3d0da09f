package postgres

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// binaries is the programs of one PostgreSQL, initdb and postgres among them.
type binaries struct {
	folder  string
	version string // such as 17.5
}

// path returns where a program of the set is.
func (s binaries) path(program string) string { return filepath.Join(s.folder, program) }

// major returns the part of the version that the data must agree with. Before 10 it had two
// numbers.
func (s binaries) major() string {
	major, rest, _ := strings.Cut(s.version, ".")
	if len(major) == 1 {
		minor, _, _ := strings.Cut(rest, ".")
		return major + "." + minor
	}
	return major
}

// versionLine is in what postgres --version prints: "postgres (PostgreSQL) 15.13 (Debian
// 15.13-0+deb12u1)".
var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+(?:\.\d+)*)`)

// versionTimeout bounds postgres --version, which takes 10 ms, and longer on a disk that was
// asleep.
const versionTimeout = 30 * time.Second

// examine asks a folder's postgres for its version, as user (nil: this process's own).
func examine(ctx context.Context, folder string, user *syscall.Credential) (binaries, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return binaries{}, err
	}
	b := binaries{folder: folder}
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(b.path(program)); err != nil {
			return b, err
		}
	}
	if err := reachable(folder, user); err != nil {
		return b, err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path("postgres"), "--version")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	said, err := cmd.Output()
	if err != nil {
		return b, fmt.Errorf("%s --version: %w", b.path("postgres"), err)
	}
	m := versionLine.FindSubmatch(said)
	if m == nil {
		return b, fmt.Errorf("%s --version says %.100q, which names no version", b.path("postgres"), said)
	}
	b.version = string(m[1])
	return b, nil
}

// places are where package managers put PostgreSQL.
var places = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // PostgreSQL's own packages for Red Hat
	"/usr/libexec/postgresql*",          // Alpine
	"/opt/homebrew/opt/postgresql*/bin", // Homebrew on Apple silicon
	"/usr/local/opt/postgresql*/bin",    // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
}

// installed lists the PostgreSQLs found on the machine, the newest first.
func installed(ctx context.Context, user *syscall.Credential) []binaries {
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	asking, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	if said, err := exec.CommandContext(asking, "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(said)))
	}
	for _, pattern := range places {
		matches, _ := filepath.Glob(pattern)
		folders = append(folders, matches...)
	}
	var found []binaries
	for _, folder := range folders {
		if program, err := filepath.EvalSymlinks(filepath.Join(folder, "postgres")); err == nil {
			folder = filepath.Dir(program) // on PATH there may be links to some of the programs only
		}
		if b, err := examine(ctx, folder, user); err == nil && !slices.Contains(found, b) {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b binaries) int { return compareVersions(b.version, a.version) })
	return found
}

// compareVersions orders "9.6.24", "15.13" and "17.5" by their numbers.
func compareVersions(a, b string) int {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:])
}
