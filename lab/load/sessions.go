package load

import (
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Opened reports how long a session took to open, in ns.
func (s *Shard) Opened(took int64) { s.value(record.HistOpening, took) }

// Received reports the frames and bytes that a session received at an instant.
func (s *Shard) Received(at int64, frames, bytes int) {
	s.Advance(at)
	s.cur.client.Frames += int64(frames)
	s.cur.client.Bytes += int64(bytes)
}

// LostSession reports that a session was lost at an instant.
func (s *Shard) LostSession(at int64) {
	s.Advance(at)
	s.cur.client.Lost++
}

// Gap reports the mean time between a session's frames during the measured time, in ns. It is
// called once for each planned session. A value of an hour or more means that there was no frame.
func (s *Shard) Gap(ns int64) { s.value(record.HistGap, ns) }

// value adds a value to a histogram of the current window.
func (s *Shard) value(tag string, ns int64) {
	if s.cur.more == nil {
		s.cur.more = map[string]*hdrhistogram.Histogram{}
	}
	h := s.cur.more[tag]
	if h == nil {
		h = s.rec.histogram()
		s.cur.more[tag] = h
	}
	h.RecordValue(record.Clamp(ns)) // within range, so it cannot fail
}
