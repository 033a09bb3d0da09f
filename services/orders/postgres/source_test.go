package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/flock"
	"dyno/parts/quicktest"
)

// pretend makes a folder with programs that only print a version.
func pretend(t *testing.T, folder, version string) binaries {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s (Distribution %s-1)'\n", version, version)
	for _, program := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(folder, program), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return binaries{folder, version}
}

// nowhere is a repository that cannot be reached: no server listens on port 1.
const nowhere = "http://127.0.0.1:1"

// testSource is a source with a cache of its own, in a folder that the user of PostgreSQL can enter
// when root runs the test.
func testSource(t *testing.T) (s source, folder string, said *strings.Builder) {
	t.Helper()
	folder, err := os.MkdirTemp("", "binaries-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	said = new(strings.Builder)
	return source{
		user: unprivilegedUser(), caches: []string{filepath.Join(folder, "cache")}, repository: nowhere,
		installed: func(context.Context) []binaries { return nil },
		log:       slog.New(slog.NewTextHandler(said, nil)), report: reporter{to: said},
	}, folder, said
}

func TestChoiceOfBinariesOffline(t *testing.T) {
	for name, c := range map[string]struct {
		made       string
		downloaded []string // releases
		installed  []string
		want       string // version; "": an error
		says       []string
	}{
		"nothing there":                    {"", nil, nil, "", []string{"apt install postgresql", "--postgres-bin", "--dsn", "downloading PostgreSQL 18"}},
		"downloaded before":                {"", []string{"18.4.0"}, []string{"16.1"}, "18.4.0", nil},
		"installed":                        {"", nil, []string{"16.1", "15.3"}, "16.1", []string{"level=WARN", "using PostgreSQL 16.1"}},
		"another release was downloaded":   {"", []string{"15.13.0"}, []string{"16.1"}, "16.1", []string{"level=WARN"}},
		"data of the one downloaded":       {"15", []string{"15.13.0", "17.5.0"}, []string{"17.1"}, "15.13.0", nil},
		"data of the one installed":        {"15", []string{"17.5.0"}, []string{"16.1", "15.3"}, "15.3", nil},
		"data of neither":                  {"14", []string{"17.5.0"}, []string{"16.1", "15.3"}, "", []string{"PostgreSQL 14", "PostgreSQL 16.1", "--postgres-bin"}},
		"data of one that never was there": {"12", nil, []string{"16.1"}, "", []string{"PostgreSQL 12 cannot be downloaded", "PostgreSQL 16.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, folder, said := testSource(t)
			for _, release := range c.downloaded {
				pretend(t, filepath.Join(s.caches[0], release, "bin"), release)
			}
			var found []binaries
			for _, version := range c.installed {
				found = append(found, pretend(t, filepath.Join(folder, "installed", version), version))
			}
			s.installed = func(context.Context) []binaries { return found }
			b, err := s.choose(t.Context(), "", existing{"data", c.made})
			if c.want == "" {
				wants(t, err, c.says...)
				if errors.Is(err, ErrNoBinaries) != (len(found) == 0) || errors.Is(err, ErrVersion) == (len(found) == 0) {
					t.Errorf("not the right sentinel: %v", err)
				}
				return
			}
			if err != nil || b.version != c.want {
				t.Fatalf("%v %v, want version %s", b, err, c.want)
			}
			for _, text := range c.says {
				if !strings.Contains(said.String(), text) {
					t.Errorf("nothing says %q:\n%s", text, said)
				}
			}
			if c.says == nil && said.Len() > 0 {
				t.Errorf("it says, without a need:\n%s", said)
			}
		})
	}
}

func TestGivenBinariesMustFit(t *testing.T) {
	s, folder, _ := testSource(t)
	data := existing{"data", "15"}
	b := pretend(t, filepath.Join(folder, "seventeen"), "17.2")
	_, err := s.choose(t.Context(), b.folder, data)
	wants(t, err, "was made by PostgreSQL 15", b.folder+" holds PostgreSQL 17.2", "--postgres-bin", "pg_dumpall")
	if !errors.Is(err, ErrVersion) {
		t.Error("it is not ErrVersion")
	}
	fits := pretend(t, filepath.Join(folder, "fifteen"), "15.9")
	if b, err := s.choose(t.Context(), fits.folder, data); b != fits {
		t.Errorf("%v %v, want %v", b, err, fits)
	}
}

func TestAFailedDownloadSaysWhyAndLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"not found":  {http.NotFound, "404"},
		"no archive": {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("a page of a captive portal")) }, "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			repository := httptest.NewServer(c.answer)
			defer repository.Close()
			s, _, said := testSource(t)
			s.repository = repository.URL
			_, err := s.download(t.Context(), "18")
			wants(t, err, c.says, "18")
			if left := leftovers(s.caches[0]); len(left) > 0 {
				t.Errorf("it leaves %s", left)
			}
			if lines := strings.Count(said.String(), "\n"); lines != 2 {
				t.Errorf("%d lines of progress, want one at the begin and one at the end:\n%s", lines, said)
			}
		})
	}
}

// A repository that does not answer is waited for as long as the caller wants, and no longer.
func TestADownloadGivenUp(t *testing.T) {
	asked := make(chan bool, 1)
	release := make(chan bool)
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-release
	}))
	defer repository.Close()
	defer close(release)
	s, _, _ := testSource(t)
	s.repository = repository.URL
	s.installed = func(context.Context) []binaries { return []binaries{{"/somewhere", "16.1"}} }
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := s.choose(ctx, "", existing{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was given up", err)
	}
	if left := leftovers(s.caches[0]); len(left) > 0 {
		t.Errorf("it leaves %s", left)
	}
}

// A download that another process is at is waited for and used.
func TestADownloadByAnother(t *testing.T) {
	s, _, _ := testSource(t)
	cache, err := s.writableCache()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := flock.Open(cacheLock(cache))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.download(ctx, "17"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it waits", err)
	}
	pretend(t, filepath.Join(cache, "17.5.0", "bin"), "17.5")
	theirs.Close()
	if b, err := s.download(t.Context(), "17"); err != nil || b.version != "17.5" {
		t.Errorf("%v %v, want what the other has left", b, err)
	}
}

func TestACacheThatCannotBeWritten(t *testing.T) {
	s, folder, _ := testSource(t)
	blocked := filepath.Join(folder, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := s.caches[0]
	s.caches = []string{filepath.Join(blocked, "cache"), good}
	if cache, err := s.writableCache(); err != nil || cache != good {
		t.Errorf("%q %v, want %s", cache, err, good)
	}
	s.caches = s.caches[:1]
	_, err := s.writableCache()
	wants(t, err, blocked)
}

// The real thing: it needs the network, and fetches tens of MB.
func TestDownload(t *testing.T) {
	quicktest.Skip(t, "downloads tens of MB")
	s, _, said := testSource(t)
	s.repository = mavenCentral
	b, err := s.choose(t.Context(), "", existing{})
	if err != nil {
		t.Skip("the network, or the repository on it, cannot be reached: ", err)
	}
	if b.major() != newMajor || !strings.Contains(said.String(), "downloaded PostgreSQL "+newMajor) {
		t.Errorf("%v:\n%s", b, said)
	}
	if again, err := s.choose(t.Context(), "", existing{}); err != nil || again != b {
		t.Errorf("the second time %v %v, want %v", again, err, b)
	}
	if n := strings.Count(said.String(), "downloading PostgreSQL"); n != 1 {
		t.Errorf("%d downloads, want 1:\n%s", n, said)
	}
}
