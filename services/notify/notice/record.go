package notice

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.opentelemetry.io/otel/trace"
)

// A notice's record in the log:
//
//	version  1 byte, 1
//	flags    1 byte; bit 0: there is a trace
//	accepted 8 bytes, unix time in ns, little-endian
//	trace    16 bytes of trace id, 8 of span id, 1 of flags; where there is one
//	type, key, id: the length as a uvarint, the text
//	payload  the rest
const (
	RecordVersion = 1

	flagTrace  = 1
	recordHead = 1 + 1 + 8
	traceLen   = 16 + 8 + 1
)

var errRecord = errors.New("the record is no notice")

// AppendRecord encodes a notice.
func (n *Notice) AppendRecord(out []byte) []byte {
	flags := byte(0)
	if n.Trace != nil {
		flags |= flagTrace
	}
	out = append(out, RecordVersion, flags)
	out = binary.LittleEndian.AppendUint64(out, uint64(n.Accepted))
	if n.Trace != nil {
		t, s := n.Trace.TraceID(), n.Trace.SpanID()
		out = append(append(append(out, t[:]...), s[:]...), byte(n.Trace.TraceFlags()))
	}
	for _, text := range []string{n.Type, n.Key, n.ID} {
		out = binary.AppendUvarint(out, uint64(len(text)))
		out = append(out, text...)
	}
	return append(out, n.Payload...)
}

// RecordSize is an upper bound of what AppendRecord appends, in bytes.
func (n *Notice) RecordSize() int { return n.Size() + recordHead + traceLen + 3*2 } // names are shorter than 1<<14

// DecodeHeader reads when a record's notice was accepted, its type, and where the rest begins. The
// type is a part of the record.
func DecodeHeader(record []byte) (accepted int64, kind, rest []byte, err error) {
	if len(record) < recordHead || record[0] != RecordVersion {
		return 0, nil, nil, fmt.Errorf("%w: a newer notifyd may have written it", errRecord)
	}
	at := recordHead
	if record[1]&flagTrace != 0 {
		at += traceLen
	}
	if at > len(record) {
		return 0, nil, nil, errRecord
	}
	kind, rest, ok := cutText(record[at:])
	if !ok {
		return 0, nil, nil, errRecord
	}
	return int64(binary.LittleEndian.Uint64(record[2:])), kind, rest, nil
}

// Decode reads a notice. It keeps nothing of the record.
func Decode(seq uint64, record []byte) (*Notice, error) {
	accepted, kind, rest, err := DecodeHeader(record)
	if err != nil {
		return nil, err
	}
	key, rest, ok := cutText(rest)
	id, payload, ok2 := cutText(rest)
	if !ok || !ok2 {
		return nil, errRecord
	}
	n := &Notice{Seq: seq, Accepted: accepted, Type: string(kind), Key: string(key), ID: string(id), Payload: append([]byte{}, payload...)}
	if record[1]&flagTrace != 0 {
		at := record[recordHead:]
		c := trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID(at[:16]), SpanID: trace.SpanID(at[16:24]), TraceFlags: trace.TraceFlags(at[24]), Remote: true,
		})
		n.Trace = &c
	}
	return n, nil
}

// Partition spreads records by their notices' keys.
func Partition(record []byte) uint32 {
	if _, _, rest, err := DecodeHeader(record); err == nil {
		if key, _, ok := cutText(rest); ok {
			return crc32.ChecksumIEEE(key)
		}
	}
	return 0
}

func cutText(data []byte) (text, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(length)], data[n+int(length):], true
}
