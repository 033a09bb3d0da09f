package message

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"dyno/services/orders/order"
)

const validPacs008 = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.10">
 <FIToFICstmrCdtTrf>
  <GrpHdr>
   <MsgId>M1</MsgId>
   <CreDtTm>2026-01-02T15:04:05+01:00</CreDtTm>
   <NbOfTxs>1</NbOfTxs>
   <SttlmInf><SttlmMtd>CLRG</SttlmMtd></SttlmInf>
  </GrpHdr>
  <CdtTrfTxInf>
   <PmtId><InstrId>I1</InstrId><EndToEndId>E1</EndToEndId><UETR>8a562c67-ca16-48ba-b074-65581be6f011</UETR></PmtId>
   <IntrBkSttlmAmt Ccy="EUR">1250.75</IntrBkSttlmAmt>
   <ChrgBr>SLEV</ChrgBr>
   <Dbtr><Nm>A</Nm></Dbtr>
   <DbtrAcct><Id><IBAN>GB82WEST12345698765432</IBAN></Id></DbtrAcct>
   <DbtrAgt><FinInstnId><BICFI>DEUTDEFF500</BICFI></FinInstnId></DbtrAgt>
   <CdtrAgt><FinInstnId><BICFI>BNPAFRPP</BICFI></FinInstnId></CdtrAgt>
   <Cdtr/>
  </CdtTrfTxInf>
 </FIToFICstmrCdtTrf>
</Document>
`

func TestPacs008Accepted(t *testing.T) {
	want := order.Submission{Kind: order.Pacs008, ClientOrderID: "E1", Account: "GB82WEST12345698765432", Symbol: "EUR", Side: order.Pay, Qty: 1250_75000000}
	for _, c := range [][2]string{
		{"", ""},
		{"001.10", "001.08"},
		{"001.10", "001.13"},
		{`<?xml version="1.0" encoding="UTF-8"?>`, ""},
		{`<?xml version="1.0" encoding="UTF-8"?>`, "\xef\xbb\xbf" + `<?xml version='1.0' encoding='utf-8' standalone="yes"?>`},
		{`<Document xmlns=`, `<Document xsi:schemaLocation="a b" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns=`},
		{"<EndToEndId>E1<", "<EndToEndId>&#69;<!-- one --><![CDATA[1]]><"},
		{"1250.75", "01250.75000"},
		{"<NbOfTxs>1<", "<NbOfTxs>01<"},
		{"2026-01-02T15:04:05+01:00", "2026-01-02T15:04:05.678"},
		{"<Cdtr/>", "<Cdtr><PstlAdr><AdrLine>a</AdrLine><AdrLine>b</AdrLine></PstlAdr></Cdtr><Purp><Cd>SALA</Cd></Purp>"},
		{"<Cdtr/>", `<Cdtr/><SplmtryData><Envlp><x:any xmlns:x="y"><GrpHdr>1</GrpHdr>text<PmtId/></x:any></Envlp></SplmtryData>`},
	} {
		if got, err := Parse("application/xml", []byte(strings.Replace(validPacs008, c[0], c[1], 1))); err != nil || !equal(got, want) {
			t.Errorf("%s: %+v %v", c[1], got, err)
		}
	}
	prefixed := strings.NewReplacer("</", "</p:", "xmlns=", "xmlns:p=", "<?", "<?", "<!", "<!", "<", "<p:").Replace(validPacs008)
	if got, err := Parse("text/xml", []byte(prefixed)); err != nil || !equal(got, want) {
		t.Errorf("%s: %+v %v", prefixed, got, err)
	}
	for _, c := range [][2]string{
		{"<Othr><Id>A.1:2</Id></Othr>", "A.1:2"},
		{"<Othr><Id>A1</Id><SchmeNm><Cd>BBAN</Cd></SchmeNm></Othr>", "A1"},
	} {
		want.Account = c[1]
		if got, err := Parse("application/xml", []byte(strings.Replace(validPacs008, "<IBAN>GB82WEST12345698765432</IBAN>", c[0], 1))); err != nil || !equal(got, want) {
			t.Errorf("%s: %+v %v", c[0], got, err)
		}
	}
	want.Account = ""
	if got, err := Parse("application/xml", []byte(strings.Replace(validPacs008, "<DbtrAcct><Id><IBAN>GB82WEST12345698765432</IBAN></Id></DbtrAcct>", "", 1))); err != nil || !equal(got, want) {
		t.Errorf("without an account: %+v %v", got, err)
	}
}

func TestPacs008Refused(t *testing.T) {
	const declaration = `<?xml version="1.0" encoding="UTF-8"?>`
	const transfer = "CdtTrfTxInf/"
	for _, c := range []struct{ old, new, field, text string }{
		// entities and their declarations
		{declaration, declaration + `<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>`, "", "no DOCTYPE"},
		{declaration, declaration + `<!DOCTYPE d SYSTEM "file:///etc/passwd">`, "", "no DOCTYPE"},
		{declaration, declaration + `<!DOCTYPE d [<!ENTITY % p SYSTEM "http://127.0.0.1/x.dtd"> %p;]>`, "", "no DOCTYPE"},
		{declaration, declaration + `<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>`, "", "no DOCTYPE"},
		{declaration, `<!DOCTYPE d>`, "", "no DOCTYPE"},
		{"<MsgId>", `<!ENTITY x "y"><MsgId>`, "", "no DOCTYPE"},
		{"<MsgId>M1", "<MsgId>&lol;", "", "entity &lol;"},
		{"<MsgId>M1", "<MsgId>&xxe", "", "line 5"},
		{"<MsgId>M1", "<MsgId>&#0;", "", "character"},
		{`Ccy="EUR"`, `Ccy="&lol;"`, "", "entity &lol;"},
		{declaration, declaration + declaration, "", "<?xml"},
		{declaration, ` ` + declaration, "", "very beginning"},
		{declaration, declaration + `<?xml-stylesheet href="x"?>`, "", "<?xml-stylesheet"},
		{declaration, `<?php?>`, "", "<?php"},
		{"<MsgId>", `<?x?><MsgId>`, "", "<?x"},
		// encodings
		{"UTF-8", "ISO-8859-1", "", `"ISO-8859-1"; send UTF-8`},
		{"UTF-8", "UTF-16", "", "send UTF-8"},
		{`"1.0"`, `"1.1"`, "", "no XML at line 1"},
		{"M1", "M\x00", "", "no XML at line 5"},
		{"M1", "M\x01", "", "no XML at line 5"},
		{"M1", "M\xff", "", "UTF-8"},
		{declaration, "\xff\xfe" + declaration, "", "UTF-16"},
		{declaration, "\xfe\xff" + declaration, "", "UTF-16"},
		{declaration, "<\x00?\x00", "", "UTF-16"},
		{validPacs008, "\x00<\x00?", "", "UTF-16"},
		// size and depth
		{"<Cdtr/>", "<Cdtr>" + strings.Repeat("<a>", 40) + strings.Repeat("</a>", 40) + "</Cdtr>", "", "deeper than 32"},
		{"<Cdtr/>", "<Cdtr>" + strings.Repeat("<a>", 20000), "", "deeper than 32"},
		{"<Cdtr/>", "<Cdtr>" + strings.Repeat("<a/>", 2000) + "</Cdtr>", "", "more than 2000 elements"},
		{"<Cdtr/>", "<Cdtr a='" + strings.Repeat("x", 50000) + "'/>", "", "the most is 1024"},
		{"<Cdtr/>", "<Cdtr" + attributes(9) + "/>", "", "the most is 8"},
		{"<Cdtr/>", "<Cdtr" + attributes(5000) + "/>", "", "the most is 8"},
		{"<Cdtr/>", "<" + strings.Repeat("C", 50000) + "/>", transfer + "Cdtr", "missing"},
		{"<Cdtr/>", `<Cdtr a="1" a="2"/>`, "", "the attribute a twice"},
		{`Ccy="EUR"`, `Ccy="EUR" Ccy="USD"`, "", "the attribute Ccy twice"},
		{"<MsgId>M1", "<MsgId>" + strings.Repeat("x", 2000), "GrpHdr/MsgId", "more than 1024 bytes"},
		// invalid XML
		{"</Document>", "", "", "no XML at line 22, column 1: unexpected EOF"},
		{"</Document>", "</Documents>", "", "no XML at line 21"},
		{"</Document>", "</Document><Document/>", "", "follows the Document"},
		{"</Document>", "</Document>x", "", `"x" stands where elements belong`},
		{"<Document", "x<Document", "", `"x" stands where elements belong`},
		{validPacs008, "{}", "", "stands where elements belong"},
		{validPacs008, " \n", "", "no XML element"},
		{validPacs008, "<!-- x -->", "", "no XML element"},
		{"<MsgId>M1</MsgId>", "<MsgId>M1", "GrpHdr/MsgId", "holds the element CreDtTm"},
		{"<MsgId>", "<MsgId a=1>", "", "no XML"},
		// the document
		{"pacs.008.001.10", "pacs.008.001.07", "Document", "08 to urn:iso"},
		{"pacs.008.001.10", "pacs.008.001.14", "Document", "13"},
		{"pacs.008.001.10", "pacs.008.001.1", "Document", "must be one of"},
		{"pacs.008.001.10", "pacs.009.001.10", "Document", "pacs.009"},
		{` xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.10"`, "", "Document", `the namespace is ""`},
		{"<GrpHdr>", `<GrpHdr xmlns="x">`, "", `in the namespace "x"`},
		{validPacs008, `<BusMsg xmlns="x"/>`, "", "send a bare Document"},
		{validPacs008, `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.10"/>`, "GrpHdr", "missing"},
		{validPacs008, strings.ReplaceAll(validPacs008, "FIToFICstmrCdtTrf", "FICdtTrf"), "Document", "it has one FIToFICstmrCdtTrf"},
		{" </FIToFICstmrCdtTrf>", " </FIToFICstmrCdtTrf><FIToFICstmrCdtTrf/>", "Document", "it has one"},
		{" </FIToFICstmrCdtTrf>", "<Other/></FIToFICstmrCdtTrf>", "FIToFICstmrCdtTrf", "holds Other"},
		{"<PmtId>", "<PmtId>x", "", `"x" stands where elements belong`},
		{"<FIToFICstmrCdtTrf>", "<FIToFICstmrCdtTrf>x", "", `"x" stands where elements belong`},
		// elements
		{"<MsgId>M1</MsgId>", "", "GrpHdr/MsgId", "missing"},
		{"<CreDtTm>2026-01-02T15:04:05+01:00</CreDtTm>", "", "GrpHdr/CreDtTm", "missing"},
		{"<NbOfTxs>1</NbOfTxs>", "", "GrpHdr/NbOfTxs", "missing"},
		{"<SttlmInf><SttlmMtd>CLRG</SttlmMtd></SttlmInf>", "", "GrpHdr/SttlmInf", "missing"},
		{"<SttlmMtd>CLRG</SttlmMtd>", "", "GrpHdr/SttlmInf/SttlmMtd", "missing"},
		{"<EndToEndId>E1</EndToEndId>", "", transfer + "PmtId/EndToEndId", "missing"},
		{`<IntrBkSttlmAmt Ccy="EUR">1250.75</IntrBkSttlmAmt>`, "", transfer + "IntrBkSttlmAmt", "missing"},
		{"<ChrgBr>SLEV</ChrgBr>", "", transfer + "ChrgBr", "missing"},
		{"<Dbtr><Nm>A</Nm></Dbtr>", "", transfer + "Dbtr", "missing"},
		{"<Cdtr/>", "", transfer + "Cdtr", "missing"},
		{"<DbtrAgt><FinInstnId><BICFI>DEUTDEFF500</BICFI></FinInstnId></DbtrAgt>", "", transfer + "DbtrAgt", "missing"},
		{"<FinInstnId><BICFI>BNPAFRPP</BICFI></FinInstnId>", "", transfer + "CdtrAgt/FinInstnId", "missing"},
		{"<NbOfTxs>1</NbOfTxs>", "<NbOfTxs>2</NbOfTxs>", "GrpHdr/NbOfTxs", "send one a message"},
		{"<NbOfTxs>1</NbOfTxs>", "<NbOfTxs>one</NbOfTxs>", "GrpHdr/NbOfTxs", "no number"},
		{"</CdtTrfTxInf>", "</CdtTrfTxInf><CdtTrfTxInf></CdtTrfTxInf>", "CdtTrfTxInf", "send one transfer a message"},
		{"<MsgId>M1</MsgId>", "<MsgId>M1</MsgId><MsgId>M1</MsgId>", "GrpHdr/MsgId", "given twice"},
		{"<Dbtr>", "<Dbtr/><Dbtr>", transfer + "Dbtr", "given twice"},
		{"<EndToEndId>E1</EndToEndId>", "<TxId>T</TxId><EndToEndId>E1</EndToEndId>", transfer + "PmtId/EndToEndId", "comes after CdtTrfTxInf/PmtId/TxId"},
		{"<Cdtr/>", "<Cdtr/><ChrgsInf/><InstgAgt><FinInstnId><BICFI>BNPAFRPP</BICFI></FinInstnId></InstgAgt>", transfer + "InstgAgt/FinInstnId/BICFI", "comes after"},
		{"<EndToEndId>E1", "<EndToEndId><b/>E1", transfer + "PmtId/EndToEndId", "holds the element b"},
		// values
		{"<MsgId>M1", "<MsgId>", "GrpHdr/MsgId", "no text"},
		{"<MsgId>M1", "<MsgId>" + strings.Repeat("é", 36), "GrpHdr/MsgId", "more than 35"},
		{"<EndToEndId>E1", "<EndToEndId>" + strings.Repeat("x", 36), transfer + "PmtId/EndToEndId", "more than 35"},
		{"<EndToEndId>E1", "<EndToEndId>é", transfer + "PmtId/EndToEndId", "printable ASCII"},
		{"<EndToEndId>E1", "<EndToEndId>NOTPROVIDED", transfer + "PmtId/EndToEndId", "its own id"},
		{"8a562c67-ca16-48ba", "8A562C67-CA16-48BA", transfer + "PmtId/UETR", "lower case"},
		{"8a562c67-ca16-48ba", "8a562c67-ca16-18ba", transfer + "PmtId/UETR", "version 4"},
		{"2026-01-02T15:04:05+01:00", "2026-01-02", "GrpHdr/CreDtTm", "no time"},
		{"2026-01-02T15:04:05+01:00", "2026-02-30T15:04:05", "GrpHdr/CreDtTm", "no time"},
		{"2026-01-02T15:04:05+01:00", "2026-01-02T5:04:05.1", "GrpHdr/CreDtTm", "no time"},
		{"CLRG", "clrg", "GrpHdr/SttlmInf/SttlmMtd", "none of INDA"},
		{"SLEV", "OUR", transfer + "ChrgBr", "none of DEBT, CRED, SHAR, SLEV"},
		{"1250.75", "0", transfer + "IntrBkSttlmAmt", "not above 0"},
		{"1250.75", "-1", transfer + "IntrBkSttlmAmt", "no decimal"},
		{"1250.75", "1.000001", transfer + "IntrBkSttlmAmt", "5 of them after the point"},
		{"1250.75", "1e3", transfer + "IntrBkSttlmAmt", "no decimal"},
		{"1250.75", "1 0", transfer + "IntrBkSttlmAmt", "no decimal"},
		{"1250.75", "99999999999999999.9", transfer + "IntrBkSttlmAmt", "below 92,233,720,368"},
		{"1250.75", "9999999999999999999", transfer + "IntrBkSttlmAmt", "at most 18 digits"},
		{` Ccy="EUR"`, ``, transfer + "IntrBkSttlmAmt/@Ccy", "no currency"},
		{`Ccy="EUR"`, `Ccy="Eur"`, transfer + "IntrBkSttlmAmt/@Ccy", "three capital letters"},
		{`Ccy="EUR"`, `Ccy="EURO"`, transfer + "IntrBkSttlmAmt/@Ccy", "three capital letters"},
		{"GB82WEST12345698765432", "GB82WEST12345698765433", transfer + "DbtrAcct/Id/IBAN", "check digits"},
		{"GB82WEST12345698765432", "GB82 WEST 1234", transfer + "DbtrAcct/Id/IBAN", "letters and digits only"},
		{"GB82WEST12345698765432", "8282WEST12345698765432", transfer + "DbtrAcct/Id/IBAN", "two letters"},
		{"GB82WEST12345698765432", "GB82", transfer + "DbtrAcct/Id/IBAN", "5 to 34"},
		{"<IBAN>GB82WEST12345698765432</IBAN>", "<Othr><Id>A 1</Id></Othr>", transfer + "DbtrAcct/Id/Othr/Id", "is no account"},
		{"<IBAN>GB82WEST12345698765432</IBAN>", "<Othr><Id>" + strings.Repeat("x", 35) + "</Id></Othr>", transfer + "DbtrAcct/Id/Othr/Id", "34"},
		{"</IBAN>", "</IBAN><Othr><Id>A1</Id></Othr>", transfer + "DbtrAcct/Id", "both IBAN and Othr"},
		{"DEUTDEFF500", "DEUTDEFF50", transfer + "DbtrAgt/FinInstnId/BICFI", "no BIC"},
		{"BNPAFRPP", "BNPA1RPP", transfer + "CdtrAgt/FinInstnId/BICFI", "no BIC"},
		{"BNPAFRPP", "bnpafrpp", transfer + "CdtrAgt/FinInstnId/BICFI", "no BIC"},
	} {
		body := strings.Replace(validPacs008, c.old, c.new, 1)
		if body == validPacs008 {
			t.Fatalf("%q is not in it", c.old)
		}
		refused(t, "application/xml", []byte(body), http.StatusBadRequest, c.field, c.text)
	}
}

func attributes(n int) string {
	b := new(strings.Builder)
	for i := range n {
		fmt.Fprintf(b, " a%d=''", i)
	}
	return b.String()
}

// Example IBANs of the registrars.
func TestIBAN(t *testing.T) {
	for _, text := range []string{"GB82WEST12345698765432", "DE89370400440532013000", "FR1420041010050500013M02606", "NO9386011117947", "MT84MALT011000012345MTLCAST001S", "FR1420041010050500013m02606"} {
		if why := iban(text); why != "" {
			t.Errorf("%s %s", text, why)
		}
		for i := range text[4:] { // a change of any character is detected
			other := []byte(text)
			if other[4+i]++; iban(string(other)) == "" {
				t.Errorf("%s is accepted", other)
			}
		}
	}
}
