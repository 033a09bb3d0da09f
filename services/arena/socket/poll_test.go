package socket

import (
	"net"
	"os"
	"testing"
	"time"
)

// A Poll ends at the deadline, as a Read does, also where nothing has come.
func TestPollKeepsTheDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s := &frames{conn: conn, try: newTry(conn)}
	defer s.CloseNow()
	if s.try == nil {
		t.Skip("no reads here that do not wait")
	}
	buf := make([]byte, readSize)
	if err := s.Poll(buf, nil); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	s.SetReadDeadline(time.Now())
	if err := s.Poll(buf, nil); !os.IsTimeout(err) {
		t.Errorf("at the deadline: %v", err)
	}
}
