package http1

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What one socket sends, the other receives, through two buffers that are reused.
func TestSendAndReceive(t *testing.T) {
	r, err := newRing(4, 2, 64)
	if err != nil {
		t.Skip(err) // before Linux 6.1, or not permitted
	}
	defer r.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	const receiving, sending = 1, 2
	r.Receive(pair[1], receiving)
	for _, word := range []string{"one", "two", "three", "four", "five"} {
		r.Send(pair[0], []byte(word), unix.MSG_NOSIGNAL, true, sending)
		got := ""
		for range 10 {
			r.Wait(&unix.Timespec{Sec: 1})
			r.Completions(func(e *cqe) {
				id, ok := e.Buffer()
				if e.UserData != receiving || !ok || !e.More() {
					t.Fatalf("%+v", *e)
				}
				got += string(r.Buffer(id, int(e.Res)))
				r.GiveBack(id)
			})
			if r.PublishBuffers(); got != "" {
				break
			}
		}
		if got != word || r.Pending() != 0 {
			t.Fatalf("received %q, want %q; %d pending", got, word, r.Pending())
		}
	}
}
