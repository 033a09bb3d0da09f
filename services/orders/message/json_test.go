package message

import (
	"net/http"
	"strings"
	"testing"

	"dyno/services/orders/order"
)

func TestJSONAccepted(t *testing.T) {
	want := order.Submission{Kind: order.JSON, ClientOrderID: "c1", Symbol: "ACME", Side: order.Sell, Price: 1_10000000, Qty: 12345678901_12345678}
	for _, body := range []string{
		`{"client_order_id":"c1","symbol":"ACME","side":"SELL","price":"1.10","qty":"12345678901.12345678"}`,
		" {\"client_order_id\":\"c1\",\n\"symbol\":\"ACME\",\"side\":\"SELL\",\"price\":1.10,\"qty\":12345678901.12345678}\r\n",
		`{"\u0073ymbol":"\u0041CME","side":"SELL","order_type":"LIMIT","price":1.1,"qty":12345678901.12345678,"time_in_force":"FOK","client_order_id":"c1"}`,
		`{"client_order_id":"c1","symbol":"ACME","side":"SELL","price":"1.1","qty":"12345678901.12345678","metadata":{"symbol":[{"symbol":null}],"price":{}}}`,
	} {
		if got, err := Parse("application/json", []byte(body)); err != nil || !equal(got, want) {
			t.Errorf("%s: %+v %v", body, got, err)
		}
	}
	want.Price, want.Account = 0, "A1"
	const market = `{"client_order_id":"c1","account":"A1","symbol":"ACME","side":"SELL","order_type":"MARKET","qty":"12345678901.12345678"}`
	if got, err := Parse("application/json", []byte(market)); err != nil || !equal(got, want) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestJSONRefused(t *testing.T) {
	const valid = `{"client_order_id":"c1","account":"A1","symbol":"ACME","side":"BUY","order_type":"LIMIT","price":"1","qty":"2","time_in_force":"DAY","metadata":{"a":1}}`
	if _, err := Parse("application/json", []byte(valid)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, field, text string }{
		// names
		{`"symbol"`, `"symbl"`, "symbl", "an order has no such member; it has client_order_id, account"},
		{`"symbol"`, `"Symbol"`, "Symbol", "no such member"},
		{`"symbol"`, `"\u0000"`, "\x00", "no such member"},
		{`"symbol"`, `"` + strings.Repeat("x", 100) + `"`, strings.Repeat("x", 64) + "...", "no such member"},
		{`"qty":"2"`, `"qty":"2","qty":"2"`, "qty", "given twice"},
		{`"qty":"2"`, `"qty":"2","\u0071ty":"2"`, "qty", "given twice"},
		{`{"a":1}`, `{"a":1,"b":{"c":0,"c":0}}`, "metadata/b/c", "given twice"},
		// missing
		{`"client_order_id":"c1",`, ``, "client_order_id", "missing"},
		{`"symbol":"ACME",`, ``, "symbol", "missing"},
		{`"side":"BUY",`, ``, "side", "missing"},
		{`"price":"1",`, ``, "price", `an order without needs "order_type":"MARKET"`},
		{`"qty":"2",`, ``, "qty", "missing"},
		// kinds
		{`"c1"`, `1`, "client_order_id", "no string"},
		{`"A1"`, `null`, "account", "leave it out"},
		{`"ACME"`, `["ACME"]`, "symbol", "no string"},
		{`"BUY"`, `true`, "side", "no string"},
		{`"2"`, `null`, "qty", "neither a string nor a number"},
		{`"1"`, `{}`, "price", "neither a string nor a number"},
		{`{"a":1}`, `"a"`, "metadata", "no object"},
		{`{"a":1}`, `null`, "metadata", "no object"},
		// values
		{`"c1"`, `""`, "client_order_id", "1 to 64"},
		{`"c1"`, `"a\u0000b"`, "client_order_id", `"a\x00b"`},
		{`"c1"`, `"` + strings.Repeat("x", 65) + `"`, "client_order_id", "1 to 64"},
		{`"A1"`, `""`, "account", "1 to 64"},
		{`"A1"`, `"A 1"`, "account", `"A 1"`},
		{`"ACME"`, `"acme"`, "symbol", "A-Z"},
		{`"BUY"`, `"buy"`, "side", "neither BUY nor SELL"},
		{`"BUY"`, `"PAY"`, "side", "neither BUY nor SELL"},
		{`"LIMIT"`, `"STOP"`, "order_type", "neither LIMIT nor MARKET"},
		{`"LIMIT"`, `""`, "order_type", "neither LIMIT nor MARKET"},
		{`"LIMIT"`, `"MARKET"`, "price", "leave it out"},
		{`"1"`, `"0"`, "price", "not above 0"},
		{`"1"`, `"-1"`, "price", "not above 0"},
		{`"1"`, `"1e3"`, "price", "no decimal number"},
		{`"1"`, `1e3`, "price", "no decimal number"},
		{`"1"`, `0.000000001`, "price", "at most 8 decimals"},
		{`"2"`, `-0`, "qty", "not above 0"},
		{`"2"`, `"92233720369"`, "qty", "below 92,233,720,368"},
		{`"2"`, `"NaN"`, "qty", "no decimal number"},
		{`"DAY"`, `"GTD"`, "time_in_force", "none of DAY"},
		{`{"a":1}`, strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "metadata", "deeper than 32"},
		{`{"a":1}`, `{"a":` + strings.Repeat(`[`, 20000) + `}`, "metadata", "deeper than 32"},
		// what is no JSON
		{`"2"`, `02`, "", "no JSON"},
		{`"2"`, `'2'`, "", "no JSON"},
		{`"c1"`, "\"a\x00b\"", "", "no JSON"},
		{`"c1"`, "\"\xff\"", "", "UTF-8"},
		{`"A1"`, `"\ud800"`, "", "no JSON"},
		{`"A1",`, `"A1",/**/`, "", "no JSON"},
		{`}}`, `}`, "", "ends in the middle"},
		{`}}`, `}},`, "", "text after the order"},
		{`}}`, `}}{}`, "", "text after the order"},
		{`}}`, "}}\x00", "", "text after the order"},
		{`}}`, `},}`, "", "no JSON"},
		{valid, `[` + valid + `]`, "", "begins with a brace"},
		{valid, `null`, "", "begins with a brace"},
		{valid, `"` + strings.Repeat("x", 9000) + `"`, "", "begins with a brace"},
		{valid, ` `, "", "ends in the middle"},
		{valid, `{`, "", "ends in the middle"},
		{valid, "\xef\xbb\xbf" + valid, "", "byte order mark"},
		{valid, "\xff\xfe{\x00}\x00", "", "no JSON"},
	} {
		body := strings.Replace(valid, c.old, c.new, 1)
		if body == valid {
			t.Fatalf("%s is not in it", c.old)
		}
		refused(t, "application/json", []byte(body), http.StatusBadRequest, c.field, c.text)
	}
}
