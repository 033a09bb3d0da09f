package live

import (
	"cmp"
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
	"dyno/lab/record/folder"
)

// Bounds on a folder of experiments.
const (
	maxShown   = 500       // experiments in the list
	maxHeads   = 2000      // descriptions of experiments, and runs, kept in memory
	maxFolders = 100_000   // examined in the folder
	maxKept    = 256 << 10 // bytes of a description kept in memory: with maxHeads, 500 MiB at most
)

// staleAfter is the time without writes after which an experiment in progress counts as broken off:
// building a program and waiting for an idle machine take less.
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

// head is an experiment's own description, without its runs.
type head struct {
	Name string // its folder
	Exp  *record.Experiment
	// Slices reports whether variants took turns.
	Slices bool
	Stamp  folder.Stamp
	Steps  steps // of a search, whose Exp is that of its first; empty: it is an experiment
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
func (s *index) open(name string) (*folder.Followed, error) {
	root, err := s.root(name)
	if err != nil {
		return nil, err
	}
	return folder.Follow(root), nil
}

// root opens a folder: that of an experiment, that of a search, or SEARCH/EXPERIMENT.
func (s *index) root(name string) (*os.Root, error) {
	parts := strings.SplitN(name, "/", 2)
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNone, err)
	}
	for _, part := range parts {
		inner, err := within(root, part)
		root.Close()
		if err != nil {
			return nil, fmt.Errorf("%w: %s has no folder %q: %w", errNone, s.dir, name, err)
		}
		root = inner
	}
	return root, nil
}

// within opens a folder in a folder. It follows no link.
func within(root *os.Root, name string) (*os.Root, error) {
	if !fs.ValidPath(name) || name != path.Base(name) || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("%q is not a folder's name", name)
	}
	if at, err := root.Lstat(name); err != nil || !at.IsDir() {
		return nil, fs.ErrNotExist
	}
	return root.OpenRoot(name)
}

// head reads the description once per state of the folder.
func (s *index) head(name string) (head, error) {
	folder, err := s.open(name)
	if err != nil {
		return head{}, err
	}
	defer folder.Close()
	is, err := folder.Head()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return head{}, fmt.Errorf("%w: %q: %w", errNone, name, err)
	case err != nil:
		return head{}, fmt.Errorf("%q: %w", name, err)
	}
	if h, ok := s.heads.get(name, is.Stamp); ok {
		return h, nil
	}
	e, err := folder.Experiment()
	if err != nil {
		return head{}, fmt.Errorf("%q: %w", name, err)
	}
	h := head{Name: name, Exp: e, Slices: is.Slices, Stamp: is.Stamp}
	if is.Bytes <= maxKept {
		s.heads.put(name, is.Stamp, h)
	}
	return h, nil
}

// newest lists the experiments and searches whose folder's name contains a text, the last changed first, and
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
		steps   steps // of a search
	}
	var found []candidate
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || !strings.Contains(strings.ToLower(e.Name()), strings.ToLower(text)) {
			continue
		}
		if changed, ok := folder.Exists(filepath.Join(s.dir, e.Name())); ok {
			found = append(found, candidate{e.Name(), changed, nil})
		} else if steps, ok := s.isSearch(e.Name()); ok {
			found = append(found, candidate{e.Name(), steps[len(steps)-1].changed, steps})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.name, b.name))
	})
	for i, c := range found {
		if len(out) == most {
			return out, len(found) - i, nil
		}
		if len(c.steps) > 0 {
			if h, err := s.head(c.steps[0].name); err == nil {
				out = append(out, head{Name: c.name, Exp: h.Exp, Steps: c.steps})
			}
		} else if h, err := s.head(c.name); err == nil {
			out = append(out, h)
		}
	}
	return out, 0, nil
}

// state reports whether an experiment is in progress: its record says so, and is still written to.
// An experiment whose process is not visible from here may run in a container.
func (s *index) state(name string) (State, error) {
	h, err := s.head(name)
	if err != nil {
		return Broken, err
	}
	if h.Exp.InProgress == nil {
		return Ended, nil
	}
	folder, err := s.open(name)
	if err != nil {
		return Broken, err
	}
	defer folder.Close()
	patience := staleAfter
	if alive(h.Exp.InProgress.PID) {
		patience = staleAfterAlive
	}
	if time.Since(folder.Written()).Abs() < patience {
		return Going, nil
	}
	return Broken, nil
}

// alive reports whether a process with that number exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && pid > 0 && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// validate returns an error when an experiment's folder holds entries that dyno does not write.
func (s *index) validate(name string) error {
	folder, err := s.open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Check(); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// dirOf is an experiment's folder for folder.Open.
func (s *index) dirOf(name string) string { return filepath.Join(s.dir, name) }

// runDir is the folder of a run for folder.OpenRun.
func (s *index) runDir(name, id string) string {
	return (&record.Experiment{Dir: s.dirOf(name)}).RunDir(id)
}
