package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a driver with simulated sessions: it acknowledges each message with a frame,
// immediately unless it stalls.
type server struct {
	refuse func(i int) bool
	loseAt func(i int) uint64 // the session is lost before this message is acknowledged; 0: never
	silent bool               // messages are not acknowledged

	mu      sync.Mutex
	stalled chan struct{} // closed when the stall is over; nil: there is none
}

type conn struct {
	server  *server
	loseAt  uint64
	numbers chan uint64
}

func (s *server) Open(_ context.Context, i int) (Session, error) {
	if s.refuse != nil && s.refuse(i) {
		return nil, syscall.ECONNREFUSED
	}
	c := &conn{server: s, numbers: make(chan uint64, 1<<16)}
	if s.loseAt != nil {
		c.loseAt = s.loseAt(i)
	}
	return c, nil
}

func (c *conn) Send(_ context.Context, number uint64) error {
	c.numbers <- number
	return nil
}

func (c *conn) Receive(ctx context.Context) (Received, error) {
	select {
	case <-ctx.Done():
		return Received{}, ctx.Err()
	case n := <-c.numbers:
		if n == c.loseAt {
			return Received{}, io.EOF
		}
		if err := c.server.await(ctx); err != nil {
			return Received{}, err
		}
		r := Received{Acked: n, Frames: 1, Bytes: 10}
		if c.server.silent {
			r.Acked = 0
		}
		return r, nil
	}
}

func (c *conn) Close() error { return nil }

func (s *server) await(ctx context.Context) error {
	s.mu.Lock()
	stalled := s.stalled
	s.mu.Unlock()
	if stalled == nil {
		return nil
	}
	select {
	case <-stalled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) stall(d time.Duration) (stop func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := make(chan struct{})
	s.stalled = over
	return time.AfterFunc(d, func() { close(over) }).Stop
}

func run(t *testing.T, c Config) record.Totals {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	failed := int64(0)
	for _, n := range r.Totals.Errors {
		failed += n
	}
	if got := r.Totals; got.Offered != got.Ended+got.Unfinished || got.Failed != failed {
		t.Errorf("offered %d, ended %d, unfinished %d, failed %d, errors %v", got.Offered, got.Ended, got.Unfinished, got.Failed, got.Errors)
	}
	return r.Totals
}

func TestEveryMessageIsAnswered(t *testing.T) {
	got := run(t, Config{Driver: &server{}, Sessions: 40, Rate: 50, Warmup: 200 * time.Millisecond, Length: 400 * time.Millisecond})
	s := got.Sessions
	if got.Offered != 800 || got.Completed != 800 || got.Failed+got.Unfinished != 0 || s == nil || s.Planned != 40 || s.Opened != 40 || s.Lost != 0 {
		t.Fatalf("%+v, sessions %+v", got, s)
	}
	// A frame that arrives late belongs to the drain.
	if s.FramesMean > 75 || s.FramesMean == 0 || s.FramesMin > s.FramesP1 || s.BytesPerS != 10*s.FramesMean {
		t.Errorf("%+v", s)
	}
}

func TestRefusedSessions(t *testing.T) {
	got := run(t, Config{Driver: &server{refuse: func(i int) bool { return i%4 == 0 }}, Sessions: 20, Rate: 25, Length: 400 * time.Millisecond})
	if got.Offered != 200 || got.Errors["refused"] != 50 || got.Failed != 50 || got.Sessions.Opened != 15 || got.Sessions.FramesMin != 0 || got.Sessions.FramesP1 != 0 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

// A lost session is not opened again: its pending message and all later ones fail.
func TestLostSessions(t *testing.T) {
	got := run(t, Config{Driver: &server{loseAt: func(i int) uint64 { return uint64(i % 2 * 6) }}, Sessions: 10, Rate: 25, Length: 400 * time.Millisecond})
	if got.Offered != 100 || got.Errors["lost"] != 5*5 || got.Failed != 25 || got.Sessions.Lost != 5 || got.Sessions.Opened != 10 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

func TestUnansweredMessages(t *testing.T) {
	got := run(t, Config{Driver: &server{silent: true}, Sessions: 10, Rate: 25, Length: 400 * time.Millisecond, Timeout: 300 * time.Millisecond})
	if got.Offered != 100 || got.Errors["timeout"]+got.Unfinished != 100 || got.Completed != 0 {
		t.Errorf("%+v", got)
	}
}

// A Send that blocks delays the other sessions of its goroutine, which their latency shows. It
// ends with the run; messages that could not be sent are unfinished.
func TestASendThatBlocks(t *testing.T) {
	got := run(t, Config{Driver: stuck{}, Sessions: 1, Rate: 50, Length: 400 * time.Millisecond, Timeout: time.Minute})
	if got.Offered != 20 || got.Unfinished != 20 || got.Sent != 1 || got.Sessions.Lost != 0 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

// stuck is a driver whose sessions send and receive nothing.
type stuck struct{}

func (stuck) Open(context.Context, int) (Session, error) { return stuck{}, nil }
func (stuck) Close() error                               { return nil }
func (stuck) Send(ctx context.Context, _ uint64) error {
	<-ctx.Done()
	return ctx.Err()
}
func (stuck) Receive(ctx context.Context) (Received, error) {
	<-ctx.Done()
	return Received{}, ctx.Err()
}

// Sessions without messages are measured by the frames that they receive and by the sessions that
// are lost.
func TestReceiversOnly(t *testing.T) {
	got := run(t, Config{Driver: feed{}, Sessions: 10, Length: 400 * time.Millisecond})
	if got.Offered != 0 || got.ErrorShare() != 0.1 || got.Sessions.Lost != 1 || got.Sessions.FramesMean == 0 {
		t.Errorf("%+v, sessions %+v", got, got.Sessions)
	}
}

// feed sends each session a frame every 10 ms, and loses the first session after five frames.
type feed struct{}

func (feed) Open(_ context.Context, i int) (Session, error) { return &feeding{i: i}, nil }

type feeding struct{ i, n int }

func (*feeding) Send(context.Context, uint64) error { return errors.New("it sends nothing") }
func (*feeding) Close() error                       { return nil }
func (f *feeding) Receive(ctx context.Context) (Received, error) {
	if f.n++; f.i == 0 && f.n > 5 {
		return Received{}, io.ErrUnexpectedEOF
	}
	if !load.Pause(ctx, 10*time.Millisecond) {
		return Received{}, ctx.Err()
	}
	return Received{Frames: 1, Bytes: 3}, nil
}

// A stall shows in every message that was due during it, since latency counts from the intended
// time.
func TestAStallShowsInAllMessages(t *testing.T) {
	s := &server{}
	stalling := time.AfterFunc(500*time.Millisecond, func() { s.stall(time.Second) })
	defer stalling.Stop()
	got := run(t, Config{Driver: s, Sessions: 20, Rate: 20, Length: 2 * time.Second})
	// 1 s of the 2 s is a stall; half of the messages due during it waited for more than half of
	// it.
	if got.Offered != 800 || got.Completed != 800 || got.Response.P90 < 600 || got.Response.Max < 900 {
		t.Errorf("%+v", got)
	}
}

// A session may be lost before its first message, and a run may be cut off.
func TestCutOff(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r, err := Run(ctx, Config{Driver: &server{silent: true}, Sessions: 4, Rate: 50, Length: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) || r.Totals.Offered == 0 || r.Totals.Unfinished != r.Totals.Offered {
		t.Errorf("%v: %+v", err, r.Totals)
	}
}

// Relaying a program's windows gives the totals that the program computed.
func TestWindowsAreRelayed(t *testing.T) {
	var printed bytes.Buffer
	c := Config{Driver: &server{loseAt: func(i int) uint64 { return uint64(i / 9 * 3) }}, Sessions: 10, Rate: 50, Length: 400 * time.Millisecond}
	if err := Windows(t.Context(), c, &printed); err != nil {
		t.Fatal(err)
	}
	got, _, err := load.Run(t.Context(), load.Plan{Connections: 10, Length: time.Minute}, windows.New("program", &printed), none{})
	s := got.Sessions
	if err != nil || got.Offered != 200 || got.Errors["lost"] != 18 || s == nil || s.Planned != 10 || s.Opened != 10 || s.Lost != 1 || s.FramesMean == 0 {
		t.Errorf("%v: %+v, sessions %+v", err, got, s)
	}
}

func TestJSON(t *testing.T) {
	r, err := Run(t.Context(), Config{Driver: &server{}, URL: "ws://user:secret@127.0.0.1/", Sessions: 2, Rate: 10, Length: 200 * time.Millisecond})
	var out strings.Builder
	if err = errors.Join(err, r.WriteJSON(&out)); err != nil || !strings.Contains(out.String(), `"schema": "dyno.load/1"`) || strings.Contains(out.String(), "secret") || !strings.Contains(out.String(), `"frames_per_s_p1"`) {
		t.Errorf("%v: %s", err, out.String())
	}
	if _, err := Run(t.Context(), Config{}); err == nil {
		t.Error("no driver")
	}
}
