package apikey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// line is the file's line for a key.
func line(name, key string) string {
	return entry{name: name, hash: sha256.Sum256([]byte(key))}.String() + "\n"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// opened opens a file of that text, and returns what is logged.
func opened(t *testing.T, text string) (*Keys, *bytes.Buffer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.txt")
	write(t, path, text)
	log := new(bytes.Buffer)
	k, err := Open(path, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return k, log, path
}

// ask sends a request with that Authorization header.
func ask(k *Keys, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/v1/stats", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	k.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
	return w
}

func TestRequire(t *testing.T) {
	k, log, _ := opened(t, "# who may\n"+line("shop", "alpha")+"\r\n"+line("billing", "beta")+line("last", "gamma"))
	for _, c := range []struct {
		authorization string
		status        int
		challenge     string
	}{
		{"Bearer alpha", 204, ""},
		{"Bearer beta", 204, ""},
		{"bearer  gamma ", 204, ""},
		{"", 401, `Bearer realm="notifyd"`},
		{"alpha", 401, `Bearer realm="notifyd"`},
		{"Bearer", 401, `Bearer realm="notifyd"`},
		{"Bearer ", 401, `Bearer realm="notifyd"`},
		{"Basic alpha", 401, `Bearer realm="notifyd"`},
		{"Bearer alph", 401, `Bearer realm="notifyd", error="invalid_token"`},
		{"Bearer shop", 401, `Bearer realm="notifyd", error="invalid_token"`},
		{"Bearer " + strings.Fields(line("shop", "alpha"))[1], 401, `Bearer realm="notifyd", error="invalid_token"`},
	} {
		w := ask(k, c.authorization)
		if w.Code != c.status || w.Header().Get("WWW-Authenticate") != c.challenge {
			t.Errorf("%q: %d %q, want %d %q", c.authorization, w.Code, w.Header().Get("WWW-Authenticate"), c.status, c.challenge)
		}
		if w.Code == 401 && (w.Header().Get("Content-Type") != "application/json" || !strings.HasPrefix(w.Body.String(), `{"error":"this `)) {
			t.Errorf("%q: answered %s", c.authorization, w.Body)
		}
	}
	r := httptest.NewRequest("GET", "/v1/stats", nil)
	r.Header["Authorization"] = []string{"Bearer alpha", "Bearer alpha"}
	w := httptest.NewRecorder()
	k.Require(http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("two Authorization fields: %d", w.Code)
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", log)
	}
}

// Allows waits for nothing; Watch takes a changed file over for it, whether requests come or not.
func TestAllowsAndWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, path := opened(t, line("shop", "old"))
		write(t, path, line("shop", "new"))
		time.Sleep(2 * interval)
		if !k.Allows("Bearer old") || k.Allows("Bearer new") || k.Allows("Basic old") {
			t.Error("Allows has read the file")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { k.Watch(ctx) })
		time.Sleep(interval)
		synctest.Wait()
		if k.Allows("Bearer old") || !k.Allows("bearer  new") {
			t.Error("Watch has not read the file")
		}
		cancel()
		watching.Wait()
	})
}

func TestChangedFileIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, log, path := opened(t, line("shop", "old"))
		expect := func(when, key string, want int) {
			t.Helper()
			if got := ask(k, "Bearer "+key).Code; got != want {
				t.Errorf("%s, %q: %d, want %d", when, key, got, want)
			}
		}
		write(t, path, line("shop", "new")) // as long as before
		expect("within a second", "old", 204)
		time.Sleep(interval)
		expect("after a second", "new", 204)
		expect("after a second", "old", 401)
		if got := strings.Count(log.String(), "read again"); got != 1 {
			t.Errorf("logged %d times that the file was read: %s", got, log)
		}

		log.Reset()
		for range 3 {
			write(t, path, line("shop", "worse")+"and then secret words\n")
			time.Sleep(interval)
			expect("with a broken file", "new", 204)
			expect("with a broken file", "worse", 401)
		}
		if got := strings.Count(log.String(), path+":2: 4 words"); got != 1 || strings.Contains(log.String(), "secret") {
			t.Errorf("logged %d times what is wrong with the file: %s", got, log)
		}
		log.Reset()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(interval)
		expect("without a file", "new", 204)
		if !strings.Contains(log.String(), "no such file") {
			t.Errorf("logged of a file that went: %s", log)
		}

		write(t, path, "# no keys\n")
		time.Sleep(interval)
		expect("with an empty file", "new", 401)
		if !strings.Contains(log.String(), "every request is refused") {
			t.Errorf("logged of a file without keys: %s", log)
		}
		write(t, path, line("shop", "again"))
		time.Sleep(interval)
		expect("at last", "again", 204)
	})
}

// While one request hangs over the file, the others go on.
func TestOneRequestReadsTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, path := opened(t, line("shop", "old"))
		write(t, path, line("shop", "new"))
		time.Sleep(interval)
		k.mu.Lock()
		if got := ask(k, "Bearer old").Code; got != 204 {
			t.Errorf("beside the request that reads the file: %d", got)
		}
		k.mu.Unlock()
		time.Sleep(interval)
		if got := ask(k, "Bearer new").Code; got != 204 {
			t.Errorf("after it: %d", got)
		}
	})
}

func TestWarnsOfAnOpenFile(t *testing.T) {
	for mode, warns := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o620: true, 0o602: true} {
		path := filepath.Join(t.TempDir(), "keys.txt")
		write(t, path, line("shop", "alpha"))
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		log := new(bytes.Buffer)
		if _, err := Open(path, slog.New(slog.NewTextHandler(log, nil))); err != nil {
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

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	write(t, large, strings.Repeat("#", maxBytes+1))
	for path, says := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is not a regular file",
		large:                      "is it the right file?",
	} {
		if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
}
