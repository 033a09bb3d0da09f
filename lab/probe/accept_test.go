package probe

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// message is one message of an answer of sock_diag.
func message(kind uint16, body []byte) []byte {
	b := make([]byte, netlinkHeader, netlinkHeader+len(body))
	binary.NativeEndian.PutUint32(b, uint32(netlinkHeader+len(body)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	return append(b, body...)
}

func socketRow(q acceptQueue, more int) []byte {
	b := make([]byte, diagLength+more)
	binary.NativeEndian.PutUint32(b[diagReceive:], uint32(q.length))
	binary.NativeEndian.PutUint32(b[diagSend:], uint32(q.limit))
	binary.NativeEndian.PutUint32(b[diagInode:], uint32(q.inode))
	return b
}

const diagKind = 20 // SOCK_DIAG_BY_FAMILY

func TestParseQueues(t *testing.T) {
	a, b := acceptQueue{11, 5, 128}, acceptQueue{12, 0, 4096}
	packet := slices.Concat(message(diagKind, socketRow(a, 8)), message(diagKind, socketRow(b, 0)))
	if got, done := parseQueues(packet, nil); done || !slices.Equal(got, []acceptQueue{a, b}) {
		t.Errorf("%+v, done %v", got, done)
	}
	for name, end := range map[string][]byte{
		"done":            message(netlinkDone, make([]byte, 4)),
		"an error":        message(netlinkError, make([]byte, 20)),
		"too long":        {0xff, 0xff, 0xff, 0x7f, diagKind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"shorter than it": make([]byte, netlinkHeader),
	} {
		if got, done := parseQueues(slices.Concat(packet, end), nil); !done || len(got) != 2 {
			t.Errorf("%s: %+v, done %v", name, got, done)
		}
	}
	if got, done := parseQueues(message(diagKind, make([]byte, diagLength-1)), nil); done || len(got) != 0 {
		t.Errorf("a row cut short: %+v, done %v", got, done)
	}
}

func FuzzParseQueues(f *testing.F) {
	f.Add(message(diagKind, socketRow(acceptQueue{11, 5, 128}, 3)))
	f.Add(message(netlinkDone, nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		queues, _ := parseQueues(packet, nil)
		if len(queues) > len(packet)/(netlinkHeader+diagLength) {
			t.Errorf("%d sockets in %d bytes", len(queues), len(packet))
		}
		for _, q := range queues {
			if q.length < 0 || q.limit < 0 {
				t.Errorf("%+v", q)
			}
		}
	})
}

func (f *fakeHost) socket(pid, fd, target string) {
	f.t.Helper()
	dir := filepath.Join(f.root, "proc", pid, "fd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, fd)); err != nil {
		f.t.Fatal(err)
	}
}

// The longest queue is that of the target's own sockets, among them one that a child has or that is
// opened later.
func TestAccepting(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 1, 11: 1}
	f.thread(10, 10, 0, "11")
	f.thread(11, 11, 0, "")
	f.socket("10", "3", "socket:[100]")
	f.socket("10", "4", "/dev/null")
	f.socket("11", "3", "socket:[101]")
	f.socket("20", "3", "socket:[200]")
	queues := []acceptQueue{{100, 1, 128}, {200, 99, 128}}
	h := f.host()
	h.queues = func() []acceptQueue { return queues }
	s := newSampler(h, Options{PID: 10})
	at := int64(0)
	after := func(readings int) (got acceptQueue) {
		for range readings {
			got = s.read(at).accept
			at++
		}
		return got
	}
	if got := after(acceptEvery + 1); got != queues[0] {
		t.Errorf("%+v, want the target's %+v", got, queues[0])
	}
	queues = append(queues, acceptQueue{101, 7, 64})
	if got := after(treeEvery + acceptEvery); got != queues[2] {
		t.Errorf("%+v, want the child's %+v", got, queues[2])
	}
	queues = queues[1:2]
	if got := after(acceptEvery); got != (acceptQueue{}) {
		t.Errorf("%+v of sockets that were closed", got)
	}
	if len(s.accepting.own) != 1 {
		t.Errorf("closed sockets are remembered: %v", s.accepting.own)
	}
}
