package console

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// format puts values into a text, where it has %s, %d, %i, %o, %x, %e or, with the digits behind the point,
// %18e. What is left of them follows, each after a space.
func format(text string, values []any) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '%' {
			out.WriteByte(text[i])
			i++
			continue
		}
		verb, digits, length := specifier(text[i+1:])
		switch {
		case verb == '%':
			out.WriteByte('%')
		case verb == 0 || len(values) == 0:
			out.WriteString(text[i : i+1+length])
		default:
			out.WriteString(show(values[0], verb, digits))
			values = values[1:]
		}
		i += 1 + length
	}
	for i, v := range values {
		if i > 0 || text != "" {
			out.WriteByte(' ')
		}
		out.WriteString(show(v, 's', none))
	}
	return out.String()
}

// none says that a specifier has no digits.
const none = -1

// specifier reads what follows a percent sign: its letter, or 0 if it means nothing, and its length.
func specifier(text string) (verb byte, digits, length int) {
	n := 0
	for n < len(text) && n < 2 && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	switch {
	case n == len(text):
	case n > 0 && text[n] == 'e':
		digits, _ = strconv.Atoi(text[:n]) // of one or two digits
		return 'e', digits, n + 1
	case n == 0 && strings.IndexByte("sdioex%", text[0]) >= 0:
		return text[0], none, 1
	}
	return 0, none, 0
}

// show returns a value as a specifier wants it.
func show(value any, verb byte, digits int) string {
	var text string
	switch v := value.(type) {
	case *big.Int:
		return number(v, verb, digits)
	case bool:
		if verb == 'd' {
			return map[bool]string{true: "1", false: "0"}[v]
		}
		text = strconv.FormatBool(v)
	case string:
		text = v
	case common.Address:
		text = v.Hex()
	case []byte:
		text = hexutil.Encode(v)
	default:
		text = fmt.Sprintf("%#x", v) // an array of bytes
	}
	_, isText := value.(string)
	_, isBool := value.(bool)
	switch {
	case verb == 's', verb == 'x' && !isText && !isBool:
		return text
	case verb == 'o':
		return "'" + text + "'"
	}
	return "NaN"
}

func number(n *big.Int, verb byte, digits int) string {
	switch {
	case verb == 'x':
		return fmt.Sprintf("%#x", n)
	case verb != 'e':
		return n.String()
	}
	sign, all, exponent := "", new(big.Int).Abs(n).String(), ""
	if n.Sign() < 0 {
		sign = "-"
	}
	if digits == none {
		digits = len(all) - 1
		exponent = "e" + strconv.Itoa(digits)
	}
	if missing := digits + 1 - len(all); missing > 0 {
		all = strings.Repeat("0", missing) + all
	}
	point := len(all) - digits
	if fraction := strings.TrimRight(all[point:], "0"); fraction != "" {
		return sign + all[:point] + "." + fraction + exponent
	}
	return sign + all[:point] + exponent
}

// table puts the values of a list into one line, each with its key, which is its place unless another list
// comes first. It ends with the value after which the line is too long.
func table(lists []any) string {
	values := reflect.ValueOf(lists[len(lists)-1])
	var keys []string
	if len(lists) > 1 {
		keys = lists[0].([]string)
	}
	var out strings.Builder
	for i := 0; i < values.Len() && out.Len() <= mostBytes; i++ {
		key := strconv.Itoa(i)
		if len(lists) > 1 {
			key = ""
			if i < len(keys) {
				key = keys[i]
			}
		}
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(key + ": " + show(values.Index(i).Interface(), 's', none))
	}
	return out.String()
}
