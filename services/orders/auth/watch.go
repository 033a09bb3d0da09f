package auth

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
)

// watcher is what the goroutine that looks at the file remembers of it.
type watcher struct {
	text    []byte    // as it was read last and understood
	failure string    // why the file could not be taken over; "": it was
	said    time.Time // when the log had that last
}

// reminder is how often the log repeats that the file cannot be taken over.
const reminder = time.Minute

// watch reads the file at intervals until the Verifier is closed.
func (v *Verifier) watch() {
	defer close(v.done)
	ticker := time.NewTicker(v.config.Reload)
	defer ticker.Stop()
	for {
		select {
		case <-v.stop:
			return
		case <-ticker.C:
			v.reload()
		}
	}
}

// reload takes over a file that has changed. One that is no JWKS, cut short or gone takes no key
// back: the next look may find it written. The keys from before stay in force, and the log and
// Stats.Unread say so for as long as it lasts.
func (v *Verifier) reload() {
	err, now := v.load(), time.Now()
	if err == nil {
		v.failure = ""
		v.unread.Store(0)
		return
	}
	v.unread.CompareAndSwap(0, now.UnixNano())
	if err.Error() != v.failure || now.Sub(v.said) >= reminder {
		v.failure, v.said = err.Error(), now
		v.config.Log.Error("the keys could not be read again; those read before stay in force, also revoked ones, until this file is a JWKS",
			"file", v.config.File, "for", v.Stats().Unread.Round(time.Second).String(), "error", err)
	}
}

// load reads the file and, where it changed, puts its keys in force. The text is compared, not the
// time of the last change: a key put in place of another leaves the size as it was, and two changes
// can fall into one tick of the file system's clock.
func (v *Verifier) load() error {
	text, info, err := readFile(v.config.File)
	if err != nil {
		return err
	}
	before := v.keys.Load()
	if before != nil && bytes.Equal(text, v.text) {
		return nil
	}
	keys, err := parseKeys(text)
	if err != nil {
		return fmt.Errorf("%s: %w", v.config.File, err)
	}
	if before == nil && len(keys.keys) == 0 {
		return fmt.Errorf("%s: %w", v.config.File, keys.unusable())
	}
	if v.config.Cache == "digest" {
		keys.cache = newCache(v.config.CacheSize, v.config.Leeway)
	}
	v.text = text
	v.keys.Store(keys)
	if before != nil {
		before.close()
		v.reloads.Add(1)
		v.config.Log.Info("the keys were read again", "file", v.config.File, "keys", len(keys.keys))
	}
	if len(keys.keys) == 0 {
		v.config.Log.Error("the file holds no key that can be used, so every request is refused", "file", v.config.File)
	}
	if n := len(keys.skipped); n > 0 {
		v.config.Log.Warn("keys of the file were skipped", "file", v.config.File, "skipped", n, "keys", keys.reasons())
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 || mode&0o044 != 0 && keys.secret() {
		v.config.Log.Warn("others may change the file of keys, or read its secrets; chmod 600 "+v.config.File, "file", v.config.File, "mode", mode.String())
	}
	return nil
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

// readFile returns the text of a file. What is not a regular file could be read once only, or never
// end.
func readFile(path string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the keys cannot be read: %w; ordersd token makes a file with one", err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file; it is read again when it changes", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the keys cannot be read: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("the keys cannot be read: %w", err)
	}
	if len(text) > maxFile {
		return nil, nil, fmt.Errorf("%s has more than %d bytes: is it the right file?", path, maxFile)
	}
	return text, info, nil
}
