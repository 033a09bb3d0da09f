package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"dyno/parts/flock"
)

// downloadTimeout bounds a download of tens of MB, and its extraction to 60 MB, which takes 4 to 20
// s on a good line.
const downloadTimeout = 10 * time.Minute

// download puts the binaries of a major version into a cache.
func (s source) download(ctx context.Context, major string) (binaries, error) {
	release, ok := releases[major]
	if !ok {
		return binaries{}, fmt.Errorf("PostgreSQL %s cannot be downloaded", major)
	}
	cache, err := s.writableCache()
	if err != nil {
		return binaries{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	held, err := s.alone(ctx, cache)
	if err != nil {
		return binaries{}, err
	}
	defer held.Close()
	if b, ok := s.downloaded(ctx, major); ok {
		return b, nil // by another process, meanwhile
	}
	target := filepath.Join(cache, release)
	s.report.line("downloading PostgreSQL %s for %s/%s into %s", release, runtime.GOOS, runtime.GOARCH, target)
	begun := time.Now()
	if err := s.fetch(ctx, release, target); err != nil {
		err = fmt.Errorf("downloading PostgreSQL %s: %w", release, err)
		s.report.line("%v, after %v", err, since(begun))
		return binaries{}, err
	}
	s.report.line("downloaded PostgreSQL %s in %v", release, since(begun))
	return examine(ctx, filepath.Join(target, "bin"), s.user)
}

// writableCache makes and returns the first cache that can be written, and entered by PostgreSQL's
// user.
func (s source) writableCache() (string, error) {
	var failed []error
	for _, cache := range s.caches {
		err := os.MkdirAll(cache, 0o755)
		if err == nil {
			err = reachable(cache, s.user)
		}
		if err == nil {
			var probe *os.File // that it is there says nothing of a read-only disk
			if probe, err = flock.Open(cacheLock(cache)); err == nil || errors.Is(err, flock.ErrLocked) {
				probe.Close()
				return cache, nil
			}
		}
		failed = append(failed, err)
	}
	return "", fmt.Errorf("no folder for a download: %w", errors.Join(failed...))
}

func cacheLock(cache string) string { return filepath.Join(cache, "lock") }

// alone waits until no other process downloads into the cache.
func (s source) alone(ctx context.Context, cache string) (held *os.File, err error) {
	err = s.report.wait(ctx, "waiting for another process that downloads into "+cache, func() (bool, error) {
		held, err = flock.Open(cacheLock(cache))
		if errors.Is(err, flock.ErrLocked) {
			return false, nil
		}
		return true, err
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("another process downloads into %s: %w", cache, err)
	}
	return held, err
}

// fetch downloads and extracts a release into target, which is there afterwards as a whole or not
// at all.
func (s source) fetch(ctx context.Context, release, target string) error {
	for _, left := range leftovers(filepath.Dir(target)) { // by a process that was killed; the lock says that no other works there
		os.RemoveAll(left)
	}
	work, err := os.MkdirTemp(filepath.Dir(target), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil { // another user may be the one who runs what is in it
		return err
	}
	defer s.report.while("downloading")()
	jar := filepath.Join(work, "archive.jar")
	if err := retrieve(ctx, archiveURL(s.repository, release, platform()), jar); err != nil {
		return err
	}
	whole := filepath.Join(work, "whole")
	if err := unpack(ctx, jar, whole); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(jar), err)
	}
	if _, err := examine(ctx, filepath.Join(whole, "bin"), s.user); err != nil {
		return err
	}
	if err := os.RemoveAll(target); err != nil { // what is there is damaged, or it would have been used
		return err
	}
	return os.Rename(whole, target)
}

// leftovers lists the folders of downloads that were interrupted.
func leftovers(cache string) []string {
	left, _ := filepath.Glob(filepath.Join(cache, "download-*"))
	return left
}
