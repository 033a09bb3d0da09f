package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// polled returns a socket that can be polled, and the connection of its client.
func polled(t *testing.T) (*frames, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s := &frames{conn: conn, try: newTry(conn)}
	t.Cleanup(s.CloseNow)
	if s.try == nil {
		t.Skip("no reads here that do not wait")
	}
	return s, client
}

// A Poll ends at the deadline, as a Read does, also where nothing has come.
func TestPollKeepsTheDeadline(t *testing.T) {
	s, _ := polled(t)
	buf := make([]byte, readSize)
	if err := s.Poll(buf, nil); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	s.SetReadDeadline(time.Now())
	if err := s.Poll(buf, nil); !os.IsTimeout(err) {
		t.Errorf("at the deadline: %v", err)
	}
}

// A socket that is polled still ends with a close frame, or without a word, and fails then.
func TestPolledSocketEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(s *frames)
		want string
	}{
		"with a code": {func(s *frames) { s.Close(GoingAway, "bye") }, "\x88\x05\x03\xe9bye"},
		"now":         {func(s *frames) { s.CloseNow() }, ""},
	} {
		s, client := polled(t)
		buf := make([]byte, readSize)
		if err := s.Poll(buf, nil); err != nil {
			t.Errorf("%s: before the end: %v", name, err)
		}
		if n, err := s.TryWrite([]byte{0x82, 0}); n != 2 || err != nil {
			t.Errorf("%s: %d bytes written, %v", name, n, err)
		}
		got := make(chan string)
		go func() {
			all, _ := io.ReadAll(client)
			client.Close()
			got <- string(all)
		}()
		tt.end(s)
		if all := <-got; all != "\x82\x00"+tt.want {
			t.Errorf("%s: the client received %q", name, all)
		}
		if err := s.Poll(buf, nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: a read after the end: %v", name, err)
		}
		if _, err := s.TryWrite([]byte{0x82, 0}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: a write after the end: %v", name, err)
		}
	}
}

// Where a goroutine writes and waits, the connection stays as it is while the room reads it.
func TestPollLeavesWritersTheirConnection(t *testing.T) {
	s, _ := polled(t)
	buf := make([]byte, readSize)
	for range 3 {
		if err := s.Write([]byte{0x82, 0}, nil, time.Minute); err != nil {
			t.Errorf("a write: %v", err)
		}
		before := s.waits()
		if err := s.Poll(buf, nil); err != nil {
			t.Errorf("a read: %v", err)
		}
		if s.waits() != before {
			t.Error("the writer's connection was closed")
		}
	}
	s.SetReadDeadline(time.Now())
	if err := s.Poll(buf, nil); !os.IsTimeout(err) {
		t.Errorf("at the deadline: %v", err)
	}
}
