package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// mirror serves a jar and its checksum, and counts the downloads.
func mirror(t *testing.T, jar string) (url string, downloads *atomic.Int64) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", jar))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	downloads = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			io.WriteString(w, hex.EncodeToString(sum[:]))
			return
		}
		downloads.Add(1)
		w.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL, downloads
}

// What an earlier download left is used as long as it is whole, and is fetched anew when it is not.
func TestADamagedDownloadIsFetchedAnew(t *testing.T) {
	s, _, _ := testSource(t)
	var downloads *atomic.Int64
	s.repository, downloads = mirror(t, "pretended.jar")
	choose := func(want int64) string {
		t.Helper()
		b, err := s.choose(t.Context(), "", existing{})
		if err != nil || b.version != "18.4" || downloads.Load() != want {
			t.Fatalf("%v %v after %d downloads, want %d", b, err, downloads.Load(), want)
		}
		return filepath.Dir(b.folder)
	}
	folder := choose(1)
	choose(1)
	library := filepath.Join(folder, "lib", "libpq.so")
	if text, err := os.ReadFile(library); err != nil || string(text) != "lib" {
		t.Errorf("the link leads to %q, %v", text, err)
	}
	if err := os.Truncate(library, 1); err != nil {
		t.Fatal(err)
	}
	choose(2)
	if err := os.Remove(filepath.Join(folder, "bin", "initdb")); err != nil {
		t.Fatal(err)
	}
	choose(3)
	if left := leftovers(s.caches[0]); len(left) > 0 {
		t.Errorf("it leaves %s", left)
	}
}

func TestAnArchiveStaysInItsFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "whole")
	if err := unpack(t.Context(), filepath.Join("testdata", "escaping.jar"), folder); err == nil {
		t.Error("a name that leads out of the folder is accepted")
	}
	if _, err := os.Stat(filepath.Join(folder, "..", "escaped")); err == nil {
		t.Error("it has made a file outside")
	}
}

func FuzzUnpack(f *testing.F) {
	for _, jar := range []string{"pretended.jar", "escaping.jar"} {
		content, err := os.ReadFile(filepath.Join("testdata", jar))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		jar := filepath.Join(t.TempDir(), "jar")
		if err := os.WriteFile(jar, content, 0o600); err != nil {
			t.Fatal(err)
		}
		unpack(t.Context(), jar, filepath.Join(t.TempDir(), "whole"))
	})
}
