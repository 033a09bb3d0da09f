package encode

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"

	"dyno/services/orders/order"
)

// The structure of answers. Of the two options that omit a member, encoding/json and json/v2
// (Documents) both support the second, and msgpack's the first.

type orderDocument struct {
	UID        int64  `json:"uid"`
	Account    string `json:"account"`
	Symbol     string `json:"symbol"`
	Side       string `json:"side"`
	Price      string `json:"price"`
	Qty        string `json:"qty"`
	Filled     string `json:"filled"`
	Status     string `json:"status"`
	Version    int64  `json:"version"`
	UpdatedAt  string `json:"updated_at"`
	StaleSince string `json:"stale_since,omitempty,omitzero"`
}

type pageDocument struct {
	Orders []orderDocument `json:"orders"`
	Next   string          `json:"next,omitempty,omitzero"`
}

type receiptDocument struct {
	UID           int64  `json:"uid"`
	ClientOrderID string `json:"client_order_id"`
	Status        string `json:"status"`
	Version       int64  `json:"version"`
	Duplicate     bool   `json:"duplicate,omitempty,omitzero"`
}

type errorDocument struct {
	Error string `json:"error"`
	Field string `json:"field,omitempty,omitzero"`
}

// documents is an Encoder that fills these structures and encodes them with a library.
type documents struct {
	contentType string
	append      func(dst []byte, document any) []byte
}

func (d documents) Order(dst []byte, o *order.Order, staleSince time.Time) []byte {
	document := newOrderDocument(o)
	if !staleSince.IsZero() {
		document.StaleSince = staleSince.UTC().Format(timestamp)
	}
	return d.append(dst, &document)
}

func newOrderDocument(o *order.Order) orderDocument {
	return orderDocument{
		UID:       o.UID,
		Account:   valid(o.Account),
		Symbol:    valid(o.Symbol),
		Side:      o.Side.String(),
		Price:     o.Price.String(),
		Qty:       o.Qty.String(),
		Filled:    o.Filled.String(),
		Status:    o.Status.String(),
		Version:   o.Version,
		UpdatedAt: o.UpdatedAt.UTC().Format(timestamp),
	}
}

func (d documents) Page(dst []byte, p *order.Page, cursor string) []byte {
	document := pageDocument{Orders: make([]orderDocument, len(p.Orders)), Next: valid(cursor)}
	for i := range p.Orders {
		document.Orders[i] = newOrderDocument(&p.Orders[i])
	}
	return d.append(dst, &document)
}

func (d documents) Receipt(dst []byte, r *order.Receipt, clientOrderID string) []byte {
	return d.append(dst, &receiptDocument{
		UID:           r.Order.UID,
		ClientOrderID: valid(clientOrderID),
		Status:        r.Order.Status.String(),
		Version:       r.Order.Version,
		Duplicate:     r.Duplicate,
	})
}

func (d documents) Error(dst []byte, text, field string) []byte {
	return d.append(dst, &errorDocument{Error: valid(text), Field: valid(field)})
}

func (d documents) ContentType() string { return d.contentType }

// valid replaces each invalid UTF-8 byte by U+FFFD: the libraries differ for such bytes.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// Encoding to a buffer cannot fail: documents hold only valid strings, integers and booleans.

func appendStd(dst []byte, document any) []byte {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(document)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func appendMsgpack(dst []byte, document any) []byte {
	b := bytes.NewBuffer(dst)
	e := msgpack.GetEncoder()
	defer msgpack.PutEncoder(e)
	e.Reset(b)
	e.SetCustomStructTag("json")
	e.UseCompactInts(true)
	_ = e.Encode(document)
	return b.Bytes()
}
