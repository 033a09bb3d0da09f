// Package datadir is the folder in which a service keeps its state: locked while a process uses it,
// marked with the service's name and a format, and upgraded from older formats.
//
// It is not for what a service stores there. It starts no goroutines.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dyno/parts/flock"
)

// Folder declares that a service keeps its state in a folder, and in which format.
type Folder struct {
	Format int // counts from 1; raised whenever an older program could not read what this one writes

	// Early are the names of what the service's other commands may put there before it has run.
	Early []string

	// Upgrade converts a folder of an older format to Format. If it is interrupted, it must leave a
	// folder that the program of one of the two formats can open. Nil: there is no older format.
	Upgrade func(dir string, from int) error
}

const (
	lockFile   = "LOCK"   // flocked while a process uses the folder; holds its pid
	formatFile = "FORMAT" // {"service":"notifyd","format":1}
)

// format is the content of formatFile.
type format struct {
	Service string `json:"service"`
	Format  int    `json:"format"`
}

// Open creates the folder if it is missing, locks it and checks its format. The lock ends with
// Close, or with the process however that ends.
func (d Folder) Open(dir, service string) (io.Closer, error) {
	if err := noFile(dir); err != nil {
		return nil, err
	}
	if err := makeFolder(filepath.Clean(dir)); err != nil {
		return nil, fmt.Errorf("data folder: %w; choose another with --data", err)
	}
	return d.lock(dir, service)
}

// OpenExisting is Open for read-only commands: a folder without state is an error, and unchanged.
func (d Folder) OpenExisting(dir, service string) (io.Closer, error) {
	if err := noFile(dir); err != nil {
		return nil, err
	}
	_, err := os.Stat(filepath.Join(dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %s holds no data of %s: there is no %s file; name the right one with --data", dir, service, formatFile)
	}
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return d.lock(dir, service)
}

func noFile(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("data folder %s is a file; choose a folder with --data", dir)
	}
	return nil
}

func (d Folder) lock(dir, service string) (io.Closer, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w; let this user write there, or choose another with --data", err)
	}
	if err = hold(lock, dir); err == nil {
		err = d.checkFormat(dir, service)
	}
	if err != nil {
		return nil, errors.Join(err, held{lock}.Close())
	}
	return held{lock}, nil
}

// held is a locked file. The lock belongs to the open file, which a child shares from its fork
// until its exec; so Close releases the lock before it closes the file.
type held struct{ file *os.File }

func (h held) Close() error { return errors.Join(flock.Unlock(h.file), h.file.Close()) }

// lockWait bounds how long hold waits for a lock. A killed process keeps its lock until its last
// system call, for example an fsync, has ended.
const lockWait = 2 * time.Second

// hold locks the file and writes this process's pid into it, for the error of another process.
func hold(lock *os.File, dir string) error {
	err := flock.Lock(lock)
	for waited := time.Duration(0); errors.Is(err, flock.ErrLocked) && waited < lockWait; waited += lockWait / 100 {
		time.Sleep(lockWait / 100)
		err = flock.Lock(lock)
	}
	if errors.Is(err, flock.ErrLocked) {
		return fmt.Errorf("data folder %s is in use by %s; stop it or choose another folder with --data", dir, flock.Holder(lock))
	}
	if err == nil {
		err = flock.Sign(lock)
	}
	if err != nil {
		return fmt.Errorf("locking data folder %s: %w", dir, err)
	}
	return nil
}

func (d Folder) checkFormat(dir, service string) error {
	path := filepath.Join(dir, formatFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.onlyOurs(dir); err != nil {
			return err
		}
		return writeFormat(dir, format{service, d.Format})
	}
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	var f format
	if err := json.Unmarshal(text, &f); err != nil || f.Format < 1 {
		return fmt.Errorf("%s is damaged (%q); restore it from a backup, or write {\"service\":%q,\"format\":%d} if this program wrote the folder",
			path, clip(text, 60), service, d.Format)
	}
	switch {
	case f.Service != service:
		return fmt.Errorf("data folder %s belongs to %s, not to %s; choose another with --data", dir, f.Service, service)
	case f.Format > d.Format:
		return fmt.Errorf("data folder %s has format %d, written by a newer %s; this one reads up to %d: start that program, or restore a backup from before it", dir, f.Format, service, d.Format)
	case f.Format < d.Format:
		return d.upgrade(dir, f)
	}
	return nil
}

func (d Folder) upgrade(dir string, f format) error {
	if d.Upgrade == nil {
		return fmt.Errorf("data folder %s has format %d, and there is no way from there to format %d", dir, f.Format, d.Format)
	}
	if err := d.Upgrade(dir, f.Format); err != nil {
		return fmt.Errorf("upgrading data folder %s from format %d to %d: %w", dir, f.Format, d.Format, err)
	}
	return writeFormat(dir, format{f.Service, d.Format})
}

// onlyOurs refuses to take over a folder that already holds something else.
func (d Folder) onlyOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == lockFile, name == formatFile+".new", name == "lost+found": // the last is in the root of every fresh ext4 volume
		case slices.Contains(d.Early, name):
		default:
			return fmt.Errorf("folder %s holds %s and no %s file, so it is not this service's; choose an empty one with --data", dir, e.Name(), formatFile)
		}
	}
	return nil
}

func writeFormat(dir string, f format) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return WriteDurably(filepath.Join(dir, formatFile), append(text, '\n'))
}

// WriteDurably replaces a file in the data folder so that a crash or a power cut leaves either the
// old one or the new one. It uses PATH.new on the way.
func WriteDurably(path string, text []byte) error {
	fresh := path + ".new"
	if err := writeSynced(fresh, text); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// makeFolder creates a folder with its parents, and syncs the folders that contain the new entries:
// if a power cut removes a folder, it removes what was stored in it.
func makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o750); err != nil { // one; it says what stands in the way
		return err
	}
	return syncFolder(parent)
}

func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

func clip(text []byte, n int) []byte { return text[:min(len(text), n)] }
