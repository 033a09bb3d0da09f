package socket

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	final    = 0x80
	reserved = 0x70
	masked   = 0x80

	opContinuation = 0
	opText         = 1
	opBinary       = 2
	opClose        = 8
	opPing         = 9
	opPong         = 10

	maxControl = 125 // bytes of a control frame
	maxHeader  = 14  // bytes of a client's frame before its payload
)

// Append appends a binary message of two parts as one frame.
func Append(to []byte, first, second []byte) []byte {
	to = appendHeader(to, opBinary, len(first)+len(second))
	return append(append(to, first...), second...)
}

func appendHeader(to []byte, op byte, size int) []byte {
	switch {
	case size < 126:
		return append(to, final|op, byte(size))
	case size < 1<<16:
		return binary.BigEndian.AppendUint16(append(to, final|op, 126), uint16(size))
	}
	return binary.BigEndian.AppendUint64(append(to, final|op, 127), uint64(size))
}

func appendClose(to []byte, code int, reason string) []byte {
	if code == noCode {
		return appendHeader(to, opClose, 0)
	}
	reason = reason[:min(len(reason), maxControl-2)]
	to = appendHeader(to, opClose, 2+len(reason))
	return append(binary.BigEndian.AppendUint16(to, uint16(code)), reason...)
}

// parser finds the messages in what a client sends.
type parser struct {
	message []byte // of fragments so far
	open    bool   // a message has begun and not ended
	text    bool   // it is a text
}

// frame is a client's frame, unmasked.
type frame struct {
	op      byte
	final   bool
	payload []byte
}

func breaks(code int, reason string) error { return &Closed{Code: code, Reason: reason} }

// next finds the first frame of bytes and unmasks it in place. Used 0 means that it is not whole,
// and need is the length of bytes with which it is known to be; they are checked as far as they are
// there.
func (p *parser) next(b []byte) (f frame, used, need int, err error) {
	if len(b) < 2 {
		return f, 0, 2, nil
	}
	f.op, f.final = b[0]&0x0f, b[0]&final != 0
	control := f.op&8 != 0
	size, at := int(b[1]&0x7f), 2
	switch {
	case b[0]&reserved != 0:
		return f, 0, 0, breaks(Protocol, "reserved bits are set")
	case f.op > opBinary && f.op < opClose || f.op > opPong:
		return f, 0, 0, breaks(Protocol, "an unknown opcode")
	case b[1]&masked == 0:
		return f, 0, 0, breaks(Protocol, "a frame without a mask")
	case control && !f.final:
		return f, 0, 0, breaks(Protocol, "a control frame in fragments")
	case control && size > maxControl:
		return f, 0, 0, breaks(Protocol, "a long control frame")
	case !control && (f.op == opContinuation) != p.open:
		return f, 0, 0, breaks(Protocol, "a fragment out of order")
	}
	switch size {
	case 126:
		if at = 4; len(b) < at {
			return f, 0, at, nil
		}
		size = int(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if at = 10; len(b) < at {
			return f, 0, at, nil
		}
		long := binary.BigEndian.Uint64(b[2:])
		if bits.Len64(long) > 63 {
			return f, 0, 0, breaks(Protocol, "a length of 64 bits")
		}
		size = int(min(long, MaxMessage+1))
	}
	if !control && size+len(p.message) > MaxMessage {
		return f, 0, 0, breaks(TooBig, "a message of more than 4096 bytes")
	}
	end := at + 4 + size
	if len(b) < end {
		return f, 0, end, nil
	}
	f.payload = b[at+4 : end]
	unmask(f.payload, [4]byte(b[at:]))
	return f, end, 0, nil
}

// take adds a frame of data to the message; done: it is whole.
func (p *parser) take(f frame) (message []byte, done bool, err error) {
	if f.op == opText {
		p.text = true
	}
	if f.op != opContinuation {
		if f.final && !p.text {
			return f.payload, true, nil
		}
		p.message, p.open = p.message[:0], true
	}
	p.message = append(p.message, f.payload...)
	if !f.final {
		return nil, false, nil
	}
	message, p.open, p.message = p.message, false, nil
	switch {
	case p.text && !utf8.Valid(message):
		return nil, false, breaks(BadText, "a text that is not UTF-8")
	case p.text:
		return nil, false, breaks(Unsupported, "messages are binary")
	}
	return message, true, nil
}

// closing is the error of a client's close frame: what the server's says.
func closing(payload []byte) error {
	if len(payload) == 0 {
		return &Closed{Code: noCode, Client: true}
	}
	code := 0
	if len(payload) >= 2 {
		code = int(binary.BigEndian.Uint16(payload))
	}
	switch {
	case code < 1000, code >= 1004 && code <= 1006, code > 1014 && code < 3000, code >= 5000:
		return breaks(Protocol, "a close with an invalid code")
	case !utf8.Valid(payload[2:]):
		return breaks(BadText, "a close whose reason is not UTF-8")
	}
	return &Closed{Code: code, Client: true}
}

func unmask(b []byte, key [4]byte) {
	word := uint64(binary.LittleEndian.Uint32(key[:]))
	word |= word << 32
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^word)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= key[i&3]
	}
}
