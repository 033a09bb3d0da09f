package postgres

import (
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

// source is where binaries come from.
type source struct {
	cluster    cluster
	caches     []string // where downloads are kept, the best first
	repository string   // to download from; "": the library's own
	installed  func(context.Context) []binaries
	log        *slog.Logger
	progress   progress
}

func newSource(c cluster, log *slog.Logger, p progress) source {
	s := source{cluster: c, log: log, progress: p}
	if c.user != nil {
		s.caches = append(s.caches, "/var/cache/dyno/postgres") // root's own cache is closed to the user that runs them
	} else if cache, err := os.UserCacheDir(); err == nil {
		s.caches = append(s.caches, filepath.Join(cache, "dyno", "postgres"))
	}
	if c.folder != "" {
		s.caches = append(s.caches, filepath.Join(c.folder, "binaries"))
	}
	s.installed = func(ctx context.Context) []binaries { return installed(ctx, c.user) }
	return s
}

// Find returns the folder of the PostgreSQL that Start would use for a new cluster, and downloads
// it if that was not done before. Progress gets lines about that; nil: none.
func Find(ctx context.Context, to io.Writer) (folder string, err error) {
	c := cluster{}
	if os.Geteuid() == 0 {
		c.user = &syscall.Credential{Uid: nobodyID, Gid: nobodyID}
	}
	b, err := newSource(c, slog.New(slog.DiscardHandler), progress{to}).search(ctx, "")
	return b.folder, err
}

// InstalledWith returns the folder of the newest PostgreSQL that a package manager has put on the
// machine and that has a program that the downloaded ones lack, such as pg_basebackup.
func InstalledWith(ctx context.Context, program string) (folder string, ok bool) {
	var user *syscall.Credential
	if os.Geteuid() == 0 {
		user = &syscall.Credential{Uid: nobodyID, Gid: nobodyID}
	}
	for _, b := range installed(ctx, user) {
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

// Causes of Start's errors.
var (
	ErrVersion    = errors.New("the data was made by another major version") // than that of the binaries
	ErrNoBinaries = errors.New("there is no PostgreSQL to start")
)

// choose returns the binaries in bin, or when that is "" the best there are for the data.
func (s source) choose(ctx context.Context, bin string) (binaries, error) {
	made, err := s.cluster.version()
	if err != nil {
		return binaries{}, err
	}
	if bin == "" {
		return s.search(ctx, made)
	}
	b, err := examine(ctx, bin, s.cluster.user)
	if err != nil {
		return b, fmt.Errorf("--postgres-bin: %w; it is the folder that holds initdb and postgres, such as /usr/lib/postgresql/17/bin", err)
	}
	if made != "" && made != b.major() {
		return b, s.misfit(made, b)
	}
	return b, nil
}

// misfit is the error of binaries that must not touch the data.
func (s source) misfit(made string, b binaries) error {
	return fmt.Errorf("%w: %s was made by PostgreSQL %s, and %s holds PostgreSQL %s; give the folder of a PostgreSQL %s with --postgres-bin, "+
		"or move the data over with pg_dumpall", ErrVersion, s.cluster.data(), made, b.folder, b.version, made)
}

// search goes from what is already downloaded over a download to what is installed. Data that is
// there already knows its version, and then what is installed comes before a download: it may be
// what made the data when there was no network.
func (s source) search(ctx context.Context, made string) (binaries, error) {
	major := made
	if major == "" {
		major = newMajor
	}
	if b, ok := s.downloaded(ctx, major); ok {
		return b, nil
	}
	if made != "" {
		if b, ok := s.installedOf(ctx, made); ok {
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
	case made != "":
		return b, errors.Join(s.misfit(made, found[0]), err)
	}
	s.log.Warn("PostgreSQL could not be downloaded; using the one that is installed", "error", err, "folder", found[0].folder, "version", found[0].version)
	s.progress.line("using PostgreSQL %s in %s instead", found[0].version, found[0].folder)
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
		if b, err := examine(ctx, filepath.Join(folder, "bin"), s.cluster.user); err == nil && complete(folder) {
			return b, true
		}
	}
	return binaries{}, false
}
