package push

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"dyno/services/notify/topic"
)

const (
	// chunkBytes is how much a stream reads from the log in one scan: enough to make a system call
	// worth its cost, little enough for a thousand readers that catch up.
	chunkBytes = 64 << 10
	// maxVisits bounds the notices passed over in one scan by a stream that does not want them, so
	// that it sees in between whether its client is still there.
	maxVisits = 4096
	// grace is the time that a reader that was too slow has to read the rest of a chunk, so that it
	// can receive the reason.
	grace = 5 * time.Second
)

// Reasons for which a stream ends. A refusal.Error is another: the cause with which the context of
// a request ends that may not go on. What a client sends, or that it has gone, is any other.
var (
	errSlow   = errors.New("the reader was too slow or gave no sign of life; resume after the last number seen")
	errClosed = errors.New("the service is stopping; resume after the last number seen")
	errSource = errors.New("the log cannot be read")
	errFull   = errors.New("that is a chunk") // never leaves fill
)

// transport carries a stream to its client. Its methods are called by one goroutine.
type transport interface {
	notice(frames []byte, n Notice) []byte   // appends the frame of a notice
	gap(frames []byte, g gap) []byte         // appends the frame of a gap
	reset(frames []byte, from uint64) []byte // appends the frame that says that the stream begins anew, from a number on

	// send writes frames; beat shows that the stream is alive, and that it has come past a number.
	// Both return errSlow when they took too long.
	send(c *chunk) error
	beat(passed uint64) error
	// end sends the client the reason for the end, if it is still connected.
	end(why error)
}

// gap is a range of numbers that are lost to a client, from the first to the last.
type gap struct{ from, to uint64 }

// appendTo appends the gap as JSON.
func (g gap) appendTo(b []byte) []byte {
	b = append(b, `{"from":`...)
	b = strconv.AppendUint(b, g.from, 10)
	b = append(b, `,"to":`...)
	b = strconv.AppendUint(b, g.to, 10)
	return append(b, '}')
}

// appendFrom appends where a stream begins that was reset, as JSON.
func appendFrom(b []byte, from uint64) []byte {
	b = append(b, `{"from":`...)
	b = strconv.AppendUint(b, from, 10)
	return append(b, '}')
}

// chunk is some frames on their way to a client.
type chunk struct {
	frames  []byte
	ends    []int // of the frames
	notices int
	visits  int
}

func (c *chunk) ended(frames []byte) {
	c.frames = frames
	c.ends = append(c.ends, len(frames))
}

// position is where a stream is in the log.
type position struct {
	types []string // wanted; none: all
	next  uint64   // number
	reset bool     // the client asked for another one, which is not of this log
}

// finish ends a stream.
func (s *Streams) finish(ctx context.Context, t transport, why error) {
	if errors.Is(why, errSlow) {
		s.cut.Add(1)
	}
	if errors.Is(why, errSource) {
		s.o.Log.ErrorContext(ctx, "a stream ends", "error", why)
	}
	t.end(why)
}

// follow runs a stream until ctx ends, the source closes or the transport fails, and says why.
func (s *Streams) follow(ctx context.Context, at *position, t transport) error {
	if at.reset {
		if err := s.restart(at.next, t); err != nil {
			return err
		}
	}
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	for {
		more, open := s.source.Wait(at.next)
		if !open {
			return errClosed
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-beat.C:
			if err := t.beat(at.next - 1); err != nil {
				return err
			}
		case <-more:
			if ctx.Err() != nil {
				return context.Cause(ctx) // select may prefer the notices
			}
			sent, err := s.forward(at, t)
			if err != nil {
				return err
			}
			if sent {
				beat.Reset(s.heartbeat)
			}
		}
	}
}

// restart informs the client that its stream does not continue at the number it asked for, but at
// another.
func (s *Streams) restart(from uint64, t transport) error {
	c := s.chunks.Get().(*chunk)
	defer s.release(c)
	c.ended(t.reset(c.frames, from))
	return t.send(c)
}

// forward sends a chunk of what there is. The chunk is the stream's only while it does so: a stream
// that waits holds none.
func (s *Streams) forward(at *position, t transport) (sent bool, err error) {
	c := s.chunks.Get().(*chunk)
	defer s.release(c)
	if err := s.fill(c, at, t); err != nil {
		return false, err
	}
	if len(c.ends) == 0 {
		return false, nil
	}
	if err := t.send(c); err != nil {
		return false, err
	}
	s.sent.Add(uint64(c.notices))
	return true, nil
}

func (s *Streams) release(c *chunk) {
	if cap(c.frames) > 4*chunkBytes {
		return // a very large notice's: not to be kept
	}
	*c = chunk{frames: c.frames[:0], ends: c.ends[:0]}
	s.chunks.Put(c)
}

// fill takes from the log until the chunk is full or there is no more, and moves the position. A
// stream may have read ahead of what was announced, and the announcement of that wakes it in vain:
// then there is nothing. What is missing although it was announced before the scan is an error.
func (s *Streams) fill(c *chunk, at *position, t transport) error {
	for announced := false; ; announced = true {
		found, err := s.scan(c, at, t)
		if found && err == nil {
			return nil
		}
		more, open := s.source.Wait(at.next)
		switch {
		case !open:
			return errClosed
		case err == nil && announced:
			err = fmt.Errorf("number %d was announced and is not there", at.next)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errSource, err)
		}
		select {
		case <-more:
		default:
			return nil
		}
	}
}

// scan is one scan of the log; found reports whether it moved the position. A number that was
// passed over, or is not there although the log has come past it, is in a gap.
func (s *Streams) scan(c *chunk, at *position, t transport) (found bool, err error) {
	before := at.next
	_, end := s.source.Bounds()
	lost := func(to uint64) {
		if to > at.next {
			c.ended(t.gap(c.frames, gap{at.next, to - 1}))
			at.next = to
		}
	}
	first, err := s.source.Scan(at.next, func(n Notice) error {
		lost(n.Seq)
		at.next = n.Seq + 1
		if topic.Match(at.types, n.Type) {
			c.ended(t.notice(c.frames, n))
			c.notices++
		}
		if c.visits++; c.visits == maxVisits || len(c.frames) >= chunkBytes {
			return errFull
		}
		return nil
	})
	switch {
	case errors.Is(err, errFull):
		return true, nil
	case err != nil:
		return false, err
	}
	lost(max(first, end))
	return at.next > before, nil
}

// timely calls write with its deadline, which is later than the moment from which on it counts as
// too late.
func (s *Streams) timely(write func(deadline time.Time) error) error {
	begin := time.Now()
	err := write(begin.Add(writeTime + grace))
	late := err == nil && time.Since(begin) > writeTime
	if late || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return errSlow
	}
	return err
}
