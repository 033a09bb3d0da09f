package response

import (
	"bytes"

	"dyno/services/ledger/xrpl"
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
		return Errorf(Malformed, "reading JSON: syntax error at byte %d", s.at)
	}
	if s.space(); s.at < len(answer) {
		return Errorf(Malformed, "reading JSON: data after the answer")
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
