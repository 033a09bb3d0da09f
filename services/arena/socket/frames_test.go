package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sent is a client's frame.
func sent(first byte, payload string) []byte {
	b := appendHeader(nil, 0, len(payload))
	b[0], b[1] = first, b[1]|masked
	b = append(b, 1, 2, 3, 4)
	at := len(b)
	b = append(b, payload...)
	unmask(b[at:], [4]byte{1, 2, 3, 4})
	return b
}

// pair is a Socket whose client writes to the connection.
func pair(t *testing.T) (*frames, *net.TCPConn, *[]string) {
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
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	var controls []string
	s := &frames{conn: server, try: newTry(server), control: func(pong []byte) error {
		controls = append(controls, string(pong))
		return nil
	}}
	return s, client.(*net.TCPConn), &controls
}

// pollAll polls until an error, like a room.
func pollAll(s *frames, buf []byte) (messages []string, err error) {
	for limit := time.Now().Add(time.Minute); err == nil && time.Now().Before(limit); {
		err = s.Poll(buf, func(message []byte) error {
			messages = append(messages, string(message))
			return nil
		})
	}
	return messages, err
}

// What Read has left when the room begins to poll is not lost where the client has ended
// meanwhile.
func TestPollTakesWhatReadHasLeft(t *testing.T) {
	s, client, _ := pair(t)
	client.Write(append(sent(final|opBinary, "join"), sent(final|opBinary, "leave")...))
	client.CloseWrite()
	first, err := s.Read()
	if err != nil || string(first) != "join" {
		t.Fatalf("%q, %v", first, err)
	}
	if err := s.Poll(nil, nil); err != nil && !errors.Is(err, io.EOF) { // whether it can
		t.Fatal(err)
	}
	if messages, err := pollAll(s, make([]byte, 1024)); len(messages) != 1 || messages[0] != "leave" || err == nil {
		t.Errorf("%q, %v", messages, err)
	}
}

// A caller counts pings and pongs, and its error ends the reading.
func TestControlEndsReading(t *testing.T) {
	s, client, _ := pair(t)
	enough := errors.New("enough")
	s.control = func([]byte) error { return enough }
	for _, op := range []byte{opPing, opPong} {
		client.Write(sent(final|op, ""))
		if _, err := s.Read(); err != enough {
			t.Errorf("%d: %v", op, err)
		}
	}
}

// stream is a Conn from which the bytes of a client come in pieces.
type stream struct {
	net.Conn
	rest []byte
	size int
}

func (s *stream) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, errEnd
	}
	n := copy(b[:min(len(b), s.size)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

var errEnd = errors.New("end")

// outcome is what a client's bytes lead to.
type outcome struct {
	messages, controls []string
	code               int
	err                string
}

func (o *outcome) hear(pong []byte) error {
	o.controls = append(o.controls, string(pong))
	return nil
}

func (o *outcome) end(err error) {
	var closed *Closed
	if errors.As(err, &closed) {
		o.code = closed.Code
	}
	o.err = err.Error()
}

func readAll(b []byte, size int) (o outcome) {
	s := &frames{conn: &stream{rest: b, size: size}, control: o.hear}
	for {
		message, err := s.Read()
		if err != nil {
			o.end(err)
			return o
		}
		o.messages = append(o.messages, string(message))
	}
}

func (o outcome) same(p outcome) bool {
	equal := func(a, b []string) bool { return len(a) == len(b) && bytes.Equal(join(a), join(b)) }
	return o.code == p.code && o.err == p.err && equal(o.messages, p.messages) && equal(o.controls, p.controls)
}

func join(texts []string) (b []byte) {
	for _, text := range texts {
		b = append(appendHeader(b, 0, len(text)), text...)
	}
	return b
}

// Bytes of a client never make the parser panic, and lead to the same however they are split.
func FuzzFrames(f *testing.F) {
	f.Add(sent(final|opBinary, "hello"), uint16(3))
	f.Add(append(append(sent(opBinary, "he"), sent(final|opPing, "p")...), sent(final, "llo")...), uint16(1))
	f.Add(append(sent(final|opText, "text"), sent(final|opPong, "")...), uint16(2))
	f.Add(sent(final|opClose, "\x03\xe8bye"), uint16(5))
	f.Add([]byte{final | opBinary, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0}, uint16(4))
	f.Add(sent(final|opBinary, string(make([]byte, MaxMessage))), uint16(700))
	f.Add(sent(final|opBinary, string(make([]byte, MaxMessage+1))), uint16(4000))
	f.Fuzz(func(t *testing.T, b []byte, size uint16) {
		whole := readAll(bytes.Clone(b), len(b)+1)
		if split := readAll(bytes.Clone(b), int(size)+1); !whole.same(split) {
			t.Errorf("whole: %+v; in pieces of %d bytes: %+v", whole, size+1, split)
		}
		for _, message := range whole.messages {
			if len(message) > MaxMessage {
				t.Errorf("a message of %d bytes", len(message))
			}
		}
	})
}

// Poll and Read agree.
func TestPollReadsAsRead(t *testing.T) {
	long := string(bytes.Repeat([]byte("long"), MaxMessage/4))
	text := bytes.Join([][]byte{
		sent(final|opBinary, "one"), sent(opBinary, "t"), sent(final|opPing, "ping"), sent(0, "w"), sent(final, "o"),
		sent(final|opPong, ""), sent(final|opBinary, long), sent(final|opBinary, ""), sent(final|opClose, "\x03\xe9"),
	}, nil)
	want := readAll(bytes.Clone(text), len(text))
	for _, size := range []int{1, 7, 4000, len(text)} {
		s, client, controls := pair(t)
		for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			client.Write(rest[:min(size, len(rest))])
		}
		messages, err := pollAll(s, make([]byte, 2*MaxMessage))
		got := outcome{messages: messages, controls: *controls}
		got.end(err)
		if !got.same(want) || want.code != GoingAway || len(want.messages) != 4 {
			t.Errorf("in pieces of %d bytes: code %d and %d messages, want %d and %d", size, got.code, len(got.messages), want.code, len(want.messages))
		}
	}
}

// A client that reads nothing holds no writer up, and what the kernel did not take is known.
func TestTryWriteDoesNotWait(t *testing.T) {
	s, client, _ := pair(t)
	total, full := 0, bytes.Repeat([]byte("x"), 1<<16)
	for n := len(full); n > 0; total += n {
		var err error
		if n, err = s.TryWrite(full); err != nil {
			t.Fatal(err)
		}
	}
	s.CloseNow()
	got, buf := 0, make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if got += n; err != nil {
			break
		}
	}
	if got != total {
		t.Errorf("the client received %d bytes of %d", got, total)
	}
}
