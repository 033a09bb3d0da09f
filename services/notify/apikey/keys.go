// Package apikey lets requests through that bring a key which stands, as a hash, in a file:
//
//	# the web shop's
//	shop    sha256:HEX
//	billing sha256:HEX  # since May
//
// A line is a name and the SHA-256 of a key in hexadecimal; # begins a comment. Keys are 128 random
// bits (see Command), so their hashes need no salt and no slow function: there is nothing to guess.
// The file is read again when it changes (Watch); the streams of a key that it no longer has end.
//
// Browsers that follow a stream cannot send a key; for them a key makes tokens that are good for
// that only, and for minutes (POST /v1/stream-tokens).
//
// It is not for users, roles or passwords: every key may do everything. It starts no goroutines;
// Watch runs in one of the server's.
package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/keyfile"
)

// Keys are those of a file.
type Keys struct {
	log     *slog.Logger
	file    *keyfile.File
	entries atomic.Pointer[[]entry]
	secret  [sha256.Size]byte // signs stream tokens

	mu    sync.Mutex
	holds map[*hold]struct{}
}

// Open reads a file. Watch must run while the keys are in use.
func Open(path string, log *slog.Logger) (*Keys, error) {
	k := &Keys{log: log, holds: map[*hold]struct{}{}}
	rand.Read(k.secret[:]) // does not fail
	var err error
	k.file, err = keyfile.Open(keyfile.Options{Path: path, Max: maxBytes, Log: log, Take: func(text []byte) (fs.FileMode, error) {
		return others, k.take(path, text)
	}})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Watch takes over a file that changes, until ctx ends.
func (k *Keys) Watch(ctx context.Context) { k.file.Watch(ctx) }

// others are the permissions that others must not have: to change the file, or to read names and
// hashes.
const others = 0o026

// mostMistakes bounds the lines with a mistake that one line of the log names.
const mostMistakes = 5

// take puts the keys of a file's text in force, and ends the streams of those that went. A text in
// which no line is right is that of another file.
func (k *Keys) take(path string, text []byte) error {
	entries, mistakes := parse(path, text)
	named := errors.Join(mistakes[:min(len(mistakes), mostMistakes)]...)
	if len(entries) == 0 && named != nil {
		return named
	}
	k.entries.Store(&entries)
	if named != nil {
		k.log.Error("lines of the file of keys were skipped, and their keys are not known", "file", path, "skipped", len(mistakes), "error", named)
	}
	if len(entries) == 0 {
		k.log.Warn("the file holds no API keys, so every request is refused; notifyd apikey NAME >> "+path+" adds one", "file", path)
	}
	if n := k.release(); n > 0 {
		k.log.Info("streams end as their keys were removed", "streams", n)
	}
	return nil
}

const challengeWrong = `Bearer realm="notifyd", error="invalid_token"`

// Require passes on what brings a key of the file as "Authorization: Bearer KEY", and streams that
// bring a token in their URL instead, and answers 401 to the rest. It serves POST
// /v1/stream-tokens, which makes such tokens.
func (k *Keys) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			k.serve(w, r, next, sha256.Sum256([]byte(key)), time.Time{})
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
