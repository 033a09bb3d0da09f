package windows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const windowLength = int64(record.WindowLength)

// maxEarlier is how long before Drive the first window may begin: the command starts first, and
// its output waits in the pipe. Together with the current time it bounds the number of windows
// that a stream can claim.
const maxEarlier = int64(time.Minute)

var phases = []string{record.PhaseWarmup, record.PhaseMeasure, record.PhaseDrain}

// window is a window that passed every check.
type window struct {
	record.Window
	hists map[string]*hdrhistogram.Histogram
}

// stream reads and checks the windows in a command's stdout.
type stream struct {
	now      func() int64
	began    int64 // the instant at which reading began
	lines    *bufio.Scanner
	line     int   // number of the last line read, from 1
	after    int64 // the next window must not begin before this instant
	phase    int   // phase of the last window, as an index into phases
	measured bool  // a window of phase measure was read
	tags     map[string]bool
	gauges   map[string]bool
}

func newStream(r io.Reader, now func() int64) *stream {
	began := now()
	s := &stream{now: now, began: began, lines: bufio.NewScanner(r), after: began - maxEarlier, tags: map[string]bool{}, gauges: map[string]bool{}}
	s.lines.Buffer(nil, maxLine)
	s.lines.Split(wholeLines)
	return s
}

// wholeLines splits at newlines. A last line without a newline was cut off, so it is an error.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errCut
	}
	return 0, nil, nil
}

var (
	errEnd       = errors.New("the last line says that all went well")
	errCut       = errors.New(`it ended in the middle of a line: the command was killed, or its last line {"end":true} has no newline`)
	errNoMeasure = errors.New("it reported no window of phase measure, so there is nothing to count")
	errNoEnd     = errors.New(`it ended without the line {"end":true}: the command ended before its work did; see its log`)
)

func (s *stream) next() (*window, error) {
	s.line++
	if !s.lines.Scan() {
		switch err := s.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, fmt.Errorf("it is longer than %d MiB; a line is one window", maxLine>>20)
		case err != nil:
			return nil, err
		}
		return nil, errNoEnd
	}
	return s.parse(s.lines.Bytes())
}

func (s *stream) parse(line []byte) (*window, error) {
	var l struct {
		windowLine
		endLine
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("it is not a window (%w); print only windows to stdout: %.100q", err, line)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the window's object: a line is one object")
	}
	switch {
	case l.Error != "":
		return nil, fmt.Errorf("the job failed: %.1000s", l.Error)
	case l.End && !s.measured:
		return nil, errNoMeasure
	case l.End:
		return nil, errEnd
	}
	return s.check(&l.windowLine)
}

func (s *stream) check(l *windowLine) (*window, error) {
	if err := s.checkTime(l); err != nil {
		return nil, err
	}
	if err := checkClient(&l.Client); err != nil {
		return nil, err
	}
	if err := s.checkGauges(l.Gauges); err != nil {
		return nil, err
	}
	w := &window{Window: record.Window{Start: l.Start, Phase: l.Phase, Client: l.Client}}
	if len(l.Gauges) > 0 {
		w.Server = &record.Server{Gauges: l.Gauges}
	}
	var err error
	w.hists, err = s.histograms(l.Hists)
	return w, err
}

func (s *stream) checkTime(l *windowLine) error {
	now := s.now()
	latest := now + windowLength // clocks may differ a little between processes
	switch {
	case l.Start%windowLength != 0:
		return fmt.Errorf("t_ns is %d: a window begins at a multiple of %d ns", l.Start, windowLength)
	case l.Start > latest:
		return fmt.Errorf("t_ns is %d, %v from now: it is CLOCK_MONOTONIC, not the time of day", l.Start, time.Duration(l.Start-now))
	case l.Start < s.after:
		return fmt.Errorf("t_ns is %d, before %d: windows come in order, and the first not earlier than %v before the run",
			l.Start, s.after, time.Duration(maxEarlier))
	}
	phase := slices.Index(phases, l.Phase)
	if phase < 0 {
		return fmt.Errorf("phase is %.40q: write warmup, measure or drain", l.Phase)
	}
	if phase < s.phase {
		return fmt.Errorf("phase %s comes after %s: phases are warmup, measure, drain, in this order", l.Phase, phases[s.phase])
	}
	s.phase, s.after = phase, l.Start+windowLength
	s.measured = s.measured || l.Phase == record.PhaseMeasure
	return nil
}

func (s *stream) checkGauges(gauges map[string]float64) error {
	for name := range gauges {
		if err := checkName(name); err != nil {
			return fmt.Errorf("gauge %w", err)
		}
		if s.gauges[name] = true; len(s.gauges) > maxGauges {
			return fmt.Errorf("gauge %q is one more than the %d that a job may have", name, maxGauges)
		}
	}
	return nil
}

func (s *stream) histograms(lines map[string]histogram) (map[string]*hdrhistogram.Histogram, error) {
	hists := map[string]*hdrhistogram.Histogram{}
	for tag, line := range lines {
		if err := checkTag(tag); err != nil {
			return nil, err
		}
		if s.tags[tag] = true; len(s.tags) > maxTags {
			return nil, fmt.Errorf("histogram %q is one more than the %d that a job may have", tag, maxTags)
		}
		h, err := line.decode()
		if err != nil {
			return nil, fmt.Errorf("histogram %q: %w", tag, err)
		}
		hists[tag] = h
	}
	return hists, nil
}
