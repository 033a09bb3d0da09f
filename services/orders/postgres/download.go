package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// downloadTimeout bounds a download of tens of MB, and its extraction to 60 MB, which takes 4 to 20 s on a good line.
const downloadTimeout = 10 * time.Minute

// download puts the binaries of a major version into a cache. A process of its own does it: the library that knows
// where they are takes no context, reads the archive into memory, and ends the process on some errors.
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
	defer held.release()
	if b, ok := s.downloaded(ctx, major); ok {
		return b, nil // by another process, meanwhile
	}
	target := filepath.Join(cache, string(release))
	s.progress.line("downloading PostgreSQL %s for %s/%s into %s", release, runtime.GOOS, runtime.GOARCH, target)
	begun := time.Now()
	if err := s.fetch(ctx, string(release), target, held); err != nil {
		err = fmt.Errorf("downloading PostgreSQL %s: %w", release, err)
		s.progress.line("%v, after %v", err, time.Since(begun).Round(100*time.Millisecond))
		return binaries{}, err
	}
	s.progress.line("downloaded PostgreSQL %s in %v", release, time.Since(begun).Round(100*time.Millisecond))
	return examine(ctx, filepath.Join(target, "bin"), s.cluster.user)
}

// writableCache makes and returns the first cache that can be written, and entered by PostgreSQL's user.
func (s source) writableCache() (string, error) {
	var failed []error
	for _, cache := range s.caches {
		err := os.MkdirAll(cache, 0o755)
		if err == nil && s.cluster.user != nil {
			err = reachable(cache, s.cluster.user)
		}
		if err == nil {
			var probe *lock // that it is there says nothing of a read-only disk
			if probe, err = tryLock(cacheLock(cache)); err == nil || errors.Is(err, errLocked) {
				probe.release()
				return cache, nil
			}
		}
		failed = append(failed, err)
	}
	return "", fmt.Errorf("no folder for a download: %w", errors.Join(failed...))
}

func cacheLock(cache string) string { return filepath.Join(cache, "lock") }

// alone waits until no other process downloads into the cache.
func (s source) alone(ctx context.Context, cache string) (*lock, error) {
	wait := s.progress.begin("waiting for another process that downloads into " + cache)
	defer wait.end()
	for {
		held, err := tryLock(cacheLock(cache))
		if !errors.Is(err, errLocked) {
			return held, err
		}
		wait.tick()
		if err := pause(ctx, poll); err != nil {
			return nil, fmt.Errorf("another process downloads into %s: %w", cache, err)
		}
	}
}

// fetch has a helper download and extract a release into target, which is there afterwards as a whole or not at all.
func (s source) fetch(ctx context.Context, release, target string, held *lock) error {
	for _, left := range leftovers(filepath.Dir(target)) { // by a process that was killed; the lock says that nobody uses it
		os.RemoveAll(left)
	}
	work, err := os.MkdirTemp(filepath.Dir(target), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	cmd, err := helper("download", release, work, s.repository)
	if err != nil {
		return err
	}
	alive, err := cmd.StdinPipe() // its end, also by this process's death, ends the helper
	if err != nil {
		return err
	}
	defer alive.Close()
	var said tail
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	cmd.ExtraFiles = []*os.File{held.file}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	wait := s.progress.begin("downloading")
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			wait.tick()
		case <-ctx.Done():
			cmd.Process.Kill()
			<-done
			return ctx.Err()
		case err := <-done:
			if err != nil {
				return fmt.Errorf("%s", lastBytes(said.text, maxTail))
			}
			return os.Rename(extracted(work), target)
		}
	}
}

// leftovers lists the folders of downloads that were interrupted.
func leftovers(cache string) []string {
	left, _ := filepath.Glob(filepath.Join(cache, "download-*"))
	return left
}

// extracted is where the helper puts the binaries.
func extracted(work string) string { return filepath.Join(work, "extracted") }

// fetchInHelper is the helper's part of fetch. args: the release, a folder to work in, the repository or "".
func fetchInHelper(args []string, alive io.Reader) error {
	if len(args) != 3 {
		return errors.New("download: want RELEASE FOLDER REPOSITORY")
	}
	go func() {
		io.Copy(io.Discard, alive)
		os.Exit(1)
	}()
	release, work := args[0], args[1]
	syscall.Umask(0o022) // another user may be the one who runs them
	// The library downloads only on the way to a start. Data that it takes for an initialized cluster, and pg_ctl
	// does not, ends that way right after the extraction.
	data := filepath.Join(work, "data")
	major, _, _ := strings.Cut(release, ".")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(major), 0o600); err != nil {
		return err
	}
	config := embedded.DefaultConfig().Version(embedded.PostgresVersion(release)).Port(0).
		CachePath(filepath.Join(work, "archive")).RuntimePath(filepath.Join(work, "runtime")).
		BinariesPath(extracted(work)).DataPath(data).Logger(io.Discard)
	if repository := args[2]; repository != "" {
		config = config.BinaryRepositoryURL(repository)
	}
	err := embedded.NewDatabase(config).Start()
	if err == nil || !strings.HasPrefix(err.Error(), pastExtraction) {
		return fmt.Errorf("the library for it says: %v", err)
	}
	_, err = examine(context.Background(), filepath.Join(extracted(work), "bin"), nil)
	return err
}

// pastExtraction begins the library's error when it has extracted the archive and pg_ctl failed.
const pastExtraction = "could not start postgres"
