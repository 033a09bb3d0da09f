package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// source is where programs come from.
type source struct {
	user       *syscall.Credential // that runs the programs; nil: this process's own
	caches     []string            // where downloads are kept, the best first
	repository string              // to download from
	installed  func(context.Context) []binaries
	log        *slog.Logger
	report     reporter
}

// newSource returns the source for programs that user runs (nil: this process's own). It downloads
// into a cache of the machine or of the user, and where it cannot write those into spare ("": not).
func newSource(user *syscall.Credential, spare string, log *slog.Logger, report reporter) source {
	s := source{user: user, repository: mavenCentral, log: log, report: report}
	if user != nil {
		s.caches = append(s.caches, "/var/cache/dyno/postgres") // root's own cache is closed to the user that runs them
	} else if cache, err := os.UserCacheDir(); err == nil {
		s.caches = append(s.caches, filepath.Join(cache, "dyno", "postgres"))
	}
	if spare != "" {
		s.caches = append(s.caches, spare)
	}
	s.installed = func(ctx context.Context) []binaries { return installed(ctx, user) }
	return s
}

// existing is the data that the programs are for.
type existing struct {
	folder string
	major  string // version that made it; "": there is none yet
}

// FindBinaries returns the folder of the PostgreSQL that is best for new data, and downloads it if
// that was not done before. Progress gets lines about that; nil: none.
func FindBinaries(ctx context.Context, progress io.Writer) (folder string, err error) {
	b, err := newSource(unprivilegedUser(), "", slog.New(slog.DiscardHandler), reporter{to: progress}).choose(ctx, "", existing{})
	return b.folder, err
}

// InstalledWith returns the folder of the newest PostgreSQL that a package manager has put on the
// machine and that has a program that the downloaded ones lack, such as pg_basebackup.
func InstalledWith(ctx context.Context, program string) (folder string, ok bool) {
	for _, b := range installed(ctx, unprivilegedUser()) {
		if _, err := exec.LookPath(b.path(program)); err == nil {
			return b.folder, true
		}
	}
	return "", false
}

// releases are what is downloaded, by major version: each is there for every platform.
var releases = map[string]string{"14": "14.18.0", "15": "15.13.0", "16": "16.9.0", "17": "17.5.0", "18": "18.4.0"}

// newMajor is the major version of a new cluster when binaries are downloaded.
const newMajor = "18"

// Causes of Start's errors about binaries.
var (
	ErrVersion    = errors.New("the data was made by another major version") // than that of the binaries
	ErrNoBinaries = errors.New("there is no PostgreSQL to start")
)

// choose returns the programs in bin, or when that is "" the best there are for the data.
func (s source) choose(ctx context.Context, bin string, d existing) (binaries, error) {
	if bin == "" {
		return s.search(ctx, d)
	}
	b, err := examine(ctx, bin, s.user)
	if err != nil {
		return b, fmt.Errorf("--postgres-bin: %w; it is the folder that holds initdb and postgres, such as /usr/lib/postgresql/17/bin", err)
	}
	if d.major != "" && d.major != b.major() {
		return b, d.misfit(b)
	}
	return b, nil
}

// misfit is the error of programs that must not touch the data.
func (d existing) misfit(b binaries) error {
	return fmt.Errorf("%w: %s was made by PostgreSQL %s, and %s holds PostgreSQL %s; give the folder of a PostgreSQL %s with --postgres-bin, "+
		"or move the data over with pg_dumpall", ErrVersion, d.folder, d.major, b.folder, b.version, d.major)
}

// search goes from what is already downloaded over a download to what is installed. Data that is
// there already knows its version, and then what is installed comes before a download: it may be
// what made the data when there was no network.
func (s source) search(ctx context.Context, d existing) (binaries, error) {
	major := cmp.Or(d.major, newMajor)
	if b, ok := s.downloaded(ctx, major); ok {
		return b, nil
	}
	if d.major != "" {
		if b, ok := s.installedOf(ctx, d.major); ok {
			return b, nil
		}
	}
	b, err := s.download(ctx, major)
	if err == nil || ctx.Err() != nil {
		return b, err
	}
	found := s.installed(ctx)
	switch {
	case len(found) == 0:
		return b, fmt.Errorf("%w: %w, and none is installed here; install one (Debian: apt install postgresql), "+
			"or give the folder of its programs with --postgres-bin, or the URL of one that runs elsewhere with --dsn", ErrNoBinaries, err)
	case d.major != "":
		return b, errors.Join(d.misfit(found[0]), err)
	}
	s.log.Warn("PostgreSQL could not be downloaded; using the one that is installed", "error", err, "folder", found[0].folder, "version", found[0].version)
	s.report.line("using PostgreSQL %s in %s instead", found[0].version, found[0].folder)
	return found[0], nil
}

// installedOf returns the newest installed one of a major version.
func (s source) installedOf(ctx context.Context, major string) (binaries, bool) {
	found := s.installed(ctx)
	i := slices.IndexFunc(found, func(b binaries) bool { return b.major() == major })
	if i < 0 {
		return binaries{}, false
	}
	return found[i], true
}

// downloaded returns what an earlier download left.
func (s source) downloaded(ctx context.Context, major string) (binaries, bool) {
	release, ok := releases[major]
	if !ok {
		return binaries{}, false
	}
	for _, cache := range s.caches {
		folder := filepath.Join(cache, release)
		if b, err := examine(ctx, filepath.Join(folder, "bin"), s.user); err == nil && complete(folder) {
			return b, true
		}
	}
	return binaries{}, false
}
