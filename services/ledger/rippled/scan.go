package rippled

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"

	"dyno/parts/xrpl"
)

// scanDecoder passes over the bytes once, checks that they are JSON, and keeps only the needed
// fields. It allocates nothing per transaction once an Answer has grown.
//
// Duplicate keys: the last one wins, as in encoding/json. An object's fields are therefore reset
// when its key appears again, and a field's error is kept until all is read.
type scanDecoder struct{}

func (scanDecoder) Decode(answer []byte, into *Answer) error {
	if err := into.reset(answer); err != nil {
		return err
	}
	s := scanner{bytes: answer, into: into}
	s.space()
	if !s.nested(atTop, &s.reply.top, 1) {
		return errorf(Malformed, "reading JSON: syntax error at byte %d", s.at)
	}
	if s.space(); s.at < len(answer) {
		return errorf(Malformed, "reading JSON: data after the answer")
	}
	return s.reply.judge(into)
}

type level uint8

const (
	elsewhere level = iota // an object that is skipped
	atTop
	inResult
	inLedger
	inTransaction
)

// maxDepth is the limit of nesting, the same as in encoding/json.
const maxDepth = 10_000

// scanner reads an answer. Its methods start at a byte that is not space, return whether they read
// valid JSON, and leave at behind it.
type scanner struct {
	bytes []byte
	at    int
	reply reply
	into  *Answer
	tx    scanned
}

type scanned struct {
	object               object
	blob, meta, metaBlob hexField
}

type hexField struct {
	said, good bool
	bytes      []byte
}

func (s *scanner) space() {
	for s.at < len(s.bytes) {
		switch s.bytes[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end (no value begins with 0).
func (s *scanner) peek() byte {
	if s.at < len(s.bytes) {
		return s.bytes[s.at]
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// nested reads a value that should be an object of a level, and sets is to its state.
func (s *scanner) nested(l level, is *object, depth int) bool {
	switch s.peek() {
	case '{':
		*is = present
		return s.object(l, depth)
	case 'n':
		*is = absent
	default:
		*is = wrong
	}
	return s.skip(depth)
}

func (s *scanner) object(l level, depth int) bool {
	if depth > maxDepth {
		return false
	}
	s.at++
	if s.space(); s.take('}') {
		return true
	}
	for {
		key, plain, ok := s.text()
		if !ok {
			return false
		}
		s.space()
		if !s.take(':') {
			return false
		}
		s.space()
		if l != elsewhere && !plain {
			key = unquoted(key)
		}
		if !s.field(l, key, depth+1) {
			return false
		}
		s.space()
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) field(l level, key []byte, depth int) bool {
	switch l {
	case atTop:
		return s.topField(string(key), depth)
	case inResult:
		return s.resultField(string(key), depth)
	case inLedger:
		return s.ledgerField(string(key), depth)
	case inTransaction:
		return s.transactionField(string(key), depth)
	}
	return s.skip(depth)
}

func (s *scanner) topField(key string, depth int) bool {
	if key != "result" {
		return s.wordField(0, key, depth)
	}
	s.reply = reply{
		top:     s.reply.top,
		fault:   [2]fault{s.reply.fault[0]},
		warning: [2]string{s.reply.warning[0]},
	}
	s.forgetLedger()
	return s.nested(inResult, &s.reply.result, depth)
}

func (s *scanner) resultField(key string, depth int) bool {
	r := &s.reply
	switch key {
	case "ledger":
		s.forgetLedger()
		return s.nested(inLedger, &r.ledger, depth)
	case "ledger_index":
		return s.word(&r.index[0], depth)
	case "ledger_hash":
		return s.word(&r.hash[0], depth)
	case "validated":
		r.validated = s.peek() == 't'
		return s.skip(depth)
	}
	return s.wordField(1, key, depth)
}

// wordField reads a field that may be at the top and in the result.
func (s *scanner) wordField(at int, key string, depth int) bool {
	r := &s.reply
	switch key {
	case "error":
		return s.word(&r.fault[at].name, depth)
	case "error_code":
		return s.word(&r.fault[at].code, depth)
	case "error_message":
		return s.word(&r.fault[at].message, depth)
	case "warning":
		return s.word(&r.warning[at], depth)
	}
	return s.skip(depth)
}

func (s *scanner) ledgerField(key string, depth int) bool {
	r := &s.reply
	switch key {
	case "ledger_data":
		var f hexField
		ok := s.hex(&f, depth)
		r.header, s.into.Header, r.badHeader = true, f.bytes, !f.good
		return ok
	case "transactions":
		return s.transactions(depth)
	case "ledger_index":
		return s.word(&r.index[1], depth)
	case "ledger_hash":
		return s.word(&r.hash[1], depth)
	case "closed":
		r.open = s.peek() != 't'
	}
	return s.skip(depth)
}

// forgetLedger resets the fields of an earlier ledger in the same answer.
func (s *scanner) forgetLedger() {
	r := &s.reply
	r.ledger, r.open, r.header, r.badHeader, r.badList = absent, false, false, false, false
	r.index[1], r.hash[1] = "", ""
	s.into.Header, s.into.Transactions = nil, s.into.Transactions[:0]
}

func (s *scanner) transactions(depth int) bool {
	s.into.Transactions = s.into.Transactions[:0]
	if c := s.peek(); c != '[' {
		s.reply.badList = c != 'n'
		return s.skip(depth)
	}
	s.reply.badList = false
	return s.list(depth, s.transaction)
}

func (s *scanner) list(depth int, item func(depth int) bool) bool {
	if depth > maxDepth {
		return false
	}
	s.at++
	if s.space(); s.take(']') {
		return true
	}
	for {
		if !item(depth + 1) {
			return false
		}
		s.space()
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) transaction(depth int) bool {
	s.tx = scanned{}
	if !s.nested(inTransaction, &s.tx.object, depth) {
		return false
	}
	meta := s.tx.meta
	if !meta.said {
		meta = s.tx.metaBlob
	}
	if !s.tx.blob.good || !meta.good {
		s.reply.badList = true
		return true
	}
	s.into.Transactions = append(s.into.Transactions, xrpl.Transaction{Blob: s.tx.blob.bytes, Meta: meta.bytes})
	return true
}

func (s *scanner) transactionField(key string, depth int) bool {
	switch key {
	case "tx_blob":
		return s.hex(&s.tx.blob, depth)
	case "meta":
		return s.hex(&s.tx.meta, depth)
	case "meta_blob":
		return s.hex(&s.tx.metaBlob, depth)
	}
	return s.skip(depth)
}

// hex reads a string of hex digits straight into the answer's memory.
func (s *scanner) hex(f *hexField, depth int) bool {
	*f = hexField{said: true}
	if s.peek() != '"' {
		return s.skip(depth)
	}
	rest := s.bytes[s.at+1:]
	if n := bytes.IndexByte(rest, '"'); n >= 0 {
		if f.bytes, f.good = s.into.unhex(rest[:n]); f.good { // so the string has no escapes
			s.at += n + 2
			return true
		}
	}
	raw, plain, ok := s.text()
	if ok && !plain {
		f.bytes, f.good = s.into.unhex(unquoted(raw))
	}
	return ok
}

// word reads a string or the digits of a number; it sets "" for any other value.
func (s *scanner) word(into *string, depth int) bool {
	*into = ""
	switch c := s.peek(); {
	case c == '"':
		raw, plain, ok := s.text()
		if ok && !plain {
			raw = unquoted(raw)
		}
		*into = string(raw)
		return ok
	case c == '-' || '0' <= c && c <= '9':
		from := s.at
		ok := s.number()
		*into = string(s.bytes[from:s.at])
		return ok
	}
	return s.skip(depth)
}

func (s *scanner) skip(depth int) bool {
	switch c := s.peek(); c {
	case '{':
		return s.object(elsewhere, depth)
	case '[':
		return s.list(depth, s.skip)
	case '"':
		_, _, ok := s.text()
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.bytes[s.at:], []byte(word)) {
		return false
	}
	s.at += len(word)
	return true
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	from := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

// text reads a string, and returns the bytes between its quotes; plain: they are the string.
func (s *scanner) text() (raw []byte, plain, ok bool) {
	if !s.take('"') {
		return nil, false, false
	}
	from, plain, ascii := s.at, true, true
	for s.at < len(s.bytes) {
		for s.at+8 <= len(s.bytes) && ordinary(binary.LittleEndian.Uint64(s.bytes[s.at:])) {
			s.at += 8
		}
		if s.at == len(s.bytes) {
			break
		}
		switch c := s.bytes[s.at]; {
		case c == '"':
			raw = s.bytes[from:s.at]
			s.at++
			return raw, plain && (ascii || utf8.Valid(raw)), true
		case c == '\\':
			plain = false
			if !s.escape() {
				return nil, false, false
			}
			continue
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.at++
	}
	return nil, false, false
}

// ordinary says of eight bytes in one step that none is a quote, a backslash, a control character
// or not ASCII. False negatives are possible, false positives are not.
func ordinary(eight uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	below := func(x, n uint64) uint64 { return (x - n*each) & ^x } // its high bits: bytes below n
	return (eight|below(eight, ' ')|below(eight^'"'*each, 1)|below(eight^'\\'*each, 1))&high == 0
}

func (s *scanner) escape() bool {
	s.at++
	c := s.peek()
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			c := s.peek()
			lower := c | ' '
			if (c < '0' || c > '9') && (lower < 'a' || lower > 'f') {
				return false
			}
			s.at++
		}
		return true
	}
	return false
}

// unquoted decodes a string that is not plain. No server sends one here, so it may be slow.
func unquoted(raw []byte) []byte {
	var text string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if json.Unmarshal(quoted, &text) != nil { // text has excluded it
		return nil
	}
	return []byte(text)
}
