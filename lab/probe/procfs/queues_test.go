package procfs

import (
	"encoding/binary"
	"slices"
	"testing"
)

// message returns one message of an answer of sock_diag.
func message(kind uint16, body []byte) []byte {
	b := make([]byte, netlinkHeader, netlinkHeader+len(body))
	binary.NativeEndian.PutUint32(b, uint32(netlinkHeader+len(body)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	return append(b, body...)
}

func socketRow(q Queue, more int) []byte {
	b := make([]byte, diagLength+more)
	binary.NativeEndian.PutUint32(b[diagReceive:], uint32(q.Length))
	binary.NativeEndian.PutUint32(b[diagSend:], uint32(q.Limit))
	binary.NativeEndian.PutUint32(b[diagInode:], uint32(q.Inode))
	return b
}

const diagKind = 20 // SOCK_DIAG_BY_FAMILY

func TestParseQueues(t *testing.T) {
	a, b := Queue{11, 5, 128}, Queue{12, 0, 4096}
	packet := slices.Concat(message(diagKind, socketRow(a, 8)), message(diagKind, socketRow(b, 0)))
	if got, done := parseQueues(packet, nil); done || !slices.Equal(got, []Queue{a, b}) {
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
	f.Add(message(diagKind, socketRow(Queue{11, 5, 128}, 3)))
	f.Add(message(netlinkDone, nil))
	f.Fuzz(func(t *testing.T, packet []byte) {
		queues, _ := parseQueues(packet, nil)
		if len(queues) > len(packet)/(netlinkHeader+diagLength) {
			t.Errorf("%d sockets in %d bytes", len(queues), len(packet))
		}
		for _, q := range queues {
			if q.Length < 0 || q.Limit < 0 {
				t.Errorf("%+v", q)
			}
		}
	})
}
