package soak

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"dyno/services/orders/soak/history"
)

var errOrder = errors.New("not an order as it is documented")

// parseOrder parses an order in the documented format: these members in this order, nothing else.
// since reports whether it has stale_since. It does not use the service's code, which is under
// test.
func parseOrder(body []byte) (row history.Row, since bool, err error) {
	s := scanner{rest: body}
	row.UID = s.integer(`{"uid":`)
	row.Account = s.text(`,"account":"`)
	row.Symbol = s.text(`,"symbol":"`)
	row.Side = s.text(`,"side":"`)
	row.Price = s.decimal(`,"price":"`)
	row.Qty = s.decimal(`,"qty":"`)
	row.Filled = s.decimal(`,"filled":"`)
	row.Status = s.text(`,"status":"`)
	row.Version = s.integer(`,"version":`)
	row.Updated = s.moment(`,"updated_at":"`)
	if since = bytes.HasPrefix(s.rest, []byte(",")); since {
		s.moment(`,"stale_since":"`)
	}
	s.literal("}")
	if s.bad || len(bytes.TrimSpace(s.rest)) > 0 {
		return row, since, errOrder
	}
	return row, since, nil
}

// scanner consumes expected text; bad is set at the first difference.
type scanner struct {
	rest []byte
	bad  bool
}

func (s *scanner) literal(text string) {
	if !bytes.HasPrefix(s.rest, []byte(text)) {
		s.bad, s.rest = true, nil
		return
	}
	s.rest = s.rest[len(text):]
}

func (s *scanner) integer(before string) int64 {
	s.literal(before)
	end := 0
	for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(s.rest[:end]), 10, 64)
	s.bad = s.bad || err != nil
	s.rest = s.rest[end:]
	return n
}

// text consumes a string without escapes: a soak writes none that need any.
func (s *scanner) text(before string) string {
	s.literal(before)
	text, rest, ok := bytes.Cut(s.rest, []byte(`"`))
	s.bad = s.bad || !ok || bytes.IndexByte(text, '\\') >= 0
	s.rest = rest
	return string(text)
}

func (s *scanner) decimal(before string) int64 {
	d, ok := parseDecimal(s.text(before))
	s.bad = s.bad || !ok
	return d
}

func (s *scanner) moment(before string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, s.text(before))
	s.bad = s.bad || err != nil
	return at
}

const decimals = 8

// parseDecimal parses digits with at most eight decimals to units of 1e-8.
func parseDecimal(text string) (int64, bool) {
	whole, fraction, dotted := strings.Cut(text, ".")
	if whole == "" || dotted && fraction == "" || len(fraction) > decimals || strings.ContainsAny(text, "+-_") {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+fraction+"00000000"[len(fraction):], 10, 64)
	return n, err == nil
}

// formatDecimal formats a number for parseDecimal.
func formatDecimal(units int64) string {
	digits := strconv.FormatInt(units, 10)
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - decimals
	return strings.TrimRight(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}
