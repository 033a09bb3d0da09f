// Package encode writes the gateway's answers: orders, pages of orders, receipts and errors, as JSON or msgpack,
// and compresses them with zstd; and it chooses among these by what a client accepts.
//
// The three JSON encoders write the same bytes: what each is worth can be measured, and none is noticed by a
// client. An order at the market's price and a payment have the price "0".
//
// It is not for reading requests, and sets no headers. It starts no goroutines; every Encoder may be used by many
// at once.
package encode

import (
	"time"

	"dyno/parts/refusal"
	"dyno/services/orders/order"
)

// Encoder appends answers to dst. Invalid UTF-8 in a text becomes U+FFFD, a byte each.
type Encoder interface {
	// Order is one order. Unless staleSince is zero, the answer is marked: it may have changed since then.
	Order(dst []byte, o *order.Order, staleSince time.Time) []byte

	// Page is a part of a list. The cursor leads to the next; "" on the last.
	Page(dst []byte, p *order.Page, cursor string) []byte

	// Receipt says what became of a submission.
	Receipt(dst []byte, r *order.Receipt, clientOrderID string) []byte

	// Error is what is wrong and how to mend it, and the field to blame, if it is one.
	Error(dst []byte, text, field string) []byte

	// ContentType is the answers' media type.
	ContentType() string
}

var jsons = map[string]Encoder{
	"std":    documents{"application/json", appendStd},
	"v2":     documents{"application/json", appendV2},
	"append": appender{},
}

// JSON gives an encoder by name: "std" (encoding/json), "v2" (its successor), or "append" (no reflection, no
// allocation).
func JSON(impl string) (Encoder, error) {
	return refusal.Pick("JSON encoder", jsons, impl)
}

// Msgpack gives the encoder for msgpack: the same members in the same order as in JSON, numbers in the shortest
// form.
func Msgpack() Encoder { return documents{"application/msgpack", appendMsgpack} }

// timestamp is RFC 3339 in UTC with the six decimals that PostgreSQL keeps.
const timestamp = "2006-01-02T15:04:05.000000Z"
