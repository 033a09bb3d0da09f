package ordertest

import (
	"fmt"
	"strings"
)

// Content types of submissions.
const (
	typeJSON = "application/json"
	typePacs = "application/xml"
	typeFIX  = "application/fix"
)

// message is what a submission says; in pacs.008 the symbol is the currency, and there is no price
// and no side.
type message struct {
	id, account, symbol, side, price, qty string
}

// messageOf is a good message; account may be empty but in a payment.
func messageOf(id, account string) message {
	return message{id: id, account: account, symbol: "EUR", side: "BUY", price: "101.25", qty: "100"}
}

// formats write a message; each is about 1.2 KB, as real ones are.
var formats = map[string]func(message) string{typeJSON: message.json, typePacs: message.pacs, typeFIX: message.fix}

func (m message) json() string {
	account := ""
	if m.account != "" {
		account = fmt.Sprintf("%q:%q,", "account", m.account)
	}
	return fmt.Sprintf(`{"client_order_id":%q,%s"symbol":%q,"side":%q,"price":%q,"qty":%q,"metadata":{"desk":"emea","note":%q}}`,
		m.id, account, m.symbol, m.side, m.price, m.qty, strings.Repeat("remark ", 145))
}

func (m message) fix() string {
	account := ""
	if m.account != "" {
		account = "1=" + m.account + "|"
	}
	side := map[string]string{"BUY": "1", "SELL": "2"}[m.side]
	return frame("35=D|49=CLIENT|56=GATEWAY|34=7|52=20260102-03:04:05.678|11=" + m.id + "|" + account + "55=" + m.symbol + "|54=" + side +
		"|60=20260102-03:04:05.678|38=" + m.qty + "|40=2|44=" + m.price + "|59=0|58=" + strings.Repeat("remark ", 140) + "x|")
}

// frame puts the version, length and check sum around a body of FIX, in which | stands for SOH.
func frame(body string) string {
	return sealed(fmt.Sprintf("8=FIX.4.4|9=%d|%s", len(body), body))
}

// sealed appends the check sum.
func sealed(text string) string {
	text = strings.ReplaceAll(text, "|", "\x01")
	var sum byte
	for _, c := range []byte(text) {
		sum += c
	}
	return fmt.Sprintf("%s10=%03d\x01", text, sum)
}

func (m message) pacs() string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.08">
  <FIToFICstmrCdtTrf>
    <GrpHdr>
      <MsgId>MSG-20260102-0001</MsgId>
      <CreDtTm>2026-01-02T03:04:05Z</CreDtTm>
      <NbOfTxs>1</NbOfTxs>
      <SttlmInf><SttlmMtd>CLRG</SttlmMtd></SttlmInf>
    </GrpHdr>
    <CdtTrfTxInf>
      <PmtId><InstrId>INSTR-1</InstrId><EndToEndId>` + m.id + `</EndToEndId><TxId>TX-1</TxId></PmtId>
      <IntrBkSttlmAmt Ccy="` + m.symbol + `">` + m.qty + `</IntrBkSttlmAmt>
      <IntrBkSttlmDt>2026-01-02</IntrBkSttlmDt>
      <ChrgBr>SHAR</ChrgBr>
      <Dbtr><Nm>Debtor and Sons</Nm></Dbtr>
      <DbtrAcct><Id><Othr><Id>` + m.account + `</Id></Othr></Id></DbtrAcct>
      <DbtrAgt><FinInstnId><BICFI>AAAADEFFXXX</BICFI></FinInstnId></DbtrAgt>
      <CdtrAgt><FinInstnId><BICFI>BBBBFRPPXXX</BICFI></FinInstnId></CdtrAgt>
      <Cdtr><Nm>Creditor and Daughters</Nm></Cdtr>
      <CdtrAcct><Id><IBAN>FR7630006000011234567890189</IBAN></Id></CdtrAcct>
      <RmtInf><Ustrd>Invoice 4711 of 2 January 2026, less two per cent for payment within ten days, order 0815 of 3 December 2025</Ustrd></RmtInf>
    </CdtTrfTxInf>
  </FIToFICstmrCdtTrf>
</Document>
`
}
