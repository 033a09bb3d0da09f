package auth

import (
	"errors"
	"fmt"
	"io/fs"
)

// take puts the keys of the file's text in force.
func (v *Verifier) take(text []byte) (forbidden fs.FileMode, err error) {
	keys, err := parseKeys(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", v.config.File, err)
	}
	before := v.keys.Load()
	if before == nil && len(keys.keys) == 0 {
		return 0, fmt.Errorf("%s: %w", v.config.File, keys.unusable())
	}
	if v.config.Cache == "digest" {
		keys.cache = newCache(v.config.CacheSize, v.config.Leeway)
	}
	v.keys.Store(keys)
	if before != nil {
		before.close()
		v.reloads.Add(1)
	}
	if len(keys.keys) == 0 {
		v.config.Log.Error("the file holds no key that can be used, so every request is refused", "file", v.config.File)
	}
	if n := len(keys.skipped); n > 0 {
		v.config.Log.Warn("keys of the file were skipped", "file", v.config.File, "skipped", n, "keys", keys.reasons())
	}
	forbidden = 0o022
	if keys.secret() {
		forbidden |= 0o044
	}
	return forbidden, nil
}

// secret reports whether a reader of the file can make tokens.
func (k *keyring) secret() bool {
	for _, key := range k.keys {
		if key.private != nil {
			return true
		}
	}
	return false
}

// unread says what to do where there is no file.
func unread(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w; ordersd token makes a file with one", ErrKeys, err)
	}
	return fmt.Errorf("%w: %w", ErrKeys, err)
}
