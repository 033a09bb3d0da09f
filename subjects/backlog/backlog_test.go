package main

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStallsAtTheBeginningOfEachPeriod(t *testing.T) {
	s := &stalling{stall: 100 * time.Millisecond, every: time.Second}
	for at, want := range map[time.Duration]time.Duration{
		0: 100 * time.Millisecond, 40 * time.Millisecond: 60 * time.Millisecond, 100 * time.Millisecond: 0,
		999 * time.Millisecond: 0, 3*time.Second + 90*time.Millisecond: 10 * time.Millisecond,
	} {
		if got := s.left(at); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	if got := (&stalling{every: time.Second}).left(0); got != 0 {
		t.Errorf("one that never stalls: %v", got)
	}
}

// Every answer uses a new connection, even with the shortest backlog.
func TestEachRequestConnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := shorten(l, 1); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(hello)}
	ended := make(chan error)
	go func() { ended <- server.Serve(&stalling{Listener: l, every: time.Second}) }()
	for range 3 {
		answer, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(body) != "hello\n" || !answer.Close {
			t.Errorf("%q, closes: %v", body, answer.Close)
		}
	}
	server.Close()
	<-ended
	if err := shorten(l, 1); err == nil {
		t.Error("a closed listener was shortened")
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		backlog      int
		stall, every time.Duration
		fine         bool
	}{{16, 100 * time.Millisecond, time.Second, true}, {1, 0, time.Second, true}, {0, 0, time.Second, false},
		{1 << 17, 0, time.Second, false}, {16, time.Second, time.Second, false}, {16, -1, time.Second, false}, {16, 0, time.Hour, false}} {
		if err := check(c.backlog, c.stall, c.every); (err == nil) != c.fine {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
