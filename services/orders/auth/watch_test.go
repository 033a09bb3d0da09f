package auth

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/keyfile"
)

// ask verifies a token of this header that is good for a long time.
func ask(v *Verifier, header string) error {
	_, err := v.Verify("Bearer "+signed(header, `{"sub":"A1","exp":4000000000}`), time.Now())
	return err
}

// A changed file comes into force at the next look, cached tokens or not; one that is no JWKS does
// not, which is said for as long as it lasts.
func TestReload(t *testing.T) {
	for _, cache := range caches {
		synctest.Test(t, func(t *testing.T) {
			var log buffer
			v := opened(t, jwks(octKey("hs", made().secret)), Config{Cache: cache, Log: slog.New(slog.NewTextHandler(&log, nil))})
			file := v.config.File
			look := func() { time.Sleep(v.config.Reload + keyfile.Settle); synctest.Wait() }
			for _, c := range []struct {
				name    string
				change  func()
				hs, ed  error
				reloads uint64
				says    string
			}{
				{"nothing", func() {}, nil, errKey, 0, ""},
				{"another key beside it", func() { write(t, file, jwks(octKey("hs", made().secret), edKey("ed", false))) }, nil, nil, 1, "were read again"},
				{"a file cut short", func() { write(t, file, `{"keys":[{"kty":"o`) }, nil, nil, 1, "jwks.json: this is not a JWKS"},
				{"the same", func() {}, nil, nil, 1, ""},
				{"the same for a minute", func() { time.Sleep(keyfile.Reminder) }, nil, nil, 1, "for=1m"},
				{"no file", func() { os.Remove(file) }, nil, nil, 1, "no such file"},
				{"a folder", func() { os.Mkdir(file, 0o700) }, nil, nil, 1, "not a regular file"},
				{"the first key made weak", func() { os.Remove(file); write(t, file, jwks(octKey("hs", []byte("hunter2")), edKey("ed", false))) }, errKey, nil, 2, `key 1 (kid \"hs\"): its secret has 56 bits`},
				{"the first key for encryption", func() {
					write(t, file, jwks(strings.Replace(octKey("hs", made().secret), "{", `{"use":"enc",`, 1), edKey("ed", false)))
				}, errKey, nil, 3, `use is \"enc\"`},
				{"as many bytes, another secret", func() { write(t, file, jwks(octKey("hs", []byte(strings.Repeat("z", 32))), edKey("ed", false))) }, errSignature, nil, 4, "were read again"},
				{"the first key again", func() { write(t, file, jwks(octKey("hs", made().secret), edKey("ed", false))) }, nil, nil, 5, "were read again"},
				{"no keys", func() { write(t, file, jwks()) }, errKey, errKey, 6, "every request is refused"},
				{"back again", func() { write(t, file, jwks(octKey("hs", made().secret), edKey("ed", false))) }, nil, nil, 7, "were read again"},
				{"keys of others alone", func() { write(t, file, jwks(`{"kty":"EC","kid":"hs"}`, `7`)) }, errKey, errKey, 8, "every request is refused"},
				{"readable by all", func() { write(t, file, jwks(octKey("hs", made().secret))); os.Chmod(file, 0o644) }, nil, errKey, 9, "chmod 600"},
			} {
				before := len(log.String())
				c.change()
				look()
				for range 2 { // the second is of the cache
					if hs, ed := ask(v, hsHeader), ask(v, edHeader); hs != c.hs || ed != c.ed {
						t.Errorf("cache %s: %s: %v and %v, want %v and %v", cache, c.name, hs, ed, c.hs, c.ed)
					}
				}
				said := log.String()[before:]
				if !strings.Contains(said, c.says) || c.says == "" && said != "" {
					t.Errorf("%s: the log says %q, want %q", c.name, said, c.says)
				}
				if strings.Contains(said, "hunter2") {
					t.Errorf("%s: the log has a secret: %s", c.name, said)
				}
				if s := v.Stats(); s.Reloads != c.reloads {
					t.Errorf("%s: %d reloads, want %d", c.name, s.Reloads, c.reloads)
				}
			}
		})
	}
}

// A file that stays broken does so with a figure that grows, until it is a JWKS again.
func TestUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := opened(t, allKeys(), Config{})
		for _, c := range []struct {
			text string
			want time.Duration
		}{{allKeys(), 0}, {"{", 58 * time.Second}, {"", 118 * time.Second}, {allKeys(), 0}, {"[]", 58 * time.Second}} {
			write(t, v.config.File, c.text)
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := v.Stats().Unread.Round(time.Second); got != c.want {
				t.Errorf("%q: %v, want %v", c.text, got, c.want)
			}
			if err := ask(v, hsHeader); err != nil {
				t.Errorf("%q: %v", c.text, err)
			}
		}
	})
}

// While keys rotate under many requests, a key that stays in the file is accepted by each of them,
// and one that is out when a request begins by none.
func TestRotationUnderRequests(t *testing.T) {
	for _, cache := range caches {
		v := opened(t, jwks(edKey("ed", false)), Config{Cache: cache, Reload: time.Hour})
		var turn sync.RWMutex // of who changes the file; what is held for reading is true as long
		in := false
		var askers sync.WaitGroup
		stop := make(chan struct{})
		steady, rotated := "Bearer "+signed(edHeader, goodClaims("")), "Bearer "+signed(hsHeader, goodClaims(""))
		for range 4 {
			askers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := v.Verify(steady, noon); err != nil {
						t.Errorf("cache %s: the key that stays: %v", cache, err)
						return
					}
					v.Verify(rotated, noon) // at any moment of a rotation
					turn.RLock()
					_, err := v.Verify(rotated, noon)
					if (err == nil) != in {
						t.Errorf("cache %s: the key is in: %v; %v", cache, in, err)
					}
					turn.RUnlock()
				}
			})
		}
		for i := range 20 {
			keys := []string{edKey("ed", false)}
			if i%2 == 0 {
				keys = append(keys, octKey("hs", made().secret))
			}
			write(t, v.config.File, jwks(keys...))
			turn.Lock()
			v.file.Look(t.Context())
			in = i%2 == 0
			turn.Unlock()
		}
		close(stop)
		askers.Wait()
		if s := v.Stats(); s.Reloads != 20 {
			t.Errorf("cache %s: %+v", cache, s)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	file := t.TempDir() + "/jwks.json"
	write(t, file, allKeys())
	for _, c := range []struct {
		config Config
		says   string
	}{
		{Config{File: file + "x"}, "the keys cannot be read: stat "},
		{Config{File: t.TempDir()}, "is not a regular file"},
		{Config{File: file, Cache: "lru"}, `unknown token cache "lru"; there are none, digest`},
	} {
		if v, err := Open(completed(c.config)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.says)
			if v != nil {
				v.Close()
			}
		}
	}
}

func TestFilesAreBounded(t *testing.T) {
	file := t.TempDir() + "/jwks.json"
	write(t, file, strings.Repeat(" ", maxFile)+jwks())
	if _, err := Open(completed(Config{File: file})); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("%v", err)
	}
}
