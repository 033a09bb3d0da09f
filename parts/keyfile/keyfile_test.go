package keyfile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// watched is a file that is watched until the test ends.
type watched struct {
	path string

	mu    sync.Mutex
	taken []string
	log   bytes.Buffer
}

// Write is the log's.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// logged returns what was logged since it was called last.
func (w *watched) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.log.Reset()
	return w.log.String()
}

func watch(t *testing.T, text string) *watched {
	w := &watched{path: filepath.Join(t.TempDir(), "keys")}
	write(t, w.path, text)
	f, err := Open(Options{Path: w.path, Max: 64, Log: slog.New(slog.NewTextHandler(w, nil)), Take: func(text []byte) (fs.FileMode, error) {
		if bytes.HasPrefix(text, []byte("bad")) {
			return 0, errors.New(w.path + " is bad")
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.taken = append(w.taken, string(text))
		return 0, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { f.Watch(ctx) })
	t.Cleanup(func() { cancel(); watching.Wait() })
	return w
}

// after is what was taken when a look at the file has passed.
func (w *watched) after() string {
	time.Sleep(Interval + Settle)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.taken, " ")
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, "one")
		if got := w.after(); got != "one" {
			t.Errorf("unchanged: %s", got)
		}
		write(t, w.path, "two") // as long as before
		got, log := w.after(), w.logged()
		if got != "one two" || strings.Count(log, "read again") != 1 {
			t.Errorf("changed: %s, %s", got, log)
		}
		write(t, w.path, "bad")
		for range 3 {
			if got := w.after(); got != "one two" {
				t.Errorf("broken: %s", got)
			}
		}
		if log := w.logged(); strings.Count(log, w.path+" is bad") != 1 {
			t.Errorf("logged of a broken file: %s", log)
		}
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		got, log = w.after(), w.logged()
		if got != "one two" || !strings.Contains(log, "no such file") {
			t.Errorf("removed: %s, %s", got, log)
		}
		write(t, w.path, "\ufeffthree")
		if got := w.after(); got != "one two three" {
			t.Errorf("with a byte order mark: %q", got)
		}
		write(t, w.path, "")
		if got := w.after(); got != "one two three " {
			t.Errorf("empty: %q", got)
		}
	})
}

// A program that writes the file in place empties it first: a look in between takes nothing.
func TestWatchWaitsUntilTheFileIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, "one")
		write(t, w.path, "")
		time.Sleep(Interval + Settle/2) // the look has come, and the file has not settled
		write(t, w.path, "two")
		time.Sleep(Settle)
		synctest.Wait()
		w.mu.Lock()
		if len(w.taken) != 1 {
			t.Errorf("taken: %q", w.taken)
		}
		w.mu.Unlock()
		if got := w.after(); got != "one two" {
			t.Errorf("settled: %s", got)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	write(t, large, strings.Repeat("#", 65))
	for path, says := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is not a regular file",
		large:                      "is it the right file?",
	} {
		if _, err := Open(Options{Path: path, Max: 64, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
}

func TestWarnsOfAnOpenFile(t *testing.T) {
	for mode, warns := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o620: true, 0o602: true} {
		path := filepath.Join(t.TempDir(), "keys")
		write(t, path, "one")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		log := new(bytes.Buffer)
		_, err := Open(Options{Path: path, Max: 64, Log: slog.New(slog.NewTextHandler(log, nil)), Take: func([]byte) (fs.FileMode, error) { return 0o026, nil }})
		if err != nil {
			if os.IsPermission(err) {
				continue // not for root
			}
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "chmod 600 "+path); got != warns {
			t.Errorf("mode %o: %s", mode, log)
		}
	}
}
