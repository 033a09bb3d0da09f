package postgres

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// binaries is a folder with initdb and postgres.
type binaries struct {
	folder  string
	version string // such as 17.5
}

func (b binaries) path(program string) string { return filepath.Join(b.folder, program) }

// major returns the part of the version that the data must agree with.
func (b binaries) major() string {
	major, _, _ := strings.Cut(b.version, ".")
	return major
}

// versionLine is what postgres --version prints: "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)", "... 18beta1".
var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+(?:\.\d+)*)`)

// examine asks a folder's postgres for its version.
func examine(ctx context.Context, folder string) (binaries, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return binaries{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // it takes 10 ms; longer on a disk that is asleep
	defer cancel()
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(folder, program)); err != nil {
			return binaries{}, err
		}
	}
	said, err := exec.CommandContext(ctx, filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("%s --version: %w", filepath.Join(folder, "postgres"), err)
	}
	m := versionLine.FindSubmatch(said)
	if m == nil {
		return binaries{}, fmt.Errorf("%s --version says %q, which names no version", filepath.Join(folder, "postgres"), lastLines(said, 100))
	}
	return binaries{folder, string(m[1])}, nil
}

// Installed returns the folder of a PostgreSQL's binaries that is found on this machine, the newest one.
func Installed() (folder string, ok bool) {
	found := onThisMachine(context.Background())
	if len(found) == 0 {
		return "", false
	}
	return found[0].folder, true
}

// onThisMachine lists the PostgreSQLs that a package manager has put here, the newest first.
func onThisMachine(ctx context.Context) []binaries {
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	if said, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(said)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
		"/usr/pgsql-*/bin",                  // PostgreSQL's own packages for Red Hat
		"/usr/libexec/postgresql*",          // Alpine
		"/opt/homebrew/opt/postgresql*/bin", // Homebrew on Apple silicon
		"/usr/local/opt/postgresql*/bin",    // Homebrew on Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	} {
		matches, _ := filepath.Glob(pattern)
		folders = append(folders, matches...)
	}
	var found []binaries
	for _, folder := range folders {
		if real, err := filepath.EvalSymlinks(filepath.Join(folder, "postgres")); err == nil {
			folder = filepath.Dir(real) // PATH may hold links to some of the programs only
		}
		b, err := examine(ctx, folder)
		if err == nil && !slices.Contains(found, b) {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b binaries) int { return compareVersions(b.version, a.version) })
	return found
}

// compareVersions orders "9.6.24", "15.13" and "17.5" by number.
func compareVersions(a, b string) int {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:])
}

// chooseBinaries returns those of o.Bin, else others that fit the data.
func chooseBinaries(ctx context.Context, o Options, c cluster, p progress) (binaries, error) {
	made, err := c.version()
	if err != nil {
		return binaries{}, err
	}
	b, err := candidate(ctx, o, c, made, p)
	if err != nil {
		return binaries{}, err
	}
	if made != "" && made != b.major() {
		return binaries{}, fmt.Errorf("%w: %s was made by PostgreSQL %s, and the binaries in %s are PostgreSQL %s; give the folder of a PostgreSQL %s with --postgres-bin, "+
			"or copy the data over with pg_dumpall", ErrVersion, c.data(), made, b.folder, b.version, made)
	}
	if c.user != nil {
		if err := reachable(b.folder, c.user); err != nil {
			return binaries{}, fmt.Errorf("the binaries: %w", err)
		}
	}
	return b, nil
}

// ErrVersion is the cause of Start's error when the data was made by another major version than that of the binaries.
var ErrVersion = errors.New("the versions do not fit")

func candidate(ctx context.Context, o Options, c cluster, made string, p progress) (binaries, error) {
	if o.Bin != "" {
		b, err := examine(ctx, o.Bin)
		if err != nil {
			err = fmt.Errorf("--postgres-bin: %w; it is the folder that holds initdb and postgres, such as /usr/lib/postgresql/17/bin", err)
		}
		return b, err
	}
	found := onThisMachine(ctx)
	for _, b := range found {
		if made == "" || b.major() == made {
			return b, nil
		}
	}
	if len(found) > 0 {
		return found[0], nil // of another version, which the caller tells
	}
	return binaries{}, fmt.Errorf("there is no PostgreSQL here; install one (Debian: apt install postgresql), " +
		"or give the folder of its binaries with --postgres-bin, or the URL of one that runs elsewhere with --dsn")
}
