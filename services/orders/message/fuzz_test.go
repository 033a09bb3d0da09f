package message

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dyno/parts/refusal"
	"dyno/services/orders/message/messagetest"
	"dyno/services/orders/order"
)

// parsed checks the properties of every message, and returns the submission of an accepted one.
func parsed(t *testing.T, kind order.Kind, body []byte) (order.Submission, bool) {
	t.Helper()
	s, err := Parse(contentTypes[kind], body)
	if err != nil {
		var e *refusal.Error
		if !errors.As(err, &e) || e.Text == "" || e.Status < 400 || e.Status > 499 {
			t.Fatalf("%q: %#v", body, err)
		}
		return s, false
	}
	switch {
	case s.Kind != kind, !bytes.Equal(s.Message, body),
		s.Account != "" && !order.ValidAccount(s.Account), !order.ValidClientOrderID(s.ClientOrderID), !order.ValidSymbol(s.Symbol),
		s.Qty <= 0, s.Price < 0,
		(s.Side == order.Pay) != (kind == order.Pacs008), s.Side != order.Pay && s.Side != order.Buy && s.Side != order.Sell,
		s.Side == order.Pay && s.Price != 0:
		t.Fatalf("%q became %+v", body, s)
	}
	return s, true
}

// FuzzJSON: encoding/json reads the same order from every accepted message.
func FuzzJSON(f *testing.F) {
	f.Add(messagetest.Sample(order.JSON, "c1", "A1"))
	f.Add([]byte(`{"client_order_id":"c","symbol":"S","side":"SELL","order_type":"MARKET","qty":1}`))
	f.Add([]byte(`{"client_order_id":"c","\u0073ymbol":"S","side":"SELL","price":0.10,"qty":1,"metadata":{"a":[{}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, ok := parsed(t, order.JSON, body)
		if !ok {
			return
		}
		var want map[string]any
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%q is no JSON: %v", body, err)
		}
		if account, _ := want["account"].(string); s.Account != account || s.ClientOrderID != want["client_order_id"] || s.Symbol != want["symbol"] || s.Side.String() != want["side"] {
			t.Fatalf("%q became %+v", body, s)
		}
		if qty, err := order.ParseDecimal(fmt.Sprint(want["qty"])); err != nil || qty != s.Qty {
			t.Fatalf("%q has the quantity %v", body, s.Qty)
		}
		if price := want["price"]; price == nil && s.Price != 0 || price != nil && s.Price == 0 {
			t.Fatalf("%q has the price %v", body, s.Price)
		}
	})
}

// FuzzPacs008: encoding/xml's Unmarshal reads the same payment from every accepted message.
func FuzzPacs008(f *testing.F) {
	f.Add(messagetest.Sample(order.Pacs008, "c1", "A1"))
	f.Add([]byte(validPacs008))
	f.Add([]byte(strings.Replace(validPacs008, "<MsgId>", "<!DOCTYPE x><!-- --><MsgId><![CDATA[]]>", 1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, ok := parsed(t, order.Pacs008, body)
		if !ok {
			return
		}
		var want struct {
			XMLName xml.Name `xml:"Document"`
			ID      string   `xml:"FIToFICstmrCdtTrf>CdtTrfTxInf>PmtId>EndToEndId"`
			Amount  struct {
				Text string `xml:",chardata"`
				Ccy  string `xml:"Ccy,attr"`
			} `xml:"FIToFICstmrCdtTrf>CdtTrfTxInf>IntrBkSttlmAmt"`
			IBAN  string `xml:"FIToFICstmrCdtTrf>CdtTrfTxInf>DbtrAcct>Id>IBAN"`
			Other string `xml:"FIToFICstmrCdtTrf>CdtTrfTxInf>DbtrAcct>Id>Othr>Id"`
		}
		if err := xml.Unmarshal(bytes.TrimPrefix(body, byteOrderMark), &want); err != nil {
			t.Fatalf("%q is no XML: %v", body, err)
		}
		amount, err := order.ParseDecimal(want.Amount.Text)
		if s.ClientOrderID != want.ID || s.Symbol != want.Amount.Ccy || err != nil || s.Qty != amount || s.Account != want.IBAN && s.Account != want.Other {
			t.Fatalf("%q became %+v, want %+v", body, s, want)
		}
		if bytes.Contains(body, []byte("<!DOCTYPE")) && !bytes.Contains(body, []byte("<!--")) && !bytes.Contains(body, []byte("<![CDATA[")) {
			t.Fatalf("%q is accepted", body)
		}
	})
}

// FuzzFIX frames the fields itself, as nearly no other input would pass the checksum. An accepted
// message has the fields that were read, once each.
func FuzzFIX(f *testing.F) {
	f.Add([]byte(fields(validFIX)), true)
	f.Add([]byte(fields(strings.Replace(validFIX, "59=0|", "95=3|96=\x01\x01\x01|453=1|448=x|802=1|523=y|", 1))), true)
	f.Add(messagetest.Sample(order.FIX, "c1", "A1"), false)
	f.Fuzz(func(t *testing.T, body []byte, inner bool) {
		if inner {
			body = messagetest.Frame(body)
		}
		s, ok := parsed(t, order.FIX, body)
		if !ok {
			return
		}
		for _, field := range []string{"11=" + s.ClientOrderID, "55=" + s.Symbol} {
			if !bytes.Contains(body, []byte("\x01"+field+"\x01")) {
				t.Fatalf("%q became %+v", body, s)
			}
		}
		for i := range 3 { // every change is detected
			other := bytes.Clone(body)
			other[len(other)*i/3] ^= 2
			if _, err := Parse("application/fix", other); err == nil {
				t.Fatalf("%q is accepted", other)
			}
		}
	})
}

// FuzzContentType: only names of a format are accepted.
func FuzzContentType(f *testing.F) {
	f.Add("application/json; charset=utf-8")
	f.Add(`text/xml;charset="utf-8";;`)
	body := messagetest.Sample(order.JSON, "c1", "A1")
	f.Fuzz(func(t *testing.T, contentType string) {
		if _, err := Parse(contentType, body); err == nil && !strings.Contains(strings.ToLower(contentType), "application/json") {
			t.Fatalf("%q is accepted", contentType)
		}
	})
}

// An order as JSON and the same order as FIX give the same submission.
func TestJSONAndFIXAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[ -~]{1,66}`).Draw(t, "id")
		account := rapid.StringMatching(`[A-Z0-9._:-]{1,65}|[ -~]{1,4}`).Draw(t, "account")
		symbol := rapid.StringMatching(`[A-Z0-9./_-]{1,33}|[ -~]{1,4}`).Draw(t, "symbol")
		side := rapid.IntRange(1, 2).Draw(t, "side")
		number := rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,9})?|[ -~]{1,4}`)
		price, qty := number.Draw(t, "price"), number.Draw(t, "qty")
		market := rapid.Bool().Draw(t, "market")

		object := map[string]any{"client_order_id": id, "account": account, "symbol": symbol, "side": order.Side(side).String(), "qty": qty}
		fix := fmt.Sprintf("35=D\x0149=S\x0156=T\x0134=1\x0152=20260102-15:04:05\x0111=%s\x011=%s\x0155=%s\x0154=%d\x0160=20260102-15:04:05\x0138=%s\x01", id, account, symbol, side, qty)
		if market {
			object["order_type"] = "MARKET"
			fix += "40=1\x01"
		} else {
			object["price"] = price
			fix += "40=2\x0144=" + price + "\x01"
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		a, errA := Parse("application/json", text)
		b, errB := Parse("application/fix", messagetest.Frame([]byte(fix)))
		if (errA == nil) != (errB == nil) {
			t.Fatalf("JSON: %v\nFIX: %v", errA, errB)
		}
		if b.Kind = a.Kind; !equal(a, b) {
			t.Fatalf("JSON: %+v\nFIX: %+v", a, b)
		}
	})
}
