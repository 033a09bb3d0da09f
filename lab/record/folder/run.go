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
	"time"

	"dyno/lab/record"
	"dyno/lab/record/redact"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxLine bounds one line of series.ndjson and slices.ndjson in bytes; a window without gauges
// takes about 600.
const maxLine = 1 << 20

// Writer writes a run's folder while the run is in progress. It keeps no window that was written,
// so a run of hours needs no more memory than one of seconds. It is not safe for concurrent use.
type Writer struct {
	dir    string
	series *os.File
	hlog   *os.File
	hlogW  *bufio.Writer
	log    *intervalLog
	failed error           // the first failure, after which nothing is written
	unread []record.Window // the windows since then
}

// Create makes the run's folder and opens its files.
func Create(dir string) *Writer {
	w := &Writer{dir: dir}
	w.failed = w.open()
	return w
}

func (w *Writer) open() (err error) {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return fmt.Errorf("making the run's folder: %w", err)
	}
	if w.series, err = os.Create(filepath.Join(w.dir, SeriesFile)); err != nil {
		return err
	}
	if w.hlog, err = os.Create(filepath.Join(w.dir, latencyFile)); err != nil {
		return err
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
		return fmt.Errorf("writing %s: %w", latencyFile, err)
	}
	return nil
}

// Window appends a window and its histograms, by tag. The window is in the file when Window
// returns, so readers can follow the run; that costs one system call per 100 ms. Its error is
// always nil: if the disk fails, the run continues without its folder.
func (w *Writer) Window(win record.Window, hists map[string]*hdrhistogram.Histogram) error {
	if w.failed == nil {
		w.failed = w.write(win, hists)
	}
	if w.failed != nil && len(w.unread) < mostUnread {
		w.unread = append(w.unread, win)
	}
	return nil
}

// mostUnread bounds the windows that are kept in memory: those of an hour.
const mostUnread = int(time.Hour / record.WindowLength)

func (w *Writer) write(win record.Window, hists map[string]*hdrhistogram.Histogram) error {
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

// Close writes run.json, redacts r as well, and closes the files. If anything could not be written,
// it stores the error in r.Unwritten: the folder then lacks a part of the run.
func (w *Writer) Close(r *record.Run) {
	r.Version = record.Version
	r.Load.URL = redact.URL(r.Load.URL)
	*r = redact.Record(*r)
	if w.failed == nil {
		w.failed = w.hlogW.Flush()
	}
	for _, f := range []*os.File{w.series, w.hlog} { // nil: it could not be opened
		if err := f.Close(); w.failed == nil {
			w.failed = err
		}
	}
	if w.failed == nil {
		w.failed = writeJSON(filepath.Join(w.dir, RunFile), r)
	}
	r.Unwritten = w.failed
	if r.Unwritten != nil {
		r.Dir = w.dir
		r.Series, _ = openSeries(w.dir) // as much as there is
		r.Series = append(r.Series, w.unread...)
	}
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
	var err error
	if r.Series, err = openSeries(dir); err != nil {
		return nil, err
	}
	return r, nil
}

func openSeries(dir string) ([]record.Window, error) {
	f, err := os.Open(filepath.Join(dir, SeriesFile))
	if err != nil {
		return nil, fmt.Errorf("reading a run: %w", err)
	}
	defer f.Close()
	series, err := readSeries(f)
	if err != nil {
		return series, fmt.Errorf("%s: %w", filepath.Join(dir, SeriesFile), err)
	}
	return series, nil
}

func readSeries(f io.Reader) ([]record.Window, error) {
	var out []record.Window
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var w record.Window
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return out, fmt.Errorf("line %d: %w", n, err)
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
