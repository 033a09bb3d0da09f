package encode

import (
	"strconv"
	"time"
	"unicode/utf8"

	"dyno/services/orders/order"
)

// appender writes JSON by hand. It allocates only when dst is too small.
type appender struct{}

func (appender) Order(dst []byte, o *order.Order, staleSince time.Time) []byte {
	dst = appendOrder(dst, o)
	if !staleSince.IsZero() {
		dst = append(dst, `,"stale_since":`...)
		dst = appendTime(dst, staleSince)
	}
	return append(dst, '}')
}

// appendOrder omits the closing brace, which the caller appends.
func appendOrder(dst []byte, o *order.Order) []byte {
	dst = append(dst, `{"uid":`...)
	dst = strconv.AppendInt(dst, o.UID, 10)
	dst = append(dst, `,"account":`...)
	dst = appendString(dst, o.Account)
	dst = append(dst, `,"symbol":`...)
	dst = appendString(dst, o.Symbol)
	dst = append(dst, `,"side":"`...)
	dst = append(dst, o.Side.String()...)
	dst = append(dst, `","price":"`...)
	dst = o.Price.Append(dst)
	dst = append(dst, `","qty":"`...)
	dst = o.Qty.Append(dst)
	dst = append(dst, `","filled":"`...)
	dst = o.Filled.Append(dst)
	dst = append(dst, `","status":"`...)
	dst = append(dst, o.Status.String()...)
	dst = append(dst, `","version":`...)
	dst = strconv.AppendInt(dst, o.Version, 10)
	dst = append(dst, `,"updated_at":`...)
	return appendTime(dst, o.UpdatedAt)
}

func (appender) Page(dst []byte, p *order.Page, cursor string) []byte {
	dst = append(dst, `{"orders":[`...)
	for i := range p.Orders {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendOrder(dst, &p.Orders[i])
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if cursor != "" {
		dst = append(dst, `,"next":`...)
		dst = appendString(dst, cursor)
	}
	return append(dst, '}')
}

func (appender) Receipt(dst []byte, r *order.Receipt, clientOrderID string) []byte {
	dst = append(dst, `{"uid":`...)
	dst = strconv.AppendInt(dst, r.Order.UID, 10)
	dst = append(dst, `,"client_order_id":`...)
	dst = appendString(dst, clientOrderID)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, r.Order.Status.String()...)
	dst = append(dst, `","version":`...)
	dst = strconv.AppendInt(dst, r.Order.Version, 10)
	if r.Duplicate {
		dst = append(dst, `,"duplicate":true`...)
	}
	return append(dst, '}')
}

func (appender) Error(dst []byte, text, field string) []byte {
	dst = append(dst, `{"error":`...)
	dst = appendString(dst, text)
	if field != "" {
		dst = append(dst, `,"field":`...)
		dst = appendString(dst, field)
	}
	return append(dst, '}')
}

func (appender) ContentType() string { return "application/json" }

func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, timestamp)
	return append(dst, '"')
}

// appendString quotes text as encoding/json does: it escapes control characters, quote, backslash,
// and U+2028 and U+2029, which JavaScript treats as line ends, but not HTML.
func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	start := 0 // of the part that is copied unchanged
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		if plain(c, size) {
			i += size
			continue
		}
		dst = append(dst, text[start:i]...)
		dst = appendEscaped(dst, c)
		i += size
		start = i
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

func plain(c rune, size int) bool {
	switch {
	case c < utf8.RuneSelf:
		return c >= ' ' && c != '"' && c != '\\'
	case c == utf8.RuneError:
		return size > 1 // one byte means invalid
	}
	return c != '\u2028' && c != '\u2029'
}

func appendEscaped(dst []byte, c rune) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case utf8.RuneError:
		return utf8.AppendRune(dst, c)
	case '"', '\\':
		return append(dst, '\\', byte(c))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', hex[c>>12], hex[c>>8&15], hex[c>>4&15], hex[c&15])
}
