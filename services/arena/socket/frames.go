package socket

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// readSize is how much is read from a connection, unless a frame is longer: an Input of four
// commands takes some 60 bytes, and an idle connection keeps the buffer.
const readSize = 512

// frames is a Socket with frames of our own.
type frames struct {
	conn        net.Conn
	subprotocol string
	control     func(pong []byte) error
	try         *try // nil: reads and writes wait

	parser parser
	in     []byte // what was read
	done   int    // of it
	closed atomic.Bool
}

func (s *frames) Subprotocol() string { return s.subprotocol }

func (s *frames) SetReadDeadline(at time.Time) {
	if s.try != nil {
		s.try.deadline(at)
	}
	_ = s.conn.SetReadDeadline(at)
}

// waits returns the connection for calls that wait.
func (s *frames) waits() net.Conn {
	if s.try != nil {
		if c := s.try.attach(); c != nil {
			return c
		}
	}
	return s.conn
}

func (s *frames) Read() ([]byte, error) {
	for {
		f, used, need, err := s.parser.next(s.in[s.done:])
		if err != nil {
			return nil, err
		}
		if used == 0 {
			if err := s.fill(need); err != nil {
				return nil, err
			}
			continue
		}
		s.done += used
		if message, done, err := s.obey(f); done || err != nil {
			return message, err
		}
	}
}

// obey does what a frame says; done: it ends a message.
func (s *frames) obey(f frame) (message []byte, done bool, err error) {
	switch f.op {
	case opClose:
		return nil, false, closing(f.payload)
	case opPing:
		return nil, false, s.control(append(appendHeader(nil, opPong, len(f.payload)), f.payload...))
	case opPong:
		return nil, false, s.control(nil)
	}
	return s.parser.take(f)
}

func (s *frames) Poll(buf []byte, take func(message []byte) error) error {
	if s.try == nil {
		return ErrNoTry
	}
	if len(buf) > 0 {
		s.try.detach()
	}
	rest := copy(buf, s.in[s.done:]) // less than a frame, but for what Read has left
	n, end := s.try.read(buf[rest:])
	if rest+n == 0 {
		return end
	}
	in, done := buf[:rest+n], 0
	for {
		f, used, _, err := s.parser.next(in[done:])
		if err != nil {
			return err
		}
		if used == 0 {
			break
		}
		done += used
		message, whole, err := s.obey(f)
		if err == nil && whole {
			err = take(message)
		}
		if err != nil {
			return err
		}
	}
	s.in, s.done = nil, 0
	if done < len(in) {
		s.in = append(s.in, in[done:]...)
	}
	return end // after the frames that Read has left
}

// fill reads on until there are need bytes beyond those that are done.
func (s *frames) fill(need int) error {
	rest := copy(s.in, s.in[s.done:])
	s.in, s.done = s.in[:rest], 0
	if want := max(need, readSize); cap(s.in) < want || cap(s.in) > readSize && want == readSize {
		s.in = append(make([]byte, 0, want), s.in...)
	}
	n, err := s.conn.Read(s.in[rest:cap(s.in)])
	s.in = s.in[:rest+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

func (s *frames) Write(b []byte, _ []int, timeout time.Duration) error {
	conn := s.waits()
	if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := conn.Write(b)
	return err
}

func (s *frames) TryWrite(b []byte) (int, error) {
	if s.try == nil {
		return 0, ErrNoTry
	}
	return s.try.write(b)
}

var ping = appendHeader(nil, opPing, 0)

func (s *frames) Ping() []byte { return ping }

// Times of an end.
const (
	closeTime = 2 * time.Second // for the close frame to be written, and for the client's to come
	maxUnread = 1 << 20         // bytes that are thrown away meanwhile
)

func (s *frames) Close(code int, reason string) {
	defer s.CloseNow()
	if code == 0 || s.closed.Load() {
		return
	}
	conn := s.waits()
	if conn.SetDeadline(time.Now().Add(closeTime)) != nil {
		return
	}
	if _, err := conn.Write(appendClose(nil, code, reason)); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	// A connection that is closed with unread bytes is reset, and its client may lose the last
	// words.
	_, _ = io.CopyN(io.Discard, conn, maxUnread)
}

func (s *frames) CloseNow() {
	if s.closed.Swap(true) {
		return
	}
	if s.try != nil {
		s.try.close()
	}
	_ = s.conn.Close()
}
