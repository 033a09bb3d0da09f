package http1

import (
	"net"
	"runtime"
	"testing"
	"time"

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
			r.Wait(&unix.Timespec{Sec: 1}, 0, 1)
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

// Data of a TCP connection comes with the instant at which the kernel received it, however late it
// is read. On loopback the kernel receives during the write.
func TestReceiveStamped(t *testing.T) {
	runtime.LockOSThread() // a ring belongs to a thread
	defer runtime.UnlockOSThread()
	r, err := newRing(4, 2, 256)
	if err != nil {
		t.Skip(err) // before Linux 6.1, or not permitted
	}
	defer r.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := dial(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: l.Addr().(*net.TCPAddr).Port})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		t.Fatal(err)
	}
	r.ReceiveStamped(fd, 1)
	r.Submit()
	// The kernel begins to note the times soon after the first socket has asked for them.
	noted := false
	for range 1000 {
		if noted {
			break
		}
		before := time.Now().UnixNano()
		if _, err := peer.Write([]byte("word")); err != nil {
			t.Fatal(err)
		}
		after := time.Now().UnixNano()
		time.Sleep(2 * time.Millisecond) // it is read later
		got := ""
		for range 30 { // a signal of the Go runtime ends a wait before its time
			if got != "" {
				break
			}
			r.Wait(&unix.Timespec{Sec: 1}, 100, 2)
			r.Completions(func(e *cqe) {
				id, ok := e.Buffer()
				if !ok || !e.More() {
					t.Fatalf("%+v", *e)
				}
				data, at := Stamped(r.Buffer(id, int(e.Res)))
				got = string(data)
				if noted = at != 0; noted && (at < before || at > after) {
					t.Errorf("received at %d, written between %d and %d", at, before, after)
				}
				r.GiveBack(id)
			})
			r.PublishBuffers()
		}
		if got != "word" {
			t.Fatalf("received %q", got)
		}
	}
	if !noted {
		t.Error("the kernel noted no time")
	}
	peer.Close()
	for ended := false; !ended; {
		r.Wait(&unix.Timespec{Sec: 1}, 0, 1)
		r.Completions(func(e *cqe) {
			id, ok := e.Buffer()
			if !ok {
				t.Fatalf("the end of the connection: %+v", *e)
			}
			data, _ := Stamped(r.Buffer(id, int(e.Res)))
			ended = len(data) == 0 && !e.More()
		})
	}
}

// During a pause completions gather: a wait that finds one before it begins still lasts as long as
// its pause, and without a pause it returns.
func TestPause(t *testing.T) {
	runtime.LockOSThread() // a ring belongs to a thread
	defer runtime.UnlockOSThread()
	r, err := newRing(4, 2, 64)
	if err != nil {
		t.Skip(err) // before Linux 6.1, or not permitted
	}
	defer r.Close()
	if !r.canPause {
		t.Skip("before Linux 6.12")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	r.Receive(pair[1], 1)
	r.Submit()
	const pause, timeout = 20 * time.Millisecond, time.Minute
	// waits returns how long the wait takes that receives a word.
	waits := func(pause time.Duration) (took time.Duration) {
		if _, err := unix.Write(pair[0], []byte("word")); err != nil {
			t.Fatal(err)
		}
		for got := false; !got; r.PublishBuffers() {
			limit, began := unix.NsecToTimespec(int64(timeout)), time.Now()
			r.Wait(&limit, uint32(pause.Microseconds()), 2)
			took = time.Since(began)
			r.Completions(func(e *cqe) {
				id, _ := e.Buffer()
				r.GiveBack(id)
				got = true
			})
		}
		return took
	}
	if took := waits(0); took >= timeout {
		t.Errorf("without a pause a wait took %v", took)
	}
	for tries := 1; ; tries++ { // a signal of the Go runtime ends a wait before its time
		if took := waits(pause); took >= timeout {
			t.Errorf("a wait with a pause of %v took %v", pause, took)
		} else if took >= pause {
			return
		} else if tries == 20 {
			t.Fatalf("%d waits with a pause of %v were shorter, the last %v", tries, pause, took)
		}
	}
}
