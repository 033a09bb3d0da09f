package progress

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// window holds the events of 100 ms.
type window struct {
	start  int64 // ns, monotonic
	ended  int64
	failed int64
	bytes  int64
	hists  map[string]*hdrhistogram.Histogram // by tag
}

// Histogram tags and phases of a window.
const (
	phaseMeasure = "measure"
	phaseDrain   = "drain"

	tagOK     = "response.ok"
	tagFailed = "response.other"
)

// done counts a unit that ended.
func (w *window) done(took int64, bytes int, failed bool) {
	tag := tagOK
	if failed {
		tag = tagFailed
		w.failed++
	}
	w.ended++
	w.bytes += int64(bytes)
	w.enter(tag, took)
}

// enter adds a duration (ns) to a histogram.
func (w *window) enter(tag string, latency int64) {
	if w.hists == nil {
		w.hists = map[string]*hdrhistogram.Histogram{}
	}
	h := w.hists[tag]
	if h == nil {
		h = newHistogram()
		w.hists[tag] = h
	}
	h.RecordValue(min(max(latency, shortest), longest)) // never fails within these limits
}

// run writes windows when their time is over, until Close.
func (w *Writer) run() {
	defer close(w.ended)
	for {
		w.mu.Lock()
		wait := w.open.start + windowLength - w.now()
		w.mu.Unlock()
		timer := time.NewTimer(time.Duration(max(wait, int64(time.Millisecond)))) // a window that cannot be closed yet is written late
		select {
		case <-w.quit:
			timer.Stop()
			return
		case <-timer.C:
		}
		w.mu.Lock()
		w.advance()
		w.mu.Unlock()
		w.flush()
	}
}

// flush writes the closed windows. It reads the gauges once for all of them.
func (w *Writer) flush() {
	w.mu.Lock()
	closed, gauges := w.closed, w.gauges
	w.closed = nil
	w.mu.Unlock()
	if len(closed) == 0 {
		return
	}
	values := make(map[string]float64, len(gauges)+1)
	for _, g := range gauges {
		if value := g.read(); finite(value) {
			values[g.name] = value
		}
	}
	for _, win := range closed {
		w.window(win, phaseMeasure, values)
	}
	w.measured = true
}

// finish writes the remaining windows and the last line. The open window is shorter than the
// others: unless it is the only one, its units count but its time is not measured.
func (w *Writer) finish(failure error) {
	w.mu.Lock()
	w.advance()
	last := w.open
	w.mu.Unlock()
	w.flush()
	phase := phaseMeasure
	if w.measured {
		phase = phaseDrain
	}
	w.window(last, phase, nil)
	end := struct {
		End   bool   `json:"end"`
		Error string `json:"error,omitempty"`
	}{End: true}
	if failure != nil {
		if end.Error = failure.Error(); end.Error == "" {
			end.Error = "it failed without a reason"
		}
	}
	w.line(end)
}

// Lines in the format of lab/load/windows.
type (
	windowLine struct {
		Start  int64              `json:"t_ns"`
		Phase  string             `json:"phase"`
		Client client             `json:"client"`
		Gauges map[string]float64 `json:"gauges,omitempty"`
		Hists  map[string]string  `json:"hists,omitempty"` // base64 by tag
	}
	client struct {
		Offered   int64 `json:"offered"`
		Sent      int64 `json:"sent"`
		Completed int64 `json:"completed"` // includes the failed ones
		Failed    int64 `json:"failed"`
	}
)

// gaugeBytes is the rate of bytes moved by units in a window, bytes/s.
const gaugeBytes = "bytes_per_s"

// window writes a window. A unit is reported in the window in which it ended, so offered equals
// completed.
func (w *Writer) window(win *window, phase string, gauges map[string]float64) {
	line := windowLine{Start: win.start, Phase: phase, Gauges: gauges,
		Client: client{Offered: win.ended, Sent: win.ended, Completed: win.ended, Failed: win.failed}}
	if gauges != nil {
		gauges[gaugeBytes] = float64(win.bytes) * float64(time.Second) / float64(windowLength)
	}
	for tag, h := range win.hists {
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			w.fail(fmt.Errorf("encoding histogram %s: %w", tag, err))
			return
		}
		if line.Hists == nil {
			line.Hists = make(map[string]string, len(win.hists))
		}
		line.Hists[tag] = string(text)
	}
	w.line(line)
}

// line writes a line with one Write, unless an earlier one failed: a reader cannot use later lines.
func (w *Writer) line(v any) {
	if w.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		w.fail(fmt.Errorf("encoding a window: %w", err))
		return
	}
	if _, err := w.out.Write(append(text, '\n')); err != nil {
		w.fail(fmt.Errorf("writing a window: %w", err))
	}
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
