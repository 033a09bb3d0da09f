package message

import (
	"bytes"
	"strconv"

	"dyno/services/orders/order"
)

const (
	soh = 0x01 // ends every field

	maxFields  = 1000 // in a message
	maxValue   = 1024 // bytes of a value other than data
	maxTag     = 65535
	trailerLen = len("10=000\x01")
)

// fixReader parses the fields of one message.
type fixReader struct {
	rest   []byte // unread part of the body, before the trailer
	fields int
	seen   [(maxTag + 64) / 64]uint64 // tags, one bit each: 8 KB on the stack
	groups [len(fixGroups)]fixEntries
	counts fixCounts
	began  bool // the body has begun: a non-header field was read
	order  fixOrder
}

// parseFIX parses a FIX 4.4 NewOrderSingle: standard header, body, trailer. Instructions that it
// does not use are kept with the message.
func parseFIX(body []byte) (order.Submission, error) {
	inner, err := unframe(body)
	if err != nil {
		return order.Submission{}, err
	}
	r := fixReader{rest: inner}
	for len(r.rest) > 0 {
		if err := r.field(); err != nil {
			return order.Submission{}, err
		}
	}
	if err := r.complete(); err != nil {
		return order.Submission{}, err
	}
	return r.order.submission()
}

// unframe checks BeginString, BodyLength and CheckSum and returns the fields between them.
func unframe(body []byte) ([]byte, error) {
	const begin = "8=FIX.4.4\x01"
	switch {
	case bytes.HasPrefix(body, []byte("8=FIX.4.4|")):
		return nil, blame(fixName(8), "fields end with the byte 0x01 (SOH), not with |")
	case !bytes.HasPrefix(body, []byte("8=")):
		return nil, blame(fixName(8), "missing; a message begins with 8=FIX.4.4")
	case !bytes.HasPrefix(body, []byte(begin)):
		version, _, _ := bytes.Cut(body[2:], []byte{soh})
		return nil, blame(fixName(8), "%.40q is not FIX.4.4; no other version is spoken here", version)
	}
	length, rest, ended := bytes.Cut(body[len(begin):], []byte{soh})
	if !ended || !bytes.HasPrefix(length, []byte("9=")) {
		return nil, blame(fixName(9), "missing; it is the second field")
	}
	n, ok := number(length[2:], MaxSize)
	if !ok {
		return nil, blame(fixName(9), "%.40q is no number of bytes", length[2:])
	}
	if n+trailerLen > len(rest) || !bytes.HasPrefix(rest[n:], []byte("10=")) || n > 0 && rest[n-1] != soh {
		return nil, wrongLength(n, rest)
	}
	if more := len(rest) - n - trailerLen; more > 0 {
		return nil, refuse("%d bytes after CheckSum (10); send one order a message", more)
	}
	trailer := rest[n:]
	want, ok := number(trailer[3:6], 255)
	if !ok || trailer[6] != soh {
		return nil, blame(fixName(10), "%.40q is no three digits and SOH", trailer[3:])
	}
	if sum := checkSum(body[:len(body)-trailerLen]); int(sum) != want {
		return nil, blame(fixName(10), "the message says %03d, its bytes add up to %03d; was it changed on the way?", want, sum)
	}
	return rest[:n], nil
}

func wrongLength(says int, rest []byte) error {
	if at := len(rest) - trailerLen; at >= 0 && bytes.HasPrefix(rest[at:], []byte("10=")) && rest[len(rest)-1] == soh {
		return blame(fixName(9), "the message says %d bytes, there are %d; count from after this field up to 10=", says, at)
	}
	return blame(fixName(9), "the message says %d bytes, but CheckSum (10) is not there; was it cut off, or miscounted?", says)
}

func checkSum(text []byte) (sum byte) {
	for _, c := range text {
		sum += c
	}
	return sum
}

// number parses digits, up to a maximum.
func number(text []byte, most int) (int, bool) {
	if len(text) == 0 || len(text) > 18 { // more digits may not fit into 64 bits
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n <= most
}

// field parses the next field.
func (r *fixReader) field() error {
	if r.fields++; r.fields > maxFields {
		return refuse("more than %d fields; leave out what the order does not need", maxFields)
	}
	text, rest, _ := bytes.Cut(r.rest, []byte{soh}) // unframe has checked that the last one ends with soh
	digits, value, equals := bytes.Cut(text, []byte("="))
	tag, ok := number(digits, maxTag)
	if !equals || !ok || tag == 0 || digits[0] == '0' {
		return refuse("field %d, %.40q, is no tag=value with a tag from 1 to %d", r.fields+2, text, maxTag)
	}
	if err := r.place(tag, value); err != nil {
		return err
	}
	r.rest = rest
	role := roleOf(tag)
	if role.data != 0 {
		return r.data(tag, role.data, value)
	}
	if role.length != 0 {
		return blame(fixName(tag), "its length is missing; %s comes right before it", fixName(role.length))
	}
	if err := checkText(tag, value); err != nil {
		return err
	}
	return r.take(tag, value)
}

// checkText checks a value: outside data fields, FIX is printable ASCII.
func checkText(tag int, value []byte) error {
	if len(value) == 0 {
		return blame(fixName(tag), "has no value; leave the field out")
	}
	if len(value) > maxValue {
		return blame(fixName(tag), "has %d bytes; the most is %d", len(value), maxValue)
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return blame(fixName(tag), "has the byte 0x%02x; only printable ASCII is allowed, and other text in the Encoded fields", c)
		}
	}
	return nil
}

// data parses the field after its length, which may contain any bytes, including SOH.
func (r *fixReader) data(lengthTag, tag int, length []byte) error {
	n, ok := number(length, MaxSize)
	if !ok || n == 0 {
		return blame(fixName(lengthTag), "%.40q is no number of bytes above 0", length)
	}
	prefix := strconv.Itoa(tag) + "="
	if !bytes.HasPrefix(r.rest, []byte(prefix)) {
		return blame(fixName(lengthTag), "%s does not follow it", fixName(tag))
	}
	rest := r.rest[len(prefix):]
	if len(rest) <= n || rest[n] != soh {
		return blame(fixName(tag), "does not end after the %d bytes that %s says", n, fixName(lengthTag))
	}
	r.fields++
	if err := r.place(tag, rest[:n]); err != nil {
		return err
	}
	r.rest = rest[n+1:]
	return nil
}

// place checks that a field is allowed at its position.
func (r *fixReader) place(tag int, value []byte) error {
	if r.fields == 1 && tag != 35 {
		return blame(fixName(35), "missing; it is the third field")
	}
	role := roleOf(tag)
	switch {
	case tag == 8, tag == 9, tag == 10:
		return blame(fixName(tag), "stands in the middle of the message; it frames it")
	case !role.header:
		r.began = true
	case r.began:
		return blame(fixName(tag), "belongs to the header; move it before the fields of the order")
	}
	again := r.has(tag)
	r.seen[tag/64] |= 1 << (tag % 64)
	if again && !role.repeats && !r.counts.allow(tag) {
		return r.counts.twice(tag)
	}
	r.counts.note(tag, value)
	if role.group == 0 {
		return nil
	}
	return r.groups[role.group-1].enter(&fixGroups[role.group-1], tag, value)
}

func (r *fixReader) has(tag int) bool { return r.seen[tag/64]&(1<<(tag%64)) != 0 }
