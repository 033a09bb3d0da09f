package ordertest

import (
	"fmt"
	"strings"
)

// Content types of submissions.
const (
	TypeJSON = "application/json"
	TypePacs = "application/xml"
	TypeFIX  = "application/fix"
)

// Message is what a submission says; in pacs.008 the symbol is the currency, and there is no price
// and no side.
type Message struct {
	ID, Account, Symbol, Side, Price, Qty string
}

// MessageOf is a good message; account may be empty but in a payment.
func MessageOf(id, account string) Message {
	return Message{ID: id, Account: account, Symbol: "EUR", Side: "BUY", Price: "101.25", Qty: "100"}
}

// JSON is the message as JSON.
func (m Message) JSON() string {
	account := ""
	if m.Account != "" {
		account = fmt.Sprintf("%q:%q,", "account", m.Account)
	}
	return fmt.Sprintf(`{"client_order_id":%q,%s"symbol":%q,"side":%q,"price":%q,"qty":%q,"metadata":{"desk":"emea","note":%q}}`,
		m.ID, account, m.Symbol, m.Side, m.Price, m.Qty, strings.Repeat("remark ", 145))
}

// FIX is the message as FIX 4.4.
func (m Message) FIX() string {
	account := ""
	if m.Account != "" {
		account = "1=" + m.Account + "|"
	}
	side := map[string]string{"BUY": "1", "SELL": "2"}[m.Side]
	return Frame("35=D|49=CLIENT|56=GATEWAY|34=7|52=20260102-03:04:05.678|11=" + m.ID + "|" + account + "55=" + m.Symbol + "|54=" + side +
		"|60=20260102-03:04:05.678|38=" + m.Qty + "|40=2|44=" + m.Price + "|59=0|58=" + strings.Repeat("remark ", 140) + "x|")
}

// Frame puts the version, length and check sum around a body of FIX, in which | stands for SOH.
func Frame(body string) string {
	return Sealed(fmt.Sprintf("8=FIX.4.4|9=%d|%s", len(body), body))
}

// Sealed appends the check sum.
func Sealed(text string) string {
	text = strings.ReplaceAll(text, "|", "\x01")
	var sum byte
	for _, c := range []byte(text) {
		sum += c
	}
	return fmt.Sprintf("%s10=%03d\x01", text, sum)
}

// Pacs is the message as a payment in pacs.008.
func (m Message) Pacs() string {
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
      <PmtId><InstrId>INSTR-1</InstrId><EndToEndId>` + m.ID + `</EndToEndId><TxId>TX-1</TxId></PmtId>
      <IntrBkSttlmAmt Ccy="` + m.Symbol + `">` + m.Qty + `</IntrBkSttlmAmt>
      <IntrBkSttlmDt>2026-01-02</IntrBkSttlmDt>
      <ChrgBr>SHAR</ChrgBr>
      <Dbtr><Nm>Debtor and Sons</Nm></Dbtr>
      <DbtrAcct><Id><Othr><Id>` + m.Account + `</Id></Othr></Id></DbtrAcct>
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
