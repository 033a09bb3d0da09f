package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"dyno/lab/record"
)

// Bounds on what is read of a folder.
const (
	MaxHead    = 8 << 20 // bytes of a description
	maxEntries = 50_000  // files and folders in an experiment
)

// Followed is the folder of an experiment that may still be in progress.
type Followed struct{ root *os.Root }

// Follow returns a reader of the experiment in a folder. Close closes the folder.
func Follow(root *os.Root) *Followed { return &Followed{root} }

// Close closes the folder.
func (f *Followed) Close() error { return f.root.Close() }

// Stamp identifies one state of a file, or of several.
type Stamp struct {
	Changed time.Time
	Size    int64
}

// Head is the state of an experiment's description.
type Head struct {
	Stamp        // of the description and the slices
	Bytes  int64 // of the description
	Slices bool  // whether variants took turns
}

// Exists reports whether the folder at a path holds an experiment, and when its description
// changed.
func Exists(dir string) (changed time.Time, ok bool) {
	at, err := os.Lstat(dir + string(os.PathSeparator) + ExperimentFile)
	if err != nil {
		return time.Time{}, false
	}
	return at.ModTime(), true
}

// Head returns the state of the description. The error wraps fs.ErrNotExist if there is none.
func (f *Followed) Head() (Head, error) {
	at, err := f.root.Lstat(ExperimentFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Head{}, fmt.Errorf("the folder holds no %s: %w", ExperimentFile, fs.ErrNotExist)
	case err != nil:
		return Head{}, err
	case !at.Mode().IsRegular():
		return Head{}, fmt.Errorf("%s is not a file", ExperimentFile)
	case at.Size() > MaxHead:
		return Head{}, fmt.Errorf("%s has %d bytes; at most %d are read", ExperimentFile, at.Size(), MaxHead)
	}
	h := Head{Stamp: Stamp{at.ModTime(), at.Size()}, Bytes: at.Size()}
	if turns, err := f.root.Lstat(SlicesFile); err == nil && turns.Mode().IsRegular() && turns.Size() > 0 {
		h.Slices, h.Changed, h.Size = true, later(h.Changed, turns.ModTime()), h.Size+turns.Size()
	}
	return h, nil
}

// Experiment reads the description, without runs and slices.
func (f *Followed) Experiment() (*record.Experiment, error) {
	file, err := f.root.Open(ExperimentFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	e := &record.Experiment{}
	if err := json.NewDecoder(io.LimitReader(file, MaxHead)).Decode(e); err != nil {
		return nil, fmt.Errorf("%s: %w", ExperimentFile, err)
	}
	return e, nil
}

// Written returns the time of the last write to the record.
func (f *Followed) Written() time.Time {
	last := f.Changed(ExperimentFile, SlicesFile, record.RunsFolder)
	if run := f.LastRun(); run != "" {
		dir := path.Join(record.RunsFolder, run)
		last = later(last, f.Changed(dir, path.Join(dir, SeriesFile)))
	}
	return last
}

// Changed returns the time of the latest modification of these files; zero: none exists.
func (f *Followed) Changed(files ...string) (t time.Time) {
	for _, name := range files {
		if at, err := f.root.Lstat(name); err == nil {
			t = later(t, at.ModTime())
		}
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// LastRun returns the name of the folder of the run that began last; empty: there is none.
func (f *Followed) LastRun() string {
	dir, err := f.root.Open(record.RunsFolder)
	if err != nil {
		return ""
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxEntries)
	last, at := "", -1
	for _, e := range entries {
		if n, _, ok := RunName(e.Name()); ok && e.IsDir() && n > at {
			last, at = e.Name(), n
		}
	}
	return last
}

// Run returns the state of a finished run. Its folder and files must not be links.
func (f *Followed) Run(id string) (Stamp, error) {
	if _, _, ok := RunName(id); !ok {
		return Stamp{}, fmt.Errorf("%q is not a run's name", id)
	}
	run := path.Join(record.RunsFolder, id)
	for _, dir := range []string{record.RunsFolder, run} {
		if at, err := f.root.Lstat(dir); err != nil || !at.IsDir() {
			return Stamp{}, fmt.Errorf("no folder %s", dir)
		}
	}
	var is Stamp
	for _, file := range []string{path.Join(run, SeriesFile), path.Join(run, RunFile)} {
		at, err := f.root.Lstat(file)
		if err != nil || !at.Mode().IsRegular() {
			return Stamp{}, fmt.Errorf("no file %s", file)
		}
		is = Stamp{at.ModTime(), at.Size()}
	}
	return is, nil
}

// maxNumber bounds the digits of a run's number.
const maxNumber = 9

// RunName splits a run's ID, which is the name of its folder, into its number, from 1, and its role
// and variant; false: the name has another format.
func RunName(id string) (n int, of string, ok bool) {
	number, of, ok := strings.Cut(id, "-")
	if !ok || len(number) > maxNumber {
		return 0, "", false
	}
	for _, c := range number {
		if c < '0' || c > '9' {
			return 0, "", false
		}
		n = 10*n + int(c-'0')
	}
	strange := strings.ContainsFunc(of, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	})
	return n, of, n > 0 && !strange
}

// Check returns an error if the folder holds what dyno does not write: a link, which may lead
// anywhere, or too many files.
func (f *Followed) Check() error {
	n := 0
	return fs.WalkDir(f.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		n++
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed meanwhile
		case err != nil:
			return err
		case n > maxEntries:
			return fmt.Errorf("the folder holds more than %d files", maxEntries)
		case !d.IsDir() && !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder: it is not followed", p)
		}
		return nil
	})
}
