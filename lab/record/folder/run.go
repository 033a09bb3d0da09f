package folder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"dyno/lab/record"
	"dyno/lab/record/redact"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxLine bounds one line of series.ndjson and slices.ndjson in bytes; a window without gauges
// takes about 600.
const maxLine = 1 << 20

// Writer writes a run's folder while the run is in progress. It keeps a window in memory only
// until the window is written, so a run of hours needs no more memory than one of seconds. It is
// not safe for concurrent use.
type Writer struct {
	dir    string
	series *os.File
	hlog   *os.File
	hlogW  *bufio.Writer
	log    *intervalLog
}

// Create makes the run's folder and opens its files.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the run's folder: %w", err)
	}
	w := &Writer{dir: dir}
	var err error
	if w.series, err = os.Create(filepath.Join(dir, SeriesFile)); err != nil {
		return nil, err
	}
	if w.hlog, err = os.Create(filepath.Join(dir, latencyFile)); err != nil {
		w.series.Close()
		return nil, err
	}
	w.hlogW = bufio.NewWriter(w.hlog)
	w.log = newIntervalLog(w.hlogW)
	head := hdrhistogram.NewHistogramLogWriter(w.hlogW)
	err = errors.Join(
		head.OutputLogFormatVersion(),
		head.OutputComment("#[Unit: ns. Times: CLOCK_MONOTONIC. Tag: what was measured, status, class]\n"),
		head.OutputStartTime(0),
		head.OutputBaseTime(0),
		head.OutputLegend())
	if err != nil {
		w.series.Close()
		w.hlog.Close()
		return nil, fmt.Errorf("writing %s: %w", latencyFile, err)
	}
	return w, nil
}

// Window appends a window and its histograms, by tag, and keeps neither. The window is in the
// file when Window returns, so readers can follow the run; that costs one system call per 100 ms.
func (w *Writer) Window(win record.Window, hists map[string]*hdrhistogram.Histogram) error {
	line, err := json.Marshal(win)
	if err != nil {
		return fmt.Errorf("encoding a window: %w", err)
	}
	if _, err := w.series.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing %s: %w", SeriesFile, err)
	}
	startMs := win.Start / 1e6
	for _, tag := range slices.Sorted(maps.Keys(hists)) {
		if err := w.log.write(tag, startMs, record.WindowLength.Milliseconds(), hists[tag]); err != nil {
			return fmt.Errorf("writing %s: %w", latencyFile, err)
		}
	}
	return nil
}

// Close writes run.json, redacts r as well, and closes the files, even if writing fails.
func (w *Writer) Close(r *record.Run) error {
	r.Version = record.Version
	r.Load.URL = redact.URL(r.Load.URL)
	*r = redact.Record(*r)
	return errors.Join(
		w.hlogW.Flush(), w.series.Close(), w.hlog.Close(),
		writeJSON(filepath.Join(w.dir, RunFile), r))
}

// Rewrite replaces run.json, for figures that are known only after the run has ended.
func Rewrite(r *record.Run) error {
	*r = redact.Record(*r)
	return writeJSON(filepath.Join(r.Dir, RunFile), r)
}

// OpenRun reads a run from its folder.
func OpenRun(dir string) (*record.Run, error) {
	r := &record.Run{Dir: dir}
	if err := readJSON(filepath.Join(dir, RunFile), r); err != nil {
		return nil, err
	}
	if err := checkVersion(dir, r.Version); err != nil {
		return nil, err
	}
	*r = redact.Record(*r) // an earlier version wrote more
	f, err := os.Open(filepath.Join(dir, SeriesFile))
	if err != nil {
		return nil, fmt.Errorf("reading a run: %w", err)
	}
	defer f.Close()
	r.Series, err = readSeries(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, SeriesFile), err)
	}
	return r, nil
}

func readSeries(f io.Reader) ([]record.Window, error) {
	var out []record.Window
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var w record.Window
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, w)
	}
	return out, lines.Err()
}

// profilesFolder is the folder of a run's profiles, inside the run's.
const profilesFolder = "profiles"

// AddProfile writes an encoded pprof profile into the run's folder dir and returns its entry for
// Run.Profiles.
func AddProfile(dir, kind string, encoded []byte, seconds float64) (record.ProfileFile, error) {
	file := record.ProfileFile{Kind: kind, File: profilesFolder + "/" + kind + ".pb.gz", Seconds: seconds}
	if err := os.MkdirAll(filepath.Join(dir, profilesFolder), 0o755); err != nil {
		return file, err
	}
	return file, os.WriteFile(filepath.Join(dir, filepath.FromSlash(file.File)), encoded, 0o644)
}

// WriteTrace writes a trace's summary into the run's folder dir.
func WriteTrace(dir string, t *record.Trace) error {
	if err := os.MkdirAll(filepath.Join(dir, profilesFolder), 0o755); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, filepath.FromSlash(record.TraceFile)), t)
}
