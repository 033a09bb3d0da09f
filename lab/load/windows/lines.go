package windows

import (
	"dyno/agent/monotonic"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Lines checks lines that a Writer in another process wrote, and that arrive one by one, not as a
// stream.
type Lines struct{ stream *stream }

// NewLines returns a Lines for windows from now on.
func NewLines() *Lines { return &Lines{newStream(nil, monotonic.Now)} }

// Window reads the line of the next window, which must not be longer than 4 MiB.
func (l *Lines) Window(line []byte) (record.Window, map[string]*hdrhistogram.Histogram, error) {
	w, err := l.stream.parse(line)
	if err != nil {
		return record.Window{}, nil, err
	}
	return w.Window, w.hists, nil
}
