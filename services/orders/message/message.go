// Package message parses requests for an order: JSON, a payment as ISO 20022 pacs.008, and a FIX
// 4.4 NewOrderSingle. Its results are checked: names are valid, quantity and price are above 0 (a
// market order's price is 0). Errors name the field in the sender's format.
//
// It does not decide whether the caller may send the message, or store it. It starts no goroutines.
package message

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"dyno/parts/mediatype"
	"dyno/parts/refusal"
	"dyno/services/orders/order"
)

// MaxSize is the maximum size of a message, in bytes: some fifty times the usual size.
const MaxSize = 64 << 10

// refuse returns an error about the whole message.
func refuse(format string, args ...any) error {
	return refusal.New(http.StatusBadRequest, format, args...)
}

// blame returns an error about a field.
func blame(field, format string, args ...any) error {
	return refusal.Field(field, "%s: %s", field, fmt.Sprintf(format, args...))
}

// Parse parses a message with a Content-Type. The submission's Message is body itself, not a copy;
// its strings share no memory with body. The error is a *refusal.Error with the status 400, 413 or
// 415; its field is in its format's notation: "price", "CdtTrfTxInf/PmtId/EndToEndId",
// "OrderQty (38)".
func Parse(contentType string, body []byte) (order.Submission, error) {
	parse, err := parserOf(contentType)
	if err != nil {
		return order.Submission{}, err
	}
	if len(body) > MaxSize {
		return order.Submission{}, refusal.New(http.StatusRequestEntityTooLarge, "the message has %d bytes; the most is %d", len(body), MaxSize)
	}
	if len(body) == 0 {
		return order.Submission{}, refuse("the body is empty; send one order")
	}
	s, err := parse(body)
	if err != nil {
		return order.Submission{}, err
	}
	s.Message = body
	return s, nil
}

type parser func(body []byte) (order.Submission, error)

var parsers = map[string]parser{
	"application/xml": parsePacs008,
	"text/xml":        parsePacs008,
	"application/fix": parseFIX,
}

func parserOf(contentType string) (parser, error) {
	if mediatype.IsJSON(contentType) {
		return parseJSON, nil
	}
	parse, ok := parsers[mediatype.Of(contentType)]
	if !ok {
		return nil, unsupported("Content-Type is %.60q; send application/json, application/xml (pacs.008) or application/fix", contentType)
	}
	_, parameters, _ := strings.Cut(contentType, ";")
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, value, _ := strings.Cut(strings.Trim(parameter, " \t"), "=")
		value = strings.Trim(value, `"`)
		if strings.EqualFold(key, "charset") && !strings.EqualFold(value, "utf-8") && !strings.EqualFold(value, "us-ascii") {
			return nil, unsupported("Content-Type has the charset %.40q; send UTF-8", value)
		}
	}
	return parse, nil
}

func unsupported(format string, args ...any) error {
	return refusal.New(http.StatusUnsupportedMediaType, format, args...)
}

// Checks of all formats.

func checkAccount(field, text string) error {
	if !order.ValidAccount(text) {
		return blame(field, "%.80q is no account; it has %s", text, order.AccountRule)
	}
	return nil
}

func checkClientOrderID(field, text string) error {
	if !order.ValidClientOrderID(text) {
		return blame(field, "%.80q is no client order id; it has %s", text, order.ClientOrderIDRule)
	}
	return nil
}

func checkSymbol(field, text string) error {
	if !order.ValidSymbol(text) {
		return blame(field, "%.80q is no symbol; it has %s", text, order.SymbolRule)
	}
	return nil
}

// positive parses a price, a quantity or an amount.
func positive(field, text string) (order.Decimal, error) {
	d, err := order.ParseDecimal(text)
	if err != nil {
		return 0, blame(field, "%.40q is %v", text, err)
	}
	if d <= 0 {
		return 0, blame(field, "%.40q is not above 0", text)
	}
	return d, nil
}

var errMarketPrice = errors.New("an order at the market's price has none of its own; leave it out, or send a limit order")
