// Package folder keeps runs and experiments in folders: it writes a run window by window during the
// load, an experiment after each run or slice, and reads both again, on any machine. It redacts
// what it writes. If the disk fills up, the experiment goes on: what could not be written is kept
// in memory, and Unwritten has the error. Follow reads a folder that another process may still be
// writing; it opens only regular files, and reads a bounded number of bytes.
//
// It is not for profiles, which a Run reads on demand. It starts no goroutines.
package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dyno/lab/record"
	"dyno/lab/record/redact"
)

// Names inside a run's and an experiment's folder. Other packages read a folder through this one.
const (
	RunFile        = "run.json"
	SeriesFile     = "series.ndjson" // a Window per line
	latencyFile    = "latency.hlog"
	ExperimentFile = "experiment.json"
	SlicesFile     = "slices.ndjson" // a Slice per line
)

// New makes an experiment's folder.
func New(dir string, e *record.Experiment) error {
	e.Version, e.Dir = record.Version, dir
	if err := os.MkdirAll(filepath.Join(dir, record.RunsFolder), 0o755); err != nil {
		return fmt.Errorf("making the experiment's folder: %w", err)
	}
	return write(e)
}

// AddRun appends a finished run to the experiment and saves the experiment, so that the run
// survives a crash of the lab.
func AddRun(e *record.Experiment, r *record.Run) {
	e.Order = append(e.Order, r.ID)
	e.Runs = append(e.Runs, r)
	if e.Unwritten == nil {
		e.Unwritten = r.Unwritten
	}
	Save(e)
}

// Save writes experiment.json, and redacts e as well. It stores its first error in e.Unwritten and
// writes nothing after that, so the folder keeps what was written until then.
func Save(e *record.Experiment) {
	if e.Unwritten == nil {
		e.Unwritten = write(e)
	} else {
		clean(e)
	}
}

func clean(e *record.Experiment) {
	e.Scenario = redact.Scenario(e.Scenario)
	*e = redact.Record(*e)
}

func write(e *record.Experiment) error {
	clean(e)
	return writeJSON(filepath.Join(e.Dir, ExperimentFile), e)
}

// ErrNotARecord is returned by Open for a folder without a record.
var ErrNotARecord = errors.New("it is not a folder that dyno wrote")

// Open reads an experiment from its folder; a single run's folder is read as an experiment of one
// run.
func Open(dir string) (*record.Experiment, error) {
	switch at, err := os.Stat(dir); {
	case err != nil:
		return nil, fmt.Errorf("there is no folder %s: name the folder that dyno printed at the end of a run", dir)
	case !at.IsDir():
		return nil, fmt.Errorf("%s is a file: name the folder that dyno printed at the end of a run", dir)
	}
	e := &record.Experiment{Dir: dir}
	err := readJSON(filepath.Join(dir, ExperimentFile), e)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, RunFile)); err != nil {
			return nil, fmt.Errorf("%s holds neither %s nor %s: %w", dir, ExperimentFile, RunFile, ErrNotARecord)
		}
		r, err := OpenRun(dir)
		if err != nil {
			return nil, err
		}
		outcome := record.Outcome{Status: record.OutcomeComplete}
		if r.Invalid != "" {
			outcome = record.Outcome{Status: record.OutcomeInvalid, Reason: r.Invalid}
		}
		return &record.Experiment{Version: record.Version, Outcome: &outcome, Name: r.ID, Kind: record.KindLoad, Started: r.Started, SLO: r.SLO, Machine: r.Machine,
			Order: []string{r.ID}, Runs: []*record.Run{r}, Dir: dir}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := checkVersion(dir, e.Version); err != nil {
		return nil, err
	}
	e.Scenario = redact.Scenario(e.Scenario)
	*e = redact.Record(*e)
	for _, id := range e.Order {
		if id != filepath.Base(id) || strings.HasPrefix(id, ".") {
			return nil, fmt.Errorf("%s names a run %q that is not a folder inside it", ExperimentFile, id)
		}
		r, err := OpenRun(e.RunDir(id))
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		e.Runs = append(e.Runs, r)
	}
	return e, readSlices(e)
}

func checkVersion(dir string, v int) error {
	if v == 1 {
		return fmt.Errorf("%s has format version 1, whose searches by whole runs this dyno no longer reads: measure again, or use the dyno that wrote it", dir)
	}
	if v < 1 || v > record.Version {
		return fmt.Errorf("%s has format version %d; this dyno reads up to %d: use the dyno that wrote it, or a newer one", dir, v, record.Version)
	}
	return nil
}

// writeJSON replaces a file atomically, so that a reader never sees a partial one.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(path), err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// The version explains more than an error about what a later format changed.
	var of struct{ Version int }
	if json.Unmarshal(b, &of) == nil && of.Version > record.Version {
		return checkVersion(filepath.Dir(path), of.Version)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
