package windows

import (
	"dyno/agent/monotonic"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Lines checks windows that a Writer in another process wrote, if their lines arrive one by one
// instead of as a stream.
type Lines struct{ stream *stream }

// NewLines returns a Lines that accepts windows from now on.
func NewLines() *Lines { return &Lines{newStream(nil, monotonic.Now)} }

// Window decodes the line of the next window. The caller bounds the line's length, to 4 MiB or
// less.
func (l *Lines) Window(line []byte) (record.Window, map[string]*hdrhistogram.Histogram, error) {
	w, err := l.stream.parse(line)
	if err != nil {
		return record.Window{}, nil, err
	}
	return w.Window, w.hists, nil
}
