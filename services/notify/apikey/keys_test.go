package apikey

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/keyfile"
	"dyno/parts/refusal"
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

// logged is a log that a test reads while the file is watched.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// opened opens a file of that text, and returns what is logged.
func opened(t *testing.T, text string) (*Keys, *logged, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.txt")
	write(t, path, text)
	log := new(logged)
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
	if log.String() != "" {
		t.Errorf("logged: %s", log)
	}
}

// watched has the file watched until the test ends.
func watched(t *testing.T, k *Keys) {
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { k.Watch(ctx) })
	t.Cleanup(func() { cancel(); watching.Wait() })
}

// look waits until the file has been looked at.
func look() {
	time.Sleep(keyfile.Interval + keyfile.Settle)
	synctest.Wait()
}

func TestChangedFileIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, log, path := opened(t, line("shop", "old"))
		watched(t, k)
		expect := func(when, key string, want int) {
			t.Helper()
			if got := ask(k, "Bearer "+key).Code; got != want {
				t.Errorf("%s, %q: %d, want %d", when, key, got, want)
			}
			if got := k.Allows("bearer  " + key); got != (want == 204) {
				t.Errorf("%s, %q: Allows says %t", when, key, got)
			}
		}
		write(t, path, line("shop", "new")) // as long as before
		expect("within a second", "old", 204)
		look()
		expect("after a second", "new", 204)
		expect("after a second", "old", 401)
		if got := strings.Count(log.String(), "read again"); got != 1 {
			t.Errorf("logged %d times that the file was read: %s", got, log)
		}

		log.Reset()
		// A line with a mistake decides about no other: the key that left is not known any more.
		write(t, path, "and then secret words\n"+line("shop", "next"))
		for range 3 {
			look()
			expect("with a broken line", "next", 204)
			expect("with a broken line", "new", 401)
		}
		if got := strings.Count(log.String(), path+":1: 4 words"); got != 1 || strings.Contains(log.String(), "secret") {
			t.Errorf("logged %d times what is wrong with the line: %s", got, log)
		}
		log.Reset()
		for range 3 {
			write(t, path, "secret words of another file\n")
			look()
			expect("with another file", "next", 204)
		}
		if got := strings.Count(log.String(), path+":1: 5 words"); got != 1 || strings.Contains(log.String(), "secret") {
			t.Errorf("logged %d times what is wrong with the file: %s", got, log)
		}
		write(t, path, line("shop", "new"))
		look()
		log.Reset()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		look()
		expect("without a file", "new", 204)
		if !strings.Contains(log.String(), "no such file") {
			t.Errorf("logged of a file that went: %s", log)
		}

		write(t, path, "# no keys\n")
		look()
		expect("with an empty file", "new", 401)
		if !strings.Contains(log.String(), "every request is refused") {
			t.Errorf("logged of a file without keys: %s", log)
		}
		write(t, path, line("shop", "again"))
		look()
		expect("at last", "again", 204)
	})
}

// streams opens streams, of which each writes why it ends.
type streams struct {
	k      *Keys
	served sync.WaitGroup
	ends   map[string]error
	mu     sync.Mutex
}

func (s *streams) open(ctx context.Context, name, method, target, key string) {
	r := httptest.NewRequestWithContext(ctx, method, target, nil)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	s.served.Go(func() {
		s.k.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ends[name] = context.Cause(r.Context())
		})).ServeHTTP(httptest.NewRecorder(), r)
	})
	synctest.Wait()
}

func (s *streams) ended() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for name, why := range s.ends {
		var refused *refusal.Error
		if errors.As(why, &refused) {
			name += fmt.Sprint(" ", refused.Status)
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// A stream ends with the key that it was opened with, also by a token of the key, and with its
// token; those of other keys go on.
func TestStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, path := opened(t, line("shop", "alpha")+line("billing", "beta"))
		watched(t, k)
		ctx, gone := context.WithCancel(t.Context())
		s := &streams{k: k, ends: map[string]error{}}
		_, hour, _ := made(t, k, "alpha", `{"expires_in":3600}`)
		_, minute, _ := made(t, k, "beta", `{"expires_in":60}`)
		s.open(ctx, "key", "GET", "/v1/stream", "alpha")
		s.open(ctx, "socket", "GET", "/v1/ws", "alpha")
		s.open(ctx, "probe", "HEAD", "/v1/stream", "alpha") // net/http has GET's handler answer it
		s.open(ctx, "token", "GET", "/v1/ws?token="+hour, "")
		s.open(ctx, "minute", "GET", "/v1/stream?token="+minute, "")
		s.open(ctx, "other", "GET", "/v1/stream", "beta")
		write(t, path, "")
		time.Sleep(keyfile.Interval + keyfile.Settle/2)
		write(t, path, line("billing", "beta")) // written in place, which must end no stream of beta
		time.Sleep(keyfile.Settle)
		if got := s.ended(); got != "" {
			t.Errorf("before the file was looked at: %s", got)
		}
		look()
		if got := s.ended(); got != "key 401, probe 401, socket 401, token 401" {
			t.Errorf("without the key: %s", got)
		}
		time.Sleep(time.Minute)
		if got := s.ended(); got != "key 401, minute 401, probe 401, socket 401, token 401" {
			t.Errorf("after the token's time: %s", got)
		}
		gone()
		s.served.Wait()
		if err := s.ends["other"]; err != context.Canceled || len(k.holds) > 0 {
			t.Errorf("a client that went: %v, %d streams are held", err, len(k.holds))
		}
	})
}
