package windows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"dyno/lab/load"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Writer is a load.Sink that prints each window as one line, with a single Write. It is not safe
// for concurrent use.
type Writer struct {
	w io.Writer
}

var _ load.Sink = (*Writer)(nil)

// NewWriter returns a Writer to w, usually stdout, to which the command must print nothing else.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Window writes a window with its histograms, and the gauges in win.Server, if any.
func (w *Writer) Window(win record.Window, hists map[string]*hdrhistogram.Histogram) error {
	line := windowLine{Start: win.Start, Phase: win.Phase, Client: win.Client}
	if win.Server != nil {
		line.Gauges = win.Server.Gauges
	}
	if len(hists) > 0 {
		line.Hists = make(map[string]histogram, len(hists))
	}
	for tag, h := range hists {
		if err := checkTag(tag); err != nil {
			return err
		}
		encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return fmt.Errorf("encoding histogram %s: %w", tag, err)
		}
		line.Hists[tag] = histogram{encoded: string(encoded)}
	}
	return w.line(line)
}

// Close writes the last line, which says that the job ended in order or, if err is not nil, that
// it failed. It does not close the underlying writer.
func (w *Writer) Close(err error) error {
	end := endLine{End: true}
	if err != nil {
		end.Error = cmp.Or(err.Error(), "it failed without saying why")
	}
	return w.line(end)
}

func (w *Writer) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a window: %w", err)
	}
	if len(b) >= maxLine {
		return errors.New("a window's line is longer than the 4 MiB that are read")
	}
	if _, err := w.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing a window: %w", err)
	}
	return nil
}
