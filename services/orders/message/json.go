package message

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"dyno/parts/refusal"
	"dyno/services/orders/order"
)

// maxDepth is the maximum nesting of objects, lists and elements. Real messages need ten.
const maxDepth = 32

// jsonMember is a member of an order.
type jsonMember uint8

const (
	jsonClientOrderID jsonMember = iota
	jsonAccount
	jsonSymbol
	jsonSide
	jsonOrderType
	jsonPrice
	jsonQty
	jsonTimeInForce
	jsonMetadata
	jsonMembers
)

var jsonNames = [jsonMembers]string{"client_order_id", "account", "symbol", "side", "order_type", "price", "qty", "time_in_force", "metadata"}

// jsonReader parses one order. It is reused.
type jsonReader struct {
	decoder jsontext.Decoder
	body    bytes.Reader
	values  [jsonMembers]string
	given   [jsonMembers]bool
}

var jsonReaders = sync.Pool{New: func() any { return new(jsonReader) }}

// parseJSON parses an order. The decoder refuses duplicate names and invalid UTF-8 at any depth.
func parseJSON(body []byte) (order.Submission, error) {
	if bytes.HasPrefix(body, byteOrderMark) {
		return order.Submission{}, refuse("the order begins with a byte order mark, which JSON does not have; leave it out")
	}
	r := jsonReaders.Get().(*jsonReader)
	defer func() {
		r.body.Reset(nil) // drop the reference to the request's memory
		jsonReaders.Put(r)
	}()
	r.body.Reset(body)
	r.decoder.Reset(&r.body)
	r.values, r.given = [jsonMembers]string{}, [jsonMembers]bool{}
	if err := r.read(); err != nil {
		return order.Submission{}, jsonError(err)
	}
	if rest := body[r.decoder.InputOffset():]; len(bytes.Trim(rest, " \t\r\n")) > 0 {
		return order.Submission{}, refuse("text after the order, from byte %d on; send one order a message", r.decoder.InputOffset())
	}
	return r.submission()
}

func (r *jsonReader) read() error {
	if r.decoder.PeekKind() != '{' {
		if _, err := r.decoder.ReadToken(); err != nil {
			return err
		}
		return refuse("an order is a JSON object: it begins with a brace")
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return err
	}
	for r.decoder.PeekKind() != '}' {
		if err := r.member(); err != nil {
			return err
		}
	}
	_, err := r.decoder.ReadToken()
	return err
}

func (r *jsonReader) member() error {
	quoted, err := r.decoder.ReadValue() // a token's String would allocate
	if err != nil {
		return err
	}
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		if name, err = jsontext.AppendUnquote(nil, quoted); err != nil {
			return err
		}
	}
	for m := range jsonMembers {
		if string(name) == jsonNames[m] {
			return r.value(m)
		}
	}
	return blame(shorten(string(name)), "an order has no such member; it has %s", strings.Join(jsonNames[:], ", "))
}

// shorten limits the length of client text in errors.
func shorten(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

func (r *jsonReader) value(m jsonMember) error {
	kind := r.decoder.PeekKind()
	if kind == 0 {
		_, err := r.decoder.ReadToken()
		return err
	}
	r.given[m] = true
	switch {
	case m == jsonMetadata:
		if kind != '{' {
			return blame(jsonNames[m], "no object; leave it out if there is none")
		}
		return r.skip()
	case kind == '"', kind == '0' && (m == jsonPrice || m == jsonQty):
		token, err := r.decoder.ReadToken()
		if err == nil {
			r.values[m] = token.String() // of a number, too: as written
		}
		return err
	case m == jsonPrice || m == jsonQty:
		return blame(jsonNames[m], `neither a string nor a number; send a decimal such as "101.25"`)
	}
	return blame(jsonNames[m], "no string; put it in quotes, or leave it out if there is none")
}

// skip skips a value.
func (r *jsonReader) skip() error {
	start := r.decoder.StackDepth()
	for {
		if _, err := r.decoder.ReadToken(); err != nil {
			return err
		}
		switch depth := r.decoder.StackDepth(); {
		case depth == start:
			return nil
		case depth > maxDepth:
			return blame(jsonNames[jsonMetadata], "nested deeper than %d levels; flatten it", maxDepth)
		}
	}
}

func (r *jsonReader) submission() (s order.Submission, err error) {
	for _, m := range [...]jsonMember{jsonClientOrderID, jsonSymbol, jsonSide, jsonQty} {
		if !r.given[m] {
			return s, blame(jsonNames[m], "missing; an order needs one")
		}
	}
	s = order.Submission{Kind: order.JSON, ClientOrderID: r.values[jsonClientOrderID], Account: r.values[jsonAccount], Symbol: r.values[jsonSymbol]}
	if err := checkClientOrderID(jsonNames[jsonClientOrderID], s.ClientOrderID); err != nil {
		return s, err
	}
	if r.given[jsonAccount] {
		if err := checkAccount(jsonNames[jsonAccount], s.Account); err != nil {
			return s, err
		}
	}
	if err := checkSymbol(jsonNames[jsonSymbol], s.Symbol); err != nil {
		return s, err
	}
	switch side := r.values[jsonSide]; side {
	case "BUY":
		s.Side = order.Buy
	case "SELL":
		s.Side = order.Sell
	default:
		return s, blame(jsonNames[jsonSide], "%.40q is neither BUY nor SELL", side)
	}
	if s.Qty, err = positive(jsonNames[jsonQty], r.values[jsonQty]); err != nil {
		return s, err
	}
	if s.Price, err = r.price(); err != nil {
		return s, err
	}
	return s, r.timeInForce()
}

func (r *jsonReader) price() (order.Decimal, error) {
	switch kind := r.values[jsonOrderType]; {
	case kind == "LIMIT", !r.given[jsonOrderType]:
		if !r.given[jsonPrice] {
			return 0, blame(jsonNames[jsonPrice], `missing; a LIMIT order needs one, and an order without needs "order_type":"MARKET"`)
		}
		return positive(jsonNames[jsonPrice], r.values[jsonPrice])
	case kind == "MARKET":
		if r.given[jsonPrice] {
			return 0, blame(jsonNames[jsonPrice], "%v", errMarketPrice)
		}
		return 0, nil
	default:
		return 0, blame(jsonNames[jsonOrderType], "%.40q is neither LIMIT nor MARKET", kind)
	}
}

func (r *jsonReader) timeInForce() error {
	switch text := r.values[jsonTimeInForce]; {
	case !r.given[jsonTimeInForce], text == "DAY", text == "GTC", text == "IOC", text == "FOK":
		return nil
	default:
		return blame(jsonNames[jsonTimeInForce], "%.40q is none of DAY, GTC, IOC, FOK", text)
	}
}

func jsonError(err error) error {
	var ours *refusal.Error
	if errors.As(err, &ours) {
		return ours
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse("the order ends in the middle; close its strings and braces")
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && syntax.Err == jsontext.ErrDuplicateName {
		return blame(shorten(strings.TrimPrefix(string(syntax.JSONPointer), "/")), "given twice; leave one out")
	}
	return refuse("no JSON: %.200s", strings.TrimPrefix(err.Error(), "jsontext: "))
}
