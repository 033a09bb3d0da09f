package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
)

// soh ends a field of FIX.
const soh = '\x01'

// tags are those of a NewOrderSingle that are looked at; the value is what the standard calls them.
var tags = map[string]string{
	"1": "Account", "11": "ClOrdID", "38": "OrderQty", "40": "OrdType", "44": "Price", "54": "Side", "55": "Symbol",
}

// readFIX reads a NewOrderSingle of FIX 4.4.
func readFIX(body []byte) (m submission, err error) {
	text, err := openFIX(body)
	if err != nil {
		return m, err
	}
	fields := map[string]string{}
	for i, field := range bytes.Split(text, []byte{soh}) {
		tag, value, ok := bytes.Cut(field, []byte("="))
		if _, err := strconv.ParseUint(string(tag), 10, 16); !ok || err != nil || len(value) == 0 {
			return m, refuse(http.StatusBadRequest, "FIX: field %d of the body is not TAG=VALUE", i+1)
		}
		if i == 0 && string(field) != "35=D" {
			return m, refuseField("MsgType", "the body begins with 35=D: a NewOrderSingle")
		}
		name := tags[string(tag)]
		if _, twice := fields[name]; twice && name != "" {
			return m, refuseField(name, "give it once")
		}
		fields[name] = string(value)
	}
	m = submission{Account: fields["Account"], ClientOrderID: fields["ClOrdID"], Symbol: fields["Symbol"], kind: 3}
	if m.Side = side(numberOf([]string{"1", "2"}, fields["Side"])); m.Side == 0 {
		return m, refuseField("Side", "give 54=1 (buy) or 54=2 (sell)")
	}
	var ok bool
	if m.Qty, ok = parseDecimal(fields["OrderQty"]); !ok {
		return m, refuseField("OrderQty", "give a number such as 38=100")
	}
	price, ok := parseDecimal(fields["Price"])
	switch kind := fields["OrdType"]; {
	case kind == "1" && fields["Price"] == "", kind == "2" && ok && price > 0:
		m.Price = price
		return m, nil
	case kind == "1" || kind == "2":
		return m, refuseField("Price", "give 44 above 0 for a limit order (40=2) and none for a market order (40=1)")
	}
	return m, refuseField("OrdType", "give 40=1 (market) or 40=2 (limit)")
}

// openFIX checks what is around the body: the version, the length and the check sum.
func openFIX(message []byte) (body []byte, err error) {
	const begin = "8=FIX.4.4\x019="
	rest, ok := bytes.CutPrefix(message, []byte(begin))
	if !ok {
		return nil, refuseField("BeginString", "the message begins with 8=FIX.4.4 and 9=, ended by SOH")
	}
	length, rest, _ := bytes.Cut(rest, []byte{soh})
	const trailer = len("10=000\x01")
	n, err := strconv.ParseUint(string(length), 10, 31)
	if err != nil || n == 0 || int(n) != len(rest)-trailer || rest[n-1] != soh {
		return nil, refuseField("BodyLength", "give the number of bytes after 9= up to 10=")
	}
	var sum byte
	for _, c := range message[:len(message)-trailer] {
		sum += c
	}
	if string(rest[n:]) != fmt.Sprintf("10=%03d\x01", sum) {
		return nil, refuseField("CheckSum", "give the sum of all bytes up to 10=, modulo 256")
	}
	return rest[:n-1], nil
}
