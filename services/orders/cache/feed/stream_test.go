package feed

import (
	"encoding/binary"
	"testing"

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

// FuzzTake: whatever the server sends, events or an error come of it.
func FuzzTake(f *testing.F) {
	f.Add(keepalive(77, 0), change('B', 1))
	f.Add(change('I', 0, 0, 0, 7, 'N', 0, 1, 't', 0, 0, 0, 1, '5'), change('T', 0, 0, 0, 1, 0, 0, 0, 0, 7))
	f.Add(change('R', 0, 0, 0, 7, 0, 'o', 0, 'd', 0, 1, 1, 'u', 'i', 'd', 0, 0, 0, 0, 20, 0, 0, 0, 0), change('I', 0, 0, 0, 7, 'N', 0, 1, 't', 0, 0, 0, 1, '5'))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		feed := &Feed{c: Config{Table: 7, Key: "uid"}, key: -1, told: 1 << 63}
		for _, data := range [][]byte{first, second} {
			if len(data) > 0 && data[0] == 'k' {
				data[len(data)-1] = 0 // a reply would need a connection
			}
			if feed.told = feed.at; feed.take(data) != nil {
				return
			}
			if len(feed.pending) > 2 {
				t.Fatalf("one message told %+v", feed.pending)
			}
		}
	})
}
