package otlp

import (
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// span holds the fields of a span that are kept.
type span struct {
	trace      [16]byte
	id, parent [8]byte // parent is zero without a parent
	name       string
	start, end int64 // Unix time in ns
	remote     bool  // the parent is in another process
	failed     bool
}

// maxName is the maximum length of a name, in bytes. Names are few and short, except those made
// from the text of a query.
const maxName = 128

// batch is the content of a request.
type batch struct {
	spans     []span
	malformed int64
}

// add adds a span if its IDs and times, as received, are valid.
func (b *batch) add(s span, trace, id, parent []byte, start, end uint64) {
	s.start, s.end = int64(start), int64(end)
	copy(s.trace[:], trace)
	copy(s.id[:], id)
	copy(s.parent[:], parent)
	sound := len(trace) == len(s.trace) && len(id) == len(s.id) && (len(parent) == 0 || len(parent) == len(s.parent)) &&
		s.trace != [16]byte{} && s.id != [8]byte{} && s.start > 0 && s.end >= s.start
	if !sound {
		b.malformed++
		return
	}
	if len(s.name) > maxName {
		s.name = s.name[:maxName]
	}
	s.name = strings.ToValidUTF8(s.name, "?")
	b.spans = append(b.spans, s)
}

// isRemote reports whether the flags of a span say that its parent is in another process. Some
// senders do not set flags.
func isRemote(flags uint32) bool {
	return flags&uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK) != 0
}

const statusError = int64(tracepb.Status_STATUS_CODE_ERROR)

// decoders has a decoder for each media type.
var decoders = map[string]func([]byte, *batch) error{kindProtobuf: decodeProtobuf, kindJSON: decodeJSON}

// decodeProtobuf reads an ExportTraceServiceRequest by its field numbers. The generated code would
// build everything (attributes are most of a span) only to discard it, on a machine that the lab
// shares with the service. It would also allocate 200 bytes for an empty span, which takes two
// bytes in the request.
func decodeProtobuf(body []byte, out *batch) error {
	return nested(body, 1, func(resourceSpans []byte) error {
		return nested(resourceSpans, 2, func(scopeSpans []byte) error {
			return nested(scopeSpans, 2, out.decodeSpan)
		})
	})
}

func (b *batch) decodeSpan(body []byte) error {
	var s span
	var trace, id, parent []byte
	var start, end uint64
	err := fields(body, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			trace = f.bytes
		case f.is(2, protowire.BytesType):
			id = f.bytes
		case f.is(4, protowire.BytesType):
			parent = f.bytes
		case f.is(5, protowire.BytesType):
			s.name = string(f.bytes[:min(len(f.bytes), maxName+1)])
		case f.is(7, protowire.Fixed64Type):
			start = f.number
		case f.is(8, protowire.Fixed64Type):
			end = f.number
		case f.is(15, protowire.BytesType):
			return fields(f.bytes, func(status field) error {
				if status.is(3, protowire.VarintType) {
					s.failed = int32(status.number) == int32(statusError)
				}
				return nil
			})
		case f.is(16, protowire.Fixed32Type):
			s.remote = isRemote(uint32(f.number))
		}
		return nil
	})
	if err == nil {
		b.add(s, trace, id, parent, start, end)
	}
	return err
}

// field is one field of a protobuf message.
type field struct {
	number uint64 // value of a varint or a fixed-length field
	bytes  []byte // value of a length-delimited field

	num  protowire.Number
	kind protowire.Type
}

func (f field) is(num protowire.Number, kind protowire.Type) bool {
	return f.num == num && f.kind == kind
}

// nested calls each with every message in the field num.
func nested(body []byte, num protowire.Number, each func([]byte) error) error {
	return fields(body, func(f field) error {
		if f.is(num, protowire.BytesType) {
			return each(f.bytes)
		}
		return nil
	})
}

// fields calls each with every field of a message.
func fields(body []byte, each func(field) error) error {
	for len(body) > 0 {
		num, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return protowire.ParseError(n)
		}
		body = body[n:]
		f := field{num: num, kind: kind}
		switch kind {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(body)
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(body)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(body)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(body)
			f.number = uint64(v)
		default:
			n = protowire.ConsumeFieldValue(num, kind, body)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		body = body[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}
