// Package messagetest builds example messages for tests and their seeds. It is not for a running
// gateway, and starts no goroutines.
package messagetest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"dyno/services/orders/order"
)

// Sample returns a message of about 1.2 KB, like one from a trading desk or a bank. It is valid if
// the id and the account are; a payment's have at most 35 and 34 characters. With the account ""
// the message has none. The JSON and the FIX message request the same order.
func Sample(k order.Kind, clientOrderID, account string) []byte {
	switch k {
	case order.Pacs008:
		return samplePacs008(clientOrderID, account)
	case order.FIX:
		return sampleFIX(clientOrderID, account)
	}
	return sampleJSON(clientOrderID, account)
}

func sampleJSON(id, account string) []byte {
	b := append([]byte(nil), `{"client_order_id":`...)
	b, _ = jsontext.AppendQuote(b, id)
	if account != "" {
		b = append(b, `,"account":`...)
		b, _ = jsontext.AppendQuote(b, account)
	}
	return append(b, `,"symbol":"ACME","side":"BUY","order_type":"LIMIT","price":"101.25","qty":"100","time_in_force":"DAY",`+
		`"metadata":{"source":"desk-equities-emea","trader":{"id":"t-48213","name":"M. Okafor","location":"LDN"},`+
		`"strategy":{"name":"VWAP","version":"3.8.1","start":"2026-01-02T09:00:00Z","end":"2026-01-02T16:30:00Z","participation":0.125,"venues":["XLON","BATE","CHIX","TRQX"]},`+
		`"compliance":{"short_sale":false,"capacity":"AGENCY","investment_decision":"ALGO-2291","execution_decision":"ALGO-2291","lei":"5493001KJTIIGC8Y1R12","mifid_waivers":["RFPT","NLIQ"]},`+
		`"allocation":[{"book":"EQ-UK-01","share":"0.40"},{"book":"EQ-UK-02","share":"0.35"},{"book":"EQ-UK-07","share":"0.25"}],`+
		`"risk":{"limit_checked_at":"2026-01-02T08:59:58.113204Z","checked_by":"risk-gw-2","notional":"10125.00","currency":"GBP","score":17},`+
		`"tags":["client:institutional","region:emea","priority:normal"],`+
		`"note":"Work the order through the day; stay out of the closing auction unless more than a third is left. Call the desk before you cancel.",`+
		`"trace":{"session":"9f2c4a1e7b3d4c5f8a60","sequence":184223,"sent_at":"2026-01-02T08:59:58.120911Z"}}}`...)
}

func sampleFIX(id, account string) []byte {
	var b strings.Builder
	field := func(tag int, value string) { b.WriteString(strconv.Itoa(tag) + "=" + value + "\x01") }
	field(35, "D")
	field(49, "DESKEMEA")
	field(56, "ORDERSD")
	field(34, "184223")
	field(50, "t-48213")
	field(57, "EQUITIES")
	field(52, "20260102-08:59:58.120")
	field(11, id)
	if account != "" {
		field(1, account)
	}
	field(453, "4")
	for _, party := range [...][3]string{{"5493001KJTIIGC8Y1R12", "N", "13"}, {"M.OKAFOR", "D", "36"}, {"DESK-EQUITIES-EMEA", "D", "24"}, {"ALGO-2291", "D", "12"}} {
		field(448, party[0])
		field(447, party[1])
		field(452, party[2])
	}
	field(78, "3")
	for _, allocation := range [...][2]string{{"EQ-UK-01", "40"}, {"EQ-UK-02", "35"}, {"EQ-UK-07", "25"}} {
		field(79, allocation[0])
		field(80, allocation[1])
	}
	field(63, "0")
	field(21, "1")
	field(18, "1")
	field(100, "XLON")
	field(386, "1")
	field(336, "CONTINUOUS")
	field(55, "ACME")
	field(48, "GB00B03MLX29")
	field(22, "4")
	field(454, "2")
	field(455, "B03MLX2")
	field(456, "2")
	field(455, "ACME.L")
	field(456, "5")
	field(460, "5")
	field(461, "ESVUFR")
	field(207, "XLON")
	field(106, "Acme Industrial Holdings plc")
	field(107, "Acme Industrial Holdings plc, ordinary shares of 25 pence each, fully paid")
	field(54, "1")
	field(60, "20260102-08:59:58.113")
	field(38, "100")
	field(40, "2")
	field(44, "101.25")
	field(15, "GBP")
	field(59, "0")
	field(528, "A")
	field(582, "4")
	field(58, "Work the order through the day; stay out of the closing auction unless more than a third is left. Call the desk before you cancel.")
	field(168, "20260102-09:00:00")
	field(847, "1001")
	field(848, "VWAP 3.8.1; start=09:00; end=16:30; participation=0.125; venues=XLON,BATE,CHIX,TRQX")
	field(9001, "desk-equities-emea")
	field(9002, "limit checked 2026-01-02T08:59:58.113204Z by risk-gw-2; notional 10125.00 GBP; score 17")
	field(9003, "client:institutional,region:emea,priority:normal")
	field(9004, "9f2c4a1e7b3d4c5f8a60/184223")
	field(9005, "RFPT,NLIQ")
	field(9006, "EQ-UK-01 and EQ-UK-02 settle at Euroclear, EQ-UK-07 at Crest")
	return Frame(b.String())
}

// Frame adds BeginString, BodyLength and CheckSum to a message.
func Frame[T string | []byte](inner T) []byte {
	b := fmt.Appendf(nil, "8=FIX.4.4\x019=%d\x01%s", len(inner), inner)
	var sum byte
	for _, c := range b {
		sum += c
	}
	return fmt.Appendf(b, "10=%03d\x01", sum)
}

func samplePacs008(id, account string) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.08"><FIToFICstmrCdtTrf>` +
		`<GrpHdr><MsgId>EMEA20260102000184223</MsgId><CreDtTm>2026-01-02T08:59:58.120Z</CreDtTm><NbOfTxs>1</NbOfTxs><SttlmInf><SttlmMtd>INDA</SttlmMtd></SttlmInf></GrpHdr>` +
		`<CdtTrfTxInf><PmtId><InstrId>I20260102184223</InstrId><EndToEndId>`)
	_ = xml.EscapeText(&b, []byte(id)) // a buffer accepts all writes
	b.WriteString(`</EndToEndId><UETR>8a562c67-ca16-48ba-b074-65581be6f011</UETR></PmtId><IntrBkSttlmAmt Ccy="EUR">1250.75</IntrBkSttlmAmt>` +
		`<IntrBkSttlmDt>2026-01-02</IntrBkSttlmDt><ChrgBr>SHAR</ChrgBr>` +
		`<InstgAgt><FinInstnId><BICFI>DEUTDEFFXXX</BICFI></FinInstnId></InstgAgt><InstdAgt><FinInstnId><BICFI>BNPAFRPPXXX</BICFI></FinInstnId></InstdAgt>` +
		`<Dbtr><Nm>Okafor Maschinenbau GmbH</Nm><PstlAdr><StrtNm>Hafenstr.</StrtNm><BldgNb>12</BldgNb><TwnNm>Hamburg</TwnNm><Ctry>DE</Ctry></PstlAdr></Dbtr>`)
	if account != "" {
		b.WriteString(`<DbtrAcct><Id><Othr><Id>`)
		_ = xml.EscapeText(&b, []byte(account))
		b.WriteString(`</Id></Othr></Id></DbtrAcct>`)
	}
	b.WriteString(`<DbtrAgt><FinInstnId><BICFI>DEUTDEFF</BICFI></FinInstnId></DbtrAgt><CdtrAgt><FinInstnId><BICFI>BNPAFRPP</BICFI></FinInstnId></CdtrAgt>` +
		`<Cdtr><Nm>Roulements du Nord SA</Nm></Cdtr><CdtrAcct><Id><IBAN>FR1420041010050500013M02606</IBAN></Id></CdtrAcct>` +
		`<RmtInf><Ustrd>Invoice 2025-11873</Ustrd></RmtInf></CdtTrfTxInf></FIToFICstmrCdtTrf></Document>`)
	return b.Bytes()
}
