package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"dyno/lab/record"
)

// Files of an experiment's folder that are read while it is in progress; package record reads
// finished ones.
const (
	experimentFile = "experiment.json"
	seriesFile     = "series.ndjson"
	slicesFile     = "slices.ndjson"
	runFile        = "run.json"
	runsFolder     = "runs"
	pageFile       = "report.html" // written by dyno when an experiment has ended
)

// Bounds on a folder of experiments.
const (
	maxShown      = 500       // experiments in the list
	maxHeads      = 2000      // experiment.json files, and runs, kept in memory
	maxFolders    = 100_000   // examined in the folder
	maxExperiment = 8 << 20   // bytes of an experiment.json
	maxKept       = 256 << 10 // of one kept in memory: with maxHeads, 500 MiB at most
	maxEntries    = 50_000    // files and folders in an experiment
)

// staleAfter is the time without writes after which an experiment without a report counts as broken
// off: building a program and waiting for an idle machine take less.
const staleAfter = 2 * time.Minute

// staleAfterAlive is the same if a process with the experiment's process number exists. It is
// longer but finite, since numbers are reused.
const staleAfterAlive = 10 * time.Minute

// errNone is the error for an experiment that does not exist.
var errNone = errors.New("no such experiment")

// State of an experiment.
type State string

// States.
const (
	Going  State = "going on"
	Ended  State = "ended"
	Broken State = "broken off" // no writes for minutes: its process ended without a record, or hangs
)

// head is an experiment's own description, before any run is read.
type head struct {
	Name string // its folder
	Exp  *record.Experiment
	// Slices reports whether variants took turns.
	Slices bool
	stamp
}

// index is the folder that holds the experiments. It opens nothing outside that folder: names are
// single folders, and links are not followed.
type index struct {
	dir   string
	heads *cache[head]
	rows  *cache[string] // finished runs of experiments in progress
}

func newIndex(dir string) *index {
	return &index{dir: dir, heads: newCache[head](maxHeads), rows: newCache[string](maxHeads)}
}

// open opens an experiment's folder; every file opened through it is inside.
func (s *index) open(name string) (*os.Root, error) {
	if !fs.ValidPath(name) || name != path.Base(name) || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("%w: %q is not a folder's name", errNone, name)
	}
	all, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNone, err)
	}
	defer all.Close()
	if at, err := all.Lstat(name); err != nil || !at.IsDir() {
		return nil, fmt.Errorf("%w: %s has no folder %q", errNone, s.dir, name)
	}
	root, err := all.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNone, err)
	}
	return root, nil
}

// head reads experiment.json once per state of the file.
func (s *index) head(name string) (head, error) {
	root, err := s.open(name)
	if err != nil {
		return head{}, err
	}
	defer root.Close()
	at, err := root.Lstat(experimentFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return head{}, fmt.Errorf("%w: %q holds no %s", errNone, name, experimentFile)
	case err != nil:
		return head{}, err
	case !at.Mode().IsRegular():
		return head{}, fmt.Errorf("%s in %q is not a file", experimentFile, name)
	case at.Size() > maxExperiment:
		return head{}, fmt.Errorf("%s in %q has %d bytes; at most %d are read", experimentFile, name, at.Size(), maxExperiment)
	}
	is, turns := stamp{at.ModTime(), at.Size()}, slicesOf(root)
	if turns != nil {
		is = stamp{later(is.changed, turns.ModTime()), is.size + turns.Size()}
	}
	if h, ok := s.heads.get(name, is); ok {
		return h, nil
	}
	f, err := root.Open(experimentFile)
	if err != nil {
		return head{}, err
	}
	defer f.Close()
	h := head{Name: name, Exp: &record.Experiment{}, Slices: turns != nil, stamp: is}
	if err := json.NewDecoder(io.LimitReader(f, maxExperiment)).Decode(h.Exp); err != nil {
		return head{}, fmt.Errorf("%s in %q: %w", experimentFile, name, err)
	}
	if at.Size() <= maxKept {
		s.heads.put(name, is, h)
	}
	return h, nil
}

// newest lists the experiments whose folder's name contains a text, the last changed first, and
// counts those left out. Unreadable ones are omitted.
func (s *index) newest(text string, most int) (out []head, left int, err error) {
	f, err := os.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil // it may be created later
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxFolders)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	type candidate struct {
		name    string
		changed time.Time
	}
	var found []candidate
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || !strings.Contains(strings.ToLower(e.Name()), strings.ToLower(text)) {
			continue
		}
		if at, err := os.Lstat(filepath.Join(s.dir, e.Name(), experimentFile)); err == nil {
			found = append(found, candidate{e.Name(), at.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.name, b.name))
	})
	for i, c := range found {
		if len(out) == most {
			return out, len(found) - i, nil
		}
		if h, err := s.head(c.name); err == nil {
			out = append(out, h)
		}
	}
	return out, 0, nil
}

// state reports whether an experiment is in progress: it records that itself, and writes. One whose
// process is not visible may run in a container. Older versions of dyno do not record it; there the
// report is the file written last.
func (s *index) state(name string) (State, error) {
	root, err := s.open(name)
	if err != nil {
		return Broken, err
	}
	defer root.Close()
	last := newestOf(root, experimentFile, slicesFile, runsFolder)
	if run := lastRun(root); run != "" {
		last = later(last, newestOf(root, path.Join(runsFolder, run), path.Join(runsFolder, run, seriesFile)))
	}
	if h, err := s.head(name); err == nil && h.Exp.InProgress != nil {
		patience := staleAfter
		if alive(h.Exp.InProgress.PID) {
			patience = staleAfterAlive
		}
		if time.Since(last).Abs() < patience {
			return Going, nil
		}
		return Broken, nil
	}
	switch page := newestOf(root, pageFile); {
	case !page.IsZero() && !page.Before(last):
		return Ended, nil
	case time.Since(last).Abs() < staleAfter:
		return Going, nil
	case !page.IsZero():
		return Ended, nil // another process changed a file afterwards
	}
	return Broken, nil
}

// alive reports whether a process with that number exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && pid > 0 && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// newestOf is the latest modification of these files; zero when none exists.
func newestOf(root *os.Root, files ...string) (t time.Time) {
	for _, f := range files {
		if at, err := root.Lstat(f); err == nil {
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

// lastRun names the folder of the run that began last; empty: none.
func lastRun(root *os.Root) string {
	f, err := root.Open(runsFolder)
	if err != nil {
		return ""
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxEntries)
	last, at := "", -1
	for _, e := range entries {
		if n, _, ok := runName(e.Name()); ok && e.IsDir() && n > at {
			last, at = e.Name(), n
		}
	}
	return last
}

// validate returns an error when an experiment's folder holds entries that dyno does not write: a
// link, which may lead anywhere, or too many files.
func (s *index) validate(name string) error {
	root, err := s.open(name)
	if err != nil {
		return err
	}
	defer root.Close()
	n := 0
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		n++
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed meanwhile
		case err != nil:
			return err
		case n > maxEntries:
			return fmt.Errorf("%q holds more than %d files", name, maxEntries)
		case !d.IsDir() && !d.Type().IsRegular():
			return fmt.Errorf("%s in %q is neither a file nor a folder: it is not followed", p, name)
		}
		return nil
	})
}

// dirOf is an experiment's folder for record.Open.
func (s *index) dirOf(name string) string { return filepath.Join(s.dir, name) }
