package room

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"dyno/services/arena/delta"
	"dyno/services/arena/socket"
	"dyno/services/arena/wire"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tuned = Config{State: "predicted", Write: "direct", Read: "tick"}

// fake is a socket of which the test is the kernel.
type fake struct {
	subprotocol string
	waits       bool // it has no writes that do not wait

	mu     sync.Mutex
	takes  int // bytes that the kernel takes
	taken  []byte
	keep   bool
	closed bool
	code   int
}

func (f *fake) Subprotocol() string                           { return f.subprotocol }
func (f *fake) Read() ([]byte, error)                         { return nil, io.EOF }
func (f *fake) SetReadDeadline(time.Time)                     {}
func (f *fake) Poll([]byte, func(message []byte) error) error { return nil }
func (f *fake) Ping() []byte                                  { return nil }

func (f *fake) Write(b []byte, _ []int, _ time.Duration) error {
	if n, err := f.take(b); n < len(b) || err != nil {
		return errors.New("late")
	}
	return nil
}

func (f *fake) TryWrite(b []byte) (int, error) {
	if f.waits {
		return 0, socket.ErrNoTry
	}
	return f.take(b)
}

func (f *fake) take(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, io.ErrClosedPipe
	}
	n := min(len(b), f.takes)
	f.takes -= n
	if f.keep {
		f.taken = append(f.taken, b[:n]...)
	}
	return n, nil
}

func (f *fake) accept(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes = n
}

func (f *fake) Close(code int, _ string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.code = code
}

func (f *fake) CloseNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// received returns the messages that the client received whole, and forgets them.
func (f *fake) received(t *testing.T) (messages [][]byte) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.taken) >= 2 {
		size, at := int(f.taken[1]), 2
		if size == 126 {
			size, at = int(binary.BigEndian.Uint16(f.taken[2:])), 4
		}
		if len(f.taken) < at+size {
			break
		}
		messages = append(messages, f.taken[at:at+size])
		f.taken = f.taken[at+size:]
	}
	return messages
}

const endless = 1 << 40

func newFake(subprotocol string) *fake {
	return &fake{subprotocol: subprotocol, takes: endless, keep: true}
}

func newRoom(o Options, c Config) *Room {
	return New("test", o, c, new(Stats), slog.New(slog.DiscardHandler))
}

// states decodes the states among messages of the compact subprotocol.
func states(t *testing.T, d *delta.Decoder, messages [][]byte) (ticks []uint32) {
	t.Helper()
	for _, message := range messages {
		if message[0] != delta.Packed {
			continue
		}
		s, _, err := d.Decode(message)
		if err != nil {
			t.Fatal(err)
		}
		ticks = append(ticks, s.Tick)
	}
	return ticks
}

func join(t *testing.T, r *Room, f *fake) *Client {
	t.Helper()
	c := NewClient(f, r.config, r.stats)
	t.Cleanup(func() { c.End(nil, 0, "") })
	if err := r.Join(c, "ada"); err != nil {
		t.Fatal(err)
	}
	return c
}

func input(seq, tick uint32, buttons uint32) *wire.Input {
	return &wire.Input{Seq: seq, AckTick: tick, Commands: []*wire.Command{{Seq: 2*seq - 1, Buttons: buttons}, {Seq: 2 * seq, Buttons: buttons}}}
}
