package feed

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"dyno/services/orders/cache/pgoutput"
)

func keepalive(end uint64, reply byte) []byte {
	data := binary.BigEndian.AppendUint64([]byte{'k'}, end)
	data = binary.BigEndian.AppendUint64(data, 1) // when
	return append(data, reply)
}

func change(data ...byte) []byte { return append(append([]byte{'w'}, make([]byte, 24)...), data...) }

func TestParseStream(t *testing.T) {
	if m, err := parseStream(keepalive(77, 1)); err != nil || m.end != pgoutput.LSN(77) || !m.reply || m.change != nil {
		t.Errorf("%+v %v", m, err)
	}
	if m, err := parseStream(keepalive(77, 0)); err != nil || m.reply {
		t.Errorf("%+v %v", m, err)
	}
	if m, err := parseStream(change('B', 1)); err != nil || string(m.change) != "B\x01" {
		t.Errorf("%+v %v", m, err)
	}
	for _, data := range [][]byte{nil, {'w'}, change(), keepalive(1, 0)[:17], append(keepalive(1, 0), 0), {'s', 1}} {
		if m, err := parseStream(data); err == nil {
			t.Errorf("%v: %+v", data, m)
		}
	}
}

// deaf is a connection that takes what is written.
type deaf struct{ net.Conn }

func (deaf) Write(b []byte) (int, error)      { return len(b), nil }
func (deaf) SetWriteDeadline(time.Time) error { return nil }

// FuzzTake: whatever the server sends, events or an error come of it.
func FuzzTake(f *testing.F) {
	f.Add(keepalive(77, 0), change('B', 1))
	f.Add(change('I', 0, 0, 0, 7, 'N', 0, 1, 't', 0, 0, 0, 1, '5'), change('T', 0, 0, 0, 1, 0, 0, 0, 0, 7))
	f.Add(change('R', 0, 0, 0, 7, 0, 'o', 0, 'd', 0, 1, 1, 'u', 'i', 'd', 0, 0, 0, 0, 20, 0, 0, 0, 0), change('I', 0, 0, 0, 7, 'N', 0, 1, 't', 0, 0, 0, 1, '5'))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		feed := &Feed{c: Config{Table: 7, Key: "uid"}, conn: deaf{}, key: -1}
		for _, data := range [][]byte{first, second} {
			if feed.take(data) != nil {
				return
			}
			if len(feed.pending) > 2 {
				t.Fatalf("one message told %+v", feed.pending)
			}
		}
	})
}
