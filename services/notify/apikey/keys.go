// Package apikey lets requests through that bring a key which stands, as a hash, in a file:
//
//	# the web shop's
//	shop    sha256:HEX
//	billing sha256:HEX  # since May
//
// A line is a name and the SHA-256 of a key in hexadecimal; # begins a comment. Keys are 128 random
// bits (see Command), so their hashes need no salt and no slow function: there is nothing to guess.
// The file is read again when it changes.
//
// Browsers that follow a stream cannot send a key; for them a key makes tokens that are good for
// that only, and for minutes (POST /v1/stream-tokens).
//
// It is not for users, roles or passwords: every key may do everything. It starts no goroutines;
// the file is looked at in the course of a request, and by Watch, which a server that must not wait
// for it runs.
package apikey

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// interval is the minimum time between two checks of the file: the maximum delay until a removed
// key is refused.
const interval = time.Second

// Keys are those of a file.
type Keys struct {
	path    string
	log     *slog.Logger
	entries atomic.Pointer[[]entry]
	secret  [sha256.Size]byte // signs stream tokens

	opened time.Time
	due    atomic.Int64 // time of the next check of the file, in ns after opened

	mu      sync.Mutex // held while the file is read
	text    []byte     // of the file, as it was read last
	failure string     // why the file could not be taken over; "": it was
}

// Open reads a file. It logs when a changed file is loaded, and once why it is not.
func Open(path string, log *slog.Logger) (*Keys, error) {
	k := &Keys{path: path, log: log, opened: time.Now()}
	k.due.Store(int64(interval))
	rand.Read(k.secret[:]) // does not fail
	if err := k.load(); err != nil {
		return nil, err
	}
	return k, nil
}

const challengeWrong = `Bearer realm="notifyd", error="invalid_token"`

// Require passes on what brings a key of the file as "Authorization: Bearer KEY", and streams that
// bring a token in their URL instead, and answers 401 to the rest. It serves POST
// /v1/stream-tokens, which makes such tokens.
func (k *Keys) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.refresh()
		authorization := strings.Join(r.Header.Values("Authorization"), ", ") // of two, neither counts
		if token, rest := tokenOf(r); token != "" && authorization == "" {
			k.admit(w, r, token, rest, next)
			return
		}
		scheme, key, _ := strings.Cut(authorization, " ")
		key = strings.TrimSpace(key)
		switch {
		case !strings.EqualFold(scheme, "Bearer") || key == "":
			refuse(w, `Bearer realm="notifyd"`, "this needs an API key: send the header Authorization: Bearer KEY")
		case !k.known(key):
			refuse(w, challengeWrong, "this API key is not known here; notifyd apikey NAME makes one")
		case r.URL.Path == tokensPath:
			k.issue(w, r, sha256.Sum256([]byte(key)))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// known reports whether a key is in the file. It takes as long for any key, right or wrong.
func (k *Keys) known(key string) bool {
	hash := sha256.Sum256([]byte(key))
	found := 0
	for _, e := range *k.entries.Load() {
		found |= subtle.ConstantTimeCompare(hash[:], e.hash[:])
	}
	return found == 1
}

// refuse answers as RFC 6750 (section 3) has it.
func refuse(w http.ResponseWriter, challenge, why string) {
	w.Header().Set("WWW-Authenticate", challenge)
	answer(w, http.StatusUnauthorized, map[string]string{"error": why})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

// refresh takes over a file that has changed. One request in an interval does it; the others go on
// with the keys as they are.
func (k *Keys) refresh() {
	now, due := int64(time.Since(k.opened)), k.due.Load()
	if now >= due && k.due.CompareAndSwap(due, now+int64(interval)) {
		k.reload()
	}
}

// reload looks at the file, unless that is under way.
func (k *Keys) reload() {
	if !k.mu.TryLock() {
		return
	}
	defer k.mu.Unlock()
	err := k.load()
	if err == nil {
		k.failure = ""
		return
	}
	if err.Error() != k.failure {
		k.failure = err.Error()
		k.log.Error("the API keys could not be read again; those read before stay in force", "error", err)
	}
}

// load reads the file and, where it changed, puts its keys in force. The text is compared, and not
// the time of the last change: a key put in place of another leaves the size as it was, and two
// changes can fall into one tick of the file system's clock.
func (k *Keys) load() error {
	text, info, err := read(k.path)
	if err != nil {
		return err
	}
	before := k.entries.Load()
	if before != nil && bytes.Equal(text, k.text) {
		return nil
	}
	entries, err := parse(k.path, text)
	if err != nil {
		return err
	}
	k.text = text
	k.entries.Store(&entries)
	if before != nil {
		k.log.Info("the API keys were read again", "file", k.path, "keys", len(entries))
	}
	if len(entries) == 0 {
		k.log.Warn("the file holds no API keys, so every request is refused; notifyd apikey NAME >> "+k.path+" adds one", "file", k.path)
	}
	if mode := info.Mode().Perm(); mode&0o026 != 0 {
		k.log.Warn("others may read or change the file of API keys; chmod 600 "+k.path, "file", k.path, "mode", mode.String())
	}
	return nil
}
