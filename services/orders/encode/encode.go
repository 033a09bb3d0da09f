// Package encode encodes the gateway's answers (orders, pages, receipts and errors) as JSON or
// msgpack, compresses them with zstd, and negotiates the format with the client's Accept headers.
//
// The JSON encoders write the same bytes: their costs can be compared, and clients see no
// difference. A market order and a payment have the price "0".
//
// It is not for parsing requests, and sets no headers. It starts no goroutines; every Encoder is
// safe for concurrent use.
package encode

import (
	"time"

	"dyno/parts/refusal"
	"dyno/services/orders/order"
)

// Encoder appends answers to dst. Each invalid UTF-8 byte in a text becomes U+FFFD.
type Encoder interface {
	// Order appends one order. An answer with staleSince is marked as possibly outdated.
	Order(dst []byte, o *order.Order, staleSince time.Time) []byte

	// Page appends a part of a list. The cursor leads to the next page; "" on the last.
	Page(dst []byte, p *order.Page, cursor string) []byte

	// Receipt appends the result of a submission.
	Receipt(dst []byte, r *order.Receipt, clientOrderID string) []byte

	// Error appends an error text, with the remedy, and the wrong field, if it is one.
	Error(dst []byte, text, field string) []byte

	// ContentType returns the answers' media type.
	ContentType() string
}

var jsons = map[string]Encoder{
	"std":    Documents(appendStd),
	"append": appender{},
}

// JSON returns an encoder by name: "std" (encoding/json) or "append" (no reflection, no
// allocation).
func JSON(impl string) (Encoder, error) {
	return refusal.Pick("JSON encoder", jsons, impl)
}

// Documents returns an encoder of JSON over a library. It is given structs of valid strings,
// integers and booleans.
func Documents(library func(dst []byte, document any) []byte) Encoder {
	return documents{"application/json", library}
}

// Msgpack returns the msgpack encoder: members as in JSON, numbers in the shortest form.
func Msgpack() Encoder { return documents{"application/msgpack", appendMsgpack} }

// timestamp is RFC 3339 in UTC with six decimals, the precision of PostgreSQL.
const timestamp = "2006-01-02T15:04:05.000000Z"
