package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Names inside a run's and an experiment's folder. Package follow reads them while they grow; all
// other packages read a folder through this one.
const (
	RunFile        = "run.json"
	SeriesFile     = "series.ndjson" // a Window per line
	latencyFile    = "latency.hlog"
	ExperimentFile = "experiment.json"
	SlicesFile     = "slices.ndjson" // a Slice per line
	RunsFolder     = "runs"          // a folder per run
)

// maxLine bounds one line of series.ndjson in bytes; a window without gauges takes about 600.
const maxLine = 1 << 20

// Writer writes a run's folder while the run is in progress. It keeps a window in memory only
// until the window is written, so a run of hours needs no more memory than one of seconds. It is
// not safe for concurrent use.
type Writer struct {
	dir     string
	series  *os.File
	seriesW *bufio.Writer
	hlog    *os.File
	hlogW   *bufio.Writer
	log     *intervalLog
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
	w.seriesW, w.hlogW = bufio.NewWriter(w.series), bufio.NewWriter(w.hlog)
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
func (w *Writer) Window(win Window, hists map[string]*hdrhistogram.Histogram) error {
	line, err := json.Marshal(win)
	if err != nil {
		return fmt.Errorf("encoding a window: %w", err)
	}
	w.seriesW.Write(line)
	w.seriesW.WriteByte('\n')
	if err := w.seriesW.Flush(); err != nil { // the buffered writer keeps the error of an earlier write
		return fmt.Errorf("writing %s: %w", SeriesFile, err)
	}
	startMs := win.Start / 1e6
	for _, tag := range sortedKeys(hists) {
		if err := w.log.write(tag, startMs, WindowLength.Milliseconds(), hists[tag]); err != nil {
			return fmt.Errorf("writing %s: %w", latencyFile, err)
		}
	}
	return nil
}

// Close writes run.json, redacted, and closes the files, even if writing fails.
func (w *Writer) Close(r *Run) error {
	r.Version = Version
	r.redact()
	return errors.Join(
		w.seriesW.Flush(), w.hlogW.Flush(), w.series.Close(), w.hlog.Close(),
		writeJSON(filepath.Join(w.dir, RunFile), r))
}

// Rewrite replaces run.json, for figures that are known only after the run has ended.
func (r *Run) Rewrite() error { return writeJSON(filepath.Join(r.Dir, RunFile), r) }

// OpenRun reads a run from its folder.
func OpenRun(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	if err := readJSON(filepath.Join(dir, RunFile), r); err != nil {
		return nil, err
	}
	if err := checkVersion(dir, r.Version); err != nil {
		return nil, err
	}
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

func readSeries(f io.Reader) ([]Window, error) {
	var out []Window
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var w Window
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, w)
	}
	return out, lines.Err()
}

// Histogram merges the run's histograms whose tag is kind or a subdivision of it, over the
// windows of the named phases (default: measure and drain). It reads latency.hlog at every call.
func (r *Run) Histogram(kind string, phases ...string) (*hdrhistogram.Histogram, error) {
	if len(phases) == 0 {
		phases = []string{PhaseMeasure, PhaseDrain}
	}
	wanted := map[int64]bool{}
	for _, w := range r.Series {
		for _, p := range phases {
			if w.Phase == p {
				wanted[w.Start/int64(WindowLength)] = true
			}
		}
	}
	f, err := os.Open(filepath.Join(r.Dir, latencyFile))
	if err != nil {
		return nil, fmt.Errorf("reading a run's latencies: %w", err)
	}
	defer f.Close()
	sum := NewHistogram()
	log := hdrhistogram.NewHistogramLogReader(f)
	for {
		h, err := log.NextIntervalHistogram()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		if h == nil || err != nil {
			return sum, nil
		}
		if wanted[logWindow(h.StartTimeMs())] && MatchTag(h.Tag(), kind) {
			sum.Merge(h)
		}
	}
}

// logWindow returns the number of the window that a line of the log belongs to. The log's reader
// converts through seconds in floating point, so its times are 1 ms short for one window in 160.
func logWindow(startMs int64) int64 {
	length := WindowLength.Milliseconds()
	return (startMs + length/2) / length
}

// NewExperiment makes an experiment's folder.
func NewExperiment(dir string, e *Experiment) error {
	e.Version, e.Dir = Version, dir
	if err := os.MkdirAll(filepath.Join(dir, RunsFolder), 0o755); err != nil {
		return fmt.Errorf("making the experiment's folder: %w", err)
	}
	return e.Save()
}

// RunDir returns the folder of the run with that ID.
func (e *Experiment) RunDir(id string) string { return filepath.Join(e.Dir, RunsFolder, id) }

// NextID returns the ID of the next run: its place in the order, its role and its variant.
func (e *Experiment) NextID(s Step) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '-'
	}, s.Variant)
	return fmt.Sprintf("%03d-%s-%s", len(e.Order)+1, s.Role, name)
}

// Add appends a finished run and saves the experiment, so that the run survives a crash of the
// lab.
func (e *Experiment) Add(r *Run) error {
	e.Order = append(e.Order, r.ID)
	e.Runs = append(e.Runs, r)
	return e.Save()
}

// Save writes experiment.json, redacted.
func (e *Experiment) Save() error {
	e.redact()
	return writeJSON(filepath.Join(e.Dir, ExperimentFile), e)
}

// Open reads an experiment from its folder; a single run's folder is read as an experiment of one
// run.
func Open(dir string) (*Experiment, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("there is no folder %s: name the folder that dyno printed at the end of a run", dir)
	}
	e := &Experiment{Dir: dir}
	err := readJSON(filepath.Join(dir, ExperimentFile), e)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, RunFile)); err != nil {
			return nil, fmt.Errorf("%s holds neither %s nor %s: it is not a folder that dyno wrote", dir, ExperimentFile, RunFile)
		}
		r, err := OpenRun(dir)
		if err != nil {
			return nil, err
		}
		return &Experiment{Version: Version, Name: r.ID, Kind: KindLoad, Started: r.Started, SLO: r.SLO, Machine: r.Machine,
			Order: []string{r.ID}, Runs: []*Run{r}, Dir: dir}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := checkVersion(dir, e.Version); err != nil {
		return nil, err
	}
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
	return e, e.readSlices()
}

func checkVersion(dir string, v int) error {
	if v < 1 || v > Version {
		return fmt.Errorf("%s has format version %s; this dyno reads up to %d: use the dyno that wrote it, or a newer one", dir, strconv.Itoa(v), Version)
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
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ReadLatencies sets the run's quantiles from latency.hlog, over the windows of the phases
// measure and drain. It is for a run some of whose windows were excluded after its totals were
// taken, because a profile ran in them.
func (r *Run) ReadLatencies() error {
	for kind, into := range map[string]*Quantiles{
		HistResponse: &r.Totals.Response, HistService: &r.Totals.Service, HistDelivery: &r.Totals.Delivery,
	} {
		h, err := r.Histogram(kind)
		if err != nil {
			return err
		}
		*into = QuantilesOf(h)
	}
	return nil
}
