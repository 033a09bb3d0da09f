package auth

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"dyno/parts/keyfile"
	"dyno/parts/seconds"
)

const (
	maxFile   = 4 << 10 // bytes
	forbidden = 0o026   // to others than the owner, as the key signs: a group may read it
)

// Keys is the key of a file that may be replaced while it is in use: tokens of the old key are of
// no use then, nor is what they were good for.
type Keys struct {
	file *keyfile.File
	key  atomic.Pointer[Key]
}

// Follow reads the key in a file, as Open does. Watch must run while it is in use.
func Follow(file string, log *slog.Logger) (*Keys, error) {
	if _, err := Open(file); err != nil {
		return nil, err
	}
	k := new(Keys)
	var err error
	k.file, err = keyfile.Open(keyfile.Options{Path: file, Max: maxFile, Log: log, Take: func(text []byte) (fs.FileMode, error) {
		key, err := parse(file, text)
		if before := k.key.Load(); err == nil && (before == nil || !bytes.Equal(*before, key)) {
			k.key.Store(&key)
		}
		return forbidden, err
	}})
	return k, err
}

// Watch takes over a key that is replaced, until ctx ends.
func (k *Keys) Watch(ctx context.Context) { k.file.Watch(ctx) }

// Current is the key in force.
func (k *Keys) Current() *Key { return k.key.Load() }

// Grant is what a token was good for when it was checked.
type Grant struct {
	Claims
	keys *Keys
	key  *Key
}

// Check returns what a token grants that the key in force signed and that has not expired.
func (k *Keys) Check(token string, now time.Time) (Grant, error) {
	key := k.key.Load()
	claims, err := key.Check(token, now)
	return Grant{claims, k, key}, err
}

// Grant grants until a time, in seconds since 1970, or until the key in force is replaced.
func (k *Keys) Grant(until int64) Grant {
	return Grant{Claims{Exp: seconds.Date(until)}, k, k.key.Load()}
}

// Lasts returns why what was granted has ended; nil: it has not.
func (g Grant) Lasts(now time.Time) error {
	switch {
	case g.keys.key.Load() != g.key:
		return errors.New("the key of the server's tokens was replaced; come back with a new token")
	case now.Unix() >= int64(g.Exp):
		return errors.New("the token has expired; come back with a new one")
	}
	return nil
}
