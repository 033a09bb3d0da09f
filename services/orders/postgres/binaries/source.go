package binaries

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

	"dyno/services/orders/postgres/unprivileged"
	"dyno/services/orders/postgres/waiting"
)

// Source is where programs come from.
type Source struct {
	user       *syscall.Credential // that runs the programs; nil: this process's own
	caches     []string            // where downloads are kept, the best first
	repository string              // to download from
	installed  func(context.Context) []Set
	log        *slog.Logger
	report     waiting.Reporter
}

// NewSource returns the source for programs that user runs (nil: this process's own). It downloads
// into a cache of the machine or of the user, and where it cannot write those into spare ("": not).
func NewSource(user *syscall.Credential, spare string, log *slog.Logger, report waiting.Reporter) Source {
	s := Source{user: user, repository: mavenCentral, log: log, report: report}
	if user != nil {
		s.caches = append(s.caches, "/var/cache/dyno/postgres") // root's own cache is closed to the user that runs them
	} else if cache, err := os.UserCacheDir(); err == nil {
		s.caches = append(s.caches, filepath.Join(cache, "dyno", "postgres"))
	}
	if spare != "" {
		s.caches = append(s.caches, spare)
	}
	s.installed = func(ctx context.Context) []Set { return installed(ctx, user) }
	return s
}

// Data is the data that the programs are for.
type Data struct {
	Folder string
	Major  string // version that made it; "": there is none yet
}

// Find returns the folder of the PostgreSQL that is best for new data, and downloads it if that was
// not done before. Progress gets lines about that; nil: none.
func Find(ctx context.Context, progress io.Writer) (folder string, err error) {
	b, err := NewSource(unprivileged.User(), "", slog.New(slog.DiscardHandler), waiting.Reporter{To: progress}).Choose(ctx, "", Data{})
	return b.Folder, err
}

// InstalledWith returns the folder of the newest PostgreSQL that a package manager has put on the
// machine and that has a program that the downloaded ones lack, such as pg_basebackup.
func InstalledWith(ctx context.Context, program string) (folder string, ok bool) {
	for _, b := range installed(ctx, unprivileged.User()) {
		if _, err := exec.LookPath(b.Path(program)); err == nil {
			return b.Folder, true
		}
	}
	return "", false
}

// releases are what is downloaded, by major version: each is there for every platform.
var releases = map[string]string{"14": "14.18.0", "15": "15.13.0", "16": "16.9.0", "17": "17.5.0", "18": "18.4.0"}

// newMajor is the major version of a new cluster when binaries are downloaded.
const newMajor = "18"

// Causes of Choose's errors.
var (
	ErrVersion    = errors.New("the data was made by another major version") // than that of the binaries
	ErrNoBinaries = errors.New("there is no PostgreSQL to start")
)

// Choose returns the programs in bin, or when that is "" the best there are for the data.
func (s Source) Choose(ctx context.Context, bin string, d Data) (Set, error) {
	if bin == "" {
		return s.search(ctx, d)
	}
	b, err := examine(ctx, bin, s.user)
	if err != nil {
		return b, fmt.Errorf("--postgres-bin: %w; it is the folder that holds initdb and postgres, such as /usr/lib/postgresql/17/bin", err)
	}
	if d.Major != "" && d.Major != b.Major() {
		return b, d.misfit(b)
	}
	return b, nil
}

// misfit is the error of programs that must not touch the data.
func (d Data) misfit(b Set) error {
	return fmt.Errorf("%w: %s was made by PostgreSQL %s, and %s holds PostgreSQL %s; give the folder of a PostgreSQL %s with --postgres-bin, "+
		"or move the data over with pg_dumpall", ErrVersion, d.Folder, d.Major, b.Folder, b.Version, d.Major)
}

// search goes from what is already downloaded over a download to what is installed. Data that is
// there already knows its version, and then what is installed comes before a download: it may be
// what made the data when there was no network.
func (s Source) search(ctx context.Context, d Data) (Set, error) {
	major := cmp.Or(d.Major, newMajor)
	if b, ok := s.downloaded(ctx, major); ok {
		return b, nil
	}
	if d.Major != "" {
		if b, ok := s.installedOf(ctx, d.Major); ok {
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
	case d.Major != "":
		return b, errors.Join(d.misfit(found[0]), err)
	}
	s.log.Warn("PostgreSQL could not be downloaded; using the one that is installed", "error", err, "folder", found[0].Folder, "version", found[0].Version)
	s.report.Line("using PostgreSQL %s in %s instead", found[0].Version, found[0].Folder)
	return found[0], nil
}

// installedOf returns the newest installed one of a major version.
func (s Source) installedOf(ctx context.Context, major string) (Set, bool) {
	found := s.installed(ctx)
	i := slices.IndexFunc(found, func(b Set) bool { return b.Major() == major })
	if i < 0 {
		return Set{}, false
	}
	return found[i], true
}

// downloaded returns what an earlier download left.
func (s Source) downloaded(ctx context.Context, major string) (Set, bool) {
	release, ok := releases[major]
	if !ok {
		return Set{}, false
	}
	for _, cache := range s.caches {
		folder := filepath.Join(cache, release)
		if b, err := examine(ctx, filepath.Join(folder, "bin"), s.user); err == nil && complete(folder) {
			return b, true
		}
	}
	return Set{}, false
}
