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

// Files of an experiment's folder that are looked at while it goes on; record reads finished ones.
const (
	experimentFile = "experiment.json"
	seriesFile     = "series.ndjson"
	slicesFile     = "slices.ndjson"
	runFile        = "run.json"
	runsFolder     = "runs"
	pageFile       = "report.html" // which dyno writes when an experiment has ended
)

// Bounds on a folder of experiments.
const (
	maxShown      = 500       // experiments in the list
	maxHeads      = 2000      // experiment.json files, and runs, that are kept in memory
	maxFolders    = 100_000   // looked at in the folder
	maxExperiment = 8 << 20   // bytes of an experiment.json
	maxKept       = 256 << 10 // bytes of one that is kept in memory: with maxHeads, 500 MiB at the very most
	maxEntries    = 50_000    // files and folders in an experiment
)

// quiet is how long nothing may be written before an experiment that has no report counts as broken
// off: a program is built and a machine calms down in less.
const quiet = 2 * time.Minute

// hanging is the same while there is a process of the number that the experiment names. That alone says
// little: numbers are given again.
const hanging = 10 * time.Minute

// errNone is what opening an experiment that is not there returns.
var errNone = errors.New("no such experiment")

// State of an experiment.
type State string

// States.
const (
	Going  State = "going on"
	Ended  State = "ended"
	Broken State = "broken off" // nothing was written for minutes: its process ended without a word, or hangs
)

// head is what an experiment says of itself before any of its runs is read.
type head struct {
	Name string // its folder
	Exp  *record.Experiment
	// Slices reports whether variants took turns.
	Slices bool
	stamp
}

// shelf is the folder that holds the experiments. It opens nothing outside of it: names are single
// folders, and links are not followed.
type shelf struct {
	dir   string
	heads *cache[head]
	rows  *cache[string] // finished runs of experiments that go on
}

func newShelf(dir string) *shelf {
	return &shelf{dir: dir, heads: newCache[head](maxHeads), rows: newCache[string](maxHeads)}
}

// open opens an experiment's folder; nothing opened through it lies outside.
func (s *shelf) open(name string) (*os.Root, error) {
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

// head reads experiment.json, once for each of its states.
func (s *shelf) head(name string) (head, error) {
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

// newest lists the experiments whose folder's name contains a text, the last changed first, and says
// how many it left out. What cannot be read is not there.
func (s *shelf) newest(text string, most int) (out []head, left int, err error) {
	f, err := os.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil // it may come into being
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

// state says whether an experiment goes on: it says so itself, and writes. One whose process is not seen may
// go on where this process does not see it, in a container. What an older dyno wrote does not say whether it
// goes on; there the report is what is written last.
func (s *shelf) state(name string) (State, error) {
	root, err := s.open(name)
	if err != nil {
		return Broken, err
	}
	defer root.Close()
	last := newestOf(root, experimentFile, slicesFile, runsFolder)
	if run := lastRun(root); run != "" {
		last = later(last, newestOf(root, path.Join(runsFolder, run), path.Join(runsFolder, run, seriesFile)))
	}
	if h, err := s.head(name); err == nil && h.Exp.UnderWay != nil {
		patience := quiet
		if alive(h.Exp.UnderWay.PID) {
			patience = hanging
		}
		if time.Since(last).Abs() < patience {
			return Going, nil
		}
		return Broken, nil
	}
	switch page := newestOf(root, pageFile); {
	case !page.IsZero() && !page.Before(last):
		return Ended, nil
	case time.Since(last).Abs() < quiet:
		return Going, nil
	case !page.IsZero():
		return Ended, nil // something touched it afterwards
	}
	return Broken, nil
}

// alive reports whether there is a process of that number.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && pid > 0 && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// newestOf is when the last of these files was changed; zero when there is none.
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

// lastRun names the folder of the run that began last; empty: there is none.
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

// sound returns an error when an experiment's folder holds what dyno does not write: a link, which may
// lead anywhere, or no end of files.
func (s *shelf) sound(name string) error {
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
func (s *shelf) dirOf(name string) string { return filepath.Join(s.dir, name) }
