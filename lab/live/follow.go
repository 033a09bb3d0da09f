package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/series"
	"dyno/lab/report/words"
)

// Bounds on one message to a client, and on the past of a run that began before it connected.
const (
	maxBehind = 2 << 20 // bytes of a series: about 3,000 windows, five minutes
	maxBite   = 1 << 19 // bytes of a series in one event
	maxRows   = 50      // finished runs in one look
	maxGauges = 12      // as many as report draws
)

// event is a message to a client.
type event struct {
	kind string // also the event's name on the wire
	at   position
	data any
}

// Kinds of event.
const (
	eventRun    = "run"    // runNews: another run is in progress, or none
	eventPoints = "points" // points: more windows of it
	eventRow    = "row"    // a run has finished: its row of the table of runs, as HTML
	eventTurns  = "turns"  // turnNews: more slices
	eventEnd    = "end"    // the experiment has ended: reload the page
)

// runNews announces the run in progress.
type runNews struct {
	ID    string       `json:"id"` // empty: between two runs
	Words string       `json:"words"`
	Bound figure.Value `json:"slo_ms"`
}

// points are windows by column; null marks missing values.
type points struct {
	T      []float64                 `json:"t"` // s since the run's first window
	Phase  []string                  `json:"phase"`
	Series map[string][]figure.Value `json:"series"`
	Gauges map[string][]figure.Value `json:"gauges"`
}

// follower reads an experiment for one client, from the client's position.
type follower struct {
	index  *index
	name   string
	at     position
	fresh  bool           // the client has no run yet
	read   int64          // bytes of the slices
	slices []record.Slice // read so far
	first  int64          // start of the run's series, ns; 0: not read yet
}

// look returns the changes since the last look.
func (f *follower) look() ([]event, error) {
	h, err := f.index.head(f.name)
	if err != nil {
		return nil, err
	}
	root, err := f.index.open(f.name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out := append(f.rows(root, h.Exp), f.turns(root, h.Exp)...)
	if state, err := f.index.state(f.name); err != nil || state != Going {
		return append(out, event{eventEnd, f.at, nil}), err
	}
	return append(out, f.series(root, h.Exp)...), nil
}

// rows returns events for the runs that have finished.
func (f *follower) rows(root *os.Root, e *record.Experiment) (out []event) {
	if f.at.Told > len(e.Order) { // another experiment of that name
		f.at.Told = 0
	}
	for _, id := range e.Order[f.at.Told:min(len(e.Order), f.at.Told+maxRows)] {
		f.at.Told++
		out = append(out, event{eventRow, f.at, f.index.row(root, f.name, id)})
	}
	return out
}

// series returns events for the run in progress.
func (f *follower) series(root *os.Root, e *record.Experiment) (out []event) {
	run := lastRun(root)
	if slices.Contains(e.Order, run) {
		run = ""
	}
	if f.fresh || run != f.at.Run {
		f.at.Run, f.at.Offset, f.first, f.fresh = run, 0, 0, false
		out = append(out, event{eventRun, f.at, runNews{run, runWords(e, run), words.P99Bound(e.SLO)}})
	}
	if run == "" {
		return out
	}
	windows, err := f.windows(root)
	if err != nil || len(windows) == 0 {
		return out // an error in the series is reported when the run has finished
	}
	return append(out, event{eventPoints, f.at, pointsOf(windows, f.first)})
}

// windows reads the complete lines added to the series.
func (f *follower) windows(root *os.Root) ([]record.Window, error) {
	name := path.Join(runsFolder, f.at.Run, seriesFile)
	if at, err := root.Lstat(name); err != nil || !at.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if f.first == 0 {
		if f.first, err = firstWindow(file); err != nil {
			return nil, err
		}
	}
	partial := false
	if f.at.Offset > size {
		f.at.Offset = 0 // rewritten from the start
	}
	if size-f.at.Offset > maxBehind {
		f.at.Offset, partial = size-maxBehind, true
	}
	bite := make([]byte, min(size-f.at.Offset, maxBite))
	n, err := file.ReadAt(bite, f.at.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	bite = bite[:n]
	whole := bytes.LastIndexByte(bite, '\n') + 1
	if whole == 0 && len(bite) == maxBite {
		whole = len(bite) // no window is that long
	}
	f.at.Offset += int64(whole)
	var out []record.Window
	for line := range bytes.Lines(bite[:whole]) {
		var w record.Window
		if skip := partial; skip || json.Unmarshal(line, &w) != nil {
			partial = false
			continue
		}
		out = append(out, w)
	}
	return out, nil
}

// firstWindow reads the start of a series.
func firstWindow(file io.ReaderAt) (int64, error) {
	line, err := bufio.NewReader(io.NewSectionReader(file, 0, maxBite)).ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("no window yet: %w", err)
	}
	var w record.Window
	if err := json.Unmarshal(line, &w); err != nil {
		return 0, fmt.Errorf("first window: %w", err)
	}
	return w.Start, nil
}

// pointsOf converts windows to columns.
func pointsOf(windows []record.Window, first int64) points {
	p := points{Series: map[string][]figure.Value{}, Gauges: map[string][]figure.Value{}}
	put := func(columns map[string][]figure.Value, key string, i int, v float64) {
		if columns[key] == nil {
			columns[key] = make([]figure.Value, len(windows))
			for j := range columns[key] {
				columns[key][j] = figure.Unknown
			}
		}
		columns[key][i] = figure.Value(v)
	}
	for i, w := range windows {
		phase, figures := series.Point(w)
		p.T, p.Phase = append(p.T, float64(w.Start-first)/1e9), append(p.Phase, phase)
		for key, v := range figures {
			put(p.Series, key, i, v)
		}
		if w.Server == nil {
			continue
		}
		for _, name := range gaugeNames(w.Server.Gauges) {
			put(p.Gauges, name, i, w.Server.Gauges[name])
		}
	}
	return p
}

// gaugeNames are the first gauges, in order.
func gaugeNames(gauges map[string]float64) []string {
	names := make([]string, 0, len(gauges))
	for name := range gauges {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(len(names), maxGauges)]
}
