package notice

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"
)

var anyNotice = rapid.Custom(func(t *rapid.T) *Notice {
	name := rapid.OneOf(rapid.StringN(0, 20, 40), rapid.StringN(120, 140, MaxName))
	n := &Notice{
		Type: name.Draw(t, "type"), Key: name.Draw(t, "key"), ID: name.Draw(t, "id"),
		Payload:  rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload"),
		Accepted: rapid.Int64().Draw(t, "accepted"),
	}
	if rapid.Bool().Draw(t, "traced") {
		c := trace.SpanContextConfig{Remote: true, TraceFlags: trace.TraceFlags(rapid.Byte().Draw(t, "flags"))}
		copy(c.TraceID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "trace"))
		copy(c.SpanID[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "span"))
		at := trace.NewSpanContext(c)
		n.Trace = &at
	}
	return n
})

func sameNotice(a, b *Notice) bool {
	same := a.Type == b.Type && a.Key == b.Key && a.ID == b.ID && bytes.Equal(a.Payload, b.Payload) && a.Accepted == b.Accepted
	if !same || a.Trace == nil || b.Trace == nil {
		return same && a.Trace == b.Trace
	}
	return a.Trace.Equal(*b.Trace)
}

// A record says all of a notice, takes no more room than was made for it, and is the notice's own.
func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := anyNotice.Draw(t, "notice")
		record := n.AppendRecord(nil)
		if len(record) > n.RecordSize() {
			t.Fatalf("%d bytes, and there is room for %d", len(record), n.RecordSize())
		}
		got, err := Decode(7, record)
		if err != nil || got.Seq != 7 || !sameNotice(n, got) {
			t.Fatalf("%+v became %+v, %v", n, got, err)
		}
		accepted, kind, _, err := DecodeHeader(record)
		if err != nil || accepted != n.Accepted || string(kind) != n.Type {
			t.Fatalf("the header has %d, %q, %v of %+v", accepted, kind, err, n)
		}
		clear(record)
		if !sameNotice(n, got) {
			t.Fatal("a notice changes with the record that it was read from")
		}
	})
}

// FuzzRecord: whatever a log holds is refused, or is a notice that a record can be made of again.
func FuzzRecord(f *testing.F) {
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	for _, n := range []*Notice{{}, {ID: "1", Key: "k", Type: "t", Payload: []byte("{}")}, {ID: "1", Key: "k", Type: "t", Trace: &at}} {
		record := n.AppendRecord(nil)
		f.Add(record)
		f.Add(record[:len(record)-1])
		f.Add(append(record[:recordHead:recordHead], binary.AppendUvarint(nil, 1<<63)...))
	}
	f.Add([]byte{RecordVersion, flagTrace, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{RecordVersion + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, record []byte) {
		Partition(record)
		n, err := Decode(1, record)
		if err != nil {
			if !errors.Is(err, errRecord) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := Decode(1, n.AppendRecord(nil))
		if err != nil || !sameNotice(n, again) {
			t.Fatalf("%+v became %+v, %v", n, again, err)
		}
	})
}
