package message

import (
	"bytes"
	"strconv"
	"time"

	"dyno/services/orders/order"
)

const (
	soh = 0x01 // ends every field

	maxFields  = 1000 // in a message
	maxValue   = 1024 // bytes of a value that is no data
	maxTag     = 65535
	trailerLen = len("10=000\x01")
)

// fixReader goes over the fields of one message.
type fixReader struct {
	rest   []byte // of the body, until the trailer
	fields int
	seen   [(maxTag + 64) / 64]uint64 // tags, a bit each
	groups [len(fixGroups)]fixEntries
	body   bool // a field that is no header's has been read
	order  fixOrder
}

// fixOrder is what is taken from a message.
type fixOrder struct {
	clientOrderID, account, symbol, side, kind, price, qty string
}

// parseFIX reads a NewOrderSingle of FIX 4.4: standard header, body, trailer. Instructions that it has no use for
// are kept with the message.
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

// unframe checks BeginString, BodyLength and CheckSum and returns what lies between: MsgType and what follows.
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

// number reads digits, at most as much as most.
func number(text []byte, most int) (int, bool) {
	if len(text) == 0 || len(text) > 9 {
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

// field reads the next field.
func (r *fixReader) field() error {
	if r.fields++; r.fields > maxFields {
		return refuse("more than %d fields; leave out what the order does not need", maxFields)
	}
	text, rest, ended := bytes.Cut(r.rest, []byte{soh})
	if !ended {
		return refuse("the last field before CheckSum (10) is not ended by SOH")
	}
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

// checkText: outside data, FIX is printable ASCII.
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

// data reads the field that must follow its length, which may hold any bytes, SOH too.
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

// place checks that a field may stand where it does.
func (r *fixReader) place(tag int, value []byte) error {
	if r.fields == 1 && tag != 35 {
		return blame(fixName(35), "missing; it is the third field")
	}
	role := roleOf(tag)
	switch {
	case tag == 8, tag == 9, tag == 10:
		return blame(fixName(tag), "stands in the middle of the message; it frames it")
	case !role.header:
		r.body = true
	case r.body:
		return blame(fixName(tag), "belongs to the header; move it before the fields of the order")
	}
	again := r.has(tag)
	r.seen[tag/64] |= 1 << (tag % 64)
	if again && !role.repeats {
		return blame(fixName(tag), "given twice; leave one out")
	}
	if role.group == 0 {
		return nil
	}
	return r.groups[role.group-1].enter(&fixGroups[role.group-1], tag, value)
}

func (r *fixReader) has(tag int) bool { return r.seen[tag/64]&(1<<(tag%64)) != 0 }

// take checks and keeps the fields that matter.
func (r *fixReader) take(tag int, value []byte) error {
	o := &r.order
	switch tag {
	case 35:
		if string(value) != "D" {
			return blame(fixName(tag), "%.40q is not D; only NewOrderSingle is taken", value)
		}
	case 34:
		if n, ok := number(value, 999_999_999); !ok || n == 0 {
			return blame(fixName(tag), "%.40q is no number above 0", value)
		}
	case 43, 97:
		if string(value) != "Y" && string(value) != "N" {
			return blame(fixName(tag), "%.40q is neither Y nor N", value)
		}
	case 52, 60, 122:
		if !utcTimestamp(string(value)) {
			return blame(fixName(tag), "%.40q is no UTC time such as 20260102-15:04:05.678", value)
		}
	case 59:
		switch string(value) {
		case "0", "1", "3", "4":
		default:
			return blame(fixName(tag), "%.40q is none of 0 (day), 1 (good till cancel), 3 (immediate or cancel), 4 (fill or kill)", value)
		}
	case 11:
		o.clientOrderID = string(value)
	case 1:
		o.account = string(value)
	case 55:
		o.symbol = string(value)
	case 54:
		o.side = string(value)
	case 40:
		o.kind = string(value)
	case 44:
		o.price = string(value)
	case 38:
		o.qty = string(value)
	}
	return nil
}

// utcTimestamp checks YYYYMMDD-HH:MM:SS with or without 3, 6 or 9 decimals. A leap second is one.
func utcTimestamp(text string) bool {
	const layout = "20060102-15:04:05"
	if len(text) < len(layout) || text[11] != ':' {
		return false
	}
	whole, fraction := text[:len(layout)], text[len(layout):]
	switch len(fraction) {
	case 0:
	case 4, 7, 10:
		if _, ok := number([]byte(fraction[1:]), 999_999_999); !ok || fraction[0] != '.' {
			return false
		}
	default:
		return false
	}
	if whole[15:] == "60" {
		whole = whole[:15] + "59"
	}
	_, err := time.Parse(layout, whole)
	return err == nil
}

// complete checks that nothing is missing.
func (r *fixReader) complete() error {
	for _, tag := range [...]int{35, 49, 56, 34, 52, 11, 55, 54, 60, 38, 40} {
		if !r.has(tag) {
			return blame(fixName(tag), "missing; a NewOrderSingle needs one")
		}
	}
	for i, g := range r.groups {
		if g.says != g.has {
			return blame(fixName(fixGroups[i].count), "says %d, there are %d; each begins with %s", g.says, g.has, fixName(fixGroups[i].first))
		}
	}
	return nil
}

func (o *fixOrder) submission() (s order.Submission, err error) {
	s = order.Submission{Kind: order.FIX, ClientOrderID: o.clientOrderID, Account: o.account, Symbol: o.symbol}
	if err := checkClientOrderID(fixName(11), s.ClientOrderID); err != nil {
		return s, err
	}
	if s.Account != "" {
		if err := checkAccount(fixName(1), s.Account); err != nil {
			return s, err
		}
	}
	if err := checkSymbol(fixName(55), s.Symbol); err != nil {
		return s, err
	}
	switch o.side {
	case "1":
		s.Side = order.Buy
	case "2":
		s.Side = order.Sell
	default:
		return s, blame(fixName(54), "%.40q is neither 1 (buy) nor 2 (sell)", o.side)
	}
	if s.Qty, err = positive(fixName(38), o.qty); err != nil {
		return s, err
	}
	s.Price, err = o.limit()
	return s, err
}

func (o *fixOrder) limit() (order.Decimal, error) {
	switch {
	case o.kind != "1" && o.kind != "2":
		return 0, blame(fixName(40), "%.40q is neither 1 (market) nor 2 (limit)", o.kind)
	case o.kind == "1" && o.price != "":
		return 0, blame(fixName(44), "%v", errMarketPrice)
	case o.kind == "1":
		return 0, nil
	case o.price == "":
		return 0, blame(fixName(44), "missing; a limit order (40=2) needs one")
	}
	return positive(fixName(44), o.price)
}
