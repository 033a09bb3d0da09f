// Package history keeps the verdicts of comparisons, a line of JSON each in a file that only grows,
// and draws capacity, CPU and allocations over commits with their change points.
//
// It is not for judging one comparison (compare). It starts no goroutines.
package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dyno/lab/compare"
	"dyno/lab/report"
	"dyno/lab/report/format"
)

// Schema names the JSON form of an Entry.
const Schema = "dyno.history/1"

// File is the name of the file in a history's folder.
const File = "history.ndjson"

// Commit is a revision of the measured program.
type Commit struct {
	Hash    string    `json:"hash"` // empty: not a commit; then Title identifies it
	Title   string    `json:"title"`
	Subject string    `json:"subject,omitempty"`
	Time    time.Time `json:"time,omitzero"`
}

func (c Commit) key() string {
	if c.Hash != "" {
		return c.Hash
	}
	return c.Title
}

// Figure is a measured figure with its 95% interval, if it has one.
type Figure struct {
	Value    float64     `json:"value"`
	Interval *[2]float64 `json:"interval,omitempty"`
}

// Ratio is the ratio of a revision to the one that it was compared with.
type Ratio struct {
	Ratio    float64     `json:"ratio"`
	Interval *[2]float64 `json:"interval"` // null: too few samples
	Samples  int         `json:"samples,omitempty"`
	Verdict  string      `json:"verdict,omitempty"`
}

// Entry is the result of one comparison for a revision.
type Entry struct {
	Schema   string    `json:"schema"`
	Name     string    `json:"name"` // of the program or scenario
	Measured time.Time `json:"measured"`
	Revision Commit    `json:"revision"`
	Against  Commit    `json:"against"`
	// Same means that both build the same program: nothing was measured, and there are no figures.
	Same bool `json:"same_program,omitempty"`
	// Figures of the revision and of the one that it was compared with, by their keys.
	Figures map[string]Figure `json:"figures"`
	Before  map[string]Figure `json:"before"`
	Ratios  map[string]Ratio  `json:"ratios"` // by metric
	Gate    *compare.Outcome  `json:"gate,omitempty"`
	SLO     string            `json:"slo,omitempty"`
	Machine string            `json:"machine,omitempty"`
	Record  string            `json:"record,omitempty"` // folder of the experiment
}

// Keys of figures.
const (
	Capacity = compare.MetricCapacity // requests/s within the SLO
	Work     = compare.MetricWork     // requests/s at the peak
	CPU      = compare.MetricCPU      // us per request
	Allocs   = "allocations"          // per request
)

// units are the keys of the figures of Go benchmarks: those that every benchmark has.
var units = []string{"ns/op", "cpu-ns/op", "B/op", "allocs/op"}

// countedSlack is the relative half-width of the interval of allocations that an agent counted: it
// counts all of them, those of the process's own work too.
const countedSlack = 0.05

// Of makes the entry of a comparison of two variants.
func Of(r *report.Report, revision, against Commit, gate *compare.Outcome) Entry {
	e := Entry{Schema: Schema, Name: r.Name, Measured: r.Started.UTC(), Revision: revision, Against: against, Gate: gate,
		Ratios: map[string]Ratio{}, Machine: r.Machine.String(), Record: r.Out}
	if r.SLO.Bounded() {
		e.SLO = r.SLO.String()
	}
	for _, m := range r.Metrics {
		if m.Verdict != compare.Invalid {
			e.Ratios[m.Metric] = Ratio{m.Ratio, m.Interval, m.Samples, m.Verdict}
		}
	}
	if n := len(r.Steps); n == 2 {
		e.Before, e.Figures = figuresOf(&r.Steps[0]), figuresOf(&r.Steps[1])
	}
	e.allocations(r)
	return e
}

// allocations enters their ratio, and without an agent the figures that a profile estimates.
func (e *Entry) allocations(r *report.Report) {
	was, is := e.Before[Allocs].Value, e.Figures[Allocs].Value
	if was > 0 && is > 0 {
		e.Ratios[Allocs] = Ratio{Ratio: is / was, Interval: &[2]float64{is / was / (1 + countedSlack), is / was * (1 + countedSlack)}}
		return
	}
	if r.Changes == nil || e.Figures == nil {
		return
	}
	for _, c := range r.Changes.Resources {
		if c.Name == Allocs && c.Unseen == "" && c.Before > 0 && c.After > 0 {
			e.Before[Allocs], e.Figures[Allocs] = Figure{Value: c.Before}, Figure{Value: c.After}
			e.Ratios[Allocs] = Ratio{Ratio: c.After / c.Before, Interval: &c.Ratio}
		}
	}
}

// figuresOf reads the figures of a side that are known.
func figuresOf(s *report.VariantResult) map[string]Figure {
	out := map[string]Figure{}
	add := func(key string, v format.Value, i *format.Interval) {
		if !v.Known() {
			return
		}
		f := Figure{Value: float64(v)}
		if i != nil {
			f.Interval = &[2]float64{i.Lo, i.Hi}
		}
		out[key] = f
	}
	add(Capacity, s.Capacity, s.Interval)
	add(Work, s.Work, s.WorkInterval)
	add(CPU, s.Figure(report.FigureCPU), nil)
	add(Allocs, s.Figure(report.FigureAllocs), nil)
	return out
}

// Append adds an entry to the history in a folder, which is made if it does not exist. Two commands
// may append concurrently: a line is written as one piece. What an interrupted command left of a
// line is removed.
func Append(dir string, e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding an entry of the history: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err = wholeLines(f); err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	return errors.Join(err, f.Close())
}

// wholeLines removes the part of a line after the last line end.
func wholeLines(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end := make([]byte, min(info.Size(), maxLine))
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil {
		return err
	}
	if part := len(end) - 1 - bytes.LastIndexByte(end, '\n'); part > 0 {
		return f.Truncate(info.Size() - int64(part))
	}
	return nil
}

const (
	maxLine    = 1 << 20 // bytes of a line; an entry has about 2 KB
	maxEntries = 100_000
)

// Read reads the history in a folder. A line that is not an entry is an error that names it, except
// a last one without an end: its writer was interrupted.
func Read(dir string) ([]Entry, error) {
	f, err := os.Open(filepath.Join(dir, File))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s; dyno compare --history %s writes it", dir, File, dir)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, File), err)
	}
	return entries, nil
}

func parse(r io.Reader) (out []Entry, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case len(out) == maxEntries:
			return nil, fmt.Errorf("it has more than %d entries; split it", maxEntries)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if e.Schema != Schema {
			return nil, fmt.Errorf("line %d has the schema %q, not %s: it was written by another version", n, e.Schema, Schema)
		}
		out = append(out, e)
	}
}

// readLine reads a line with its end; io.EOF: none is left.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// Names are the programs and scenarios of a history, in the order of their first entries.
func Names(entries []Entry) (names []string) {
	for _, e := range entries {
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}
