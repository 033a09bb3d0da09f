package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxDepth is how deep elements may be nested; in pacs.008 they are 12 deep at most.
const maxDepth = 32

// payment is what is looked at of an ISO 20022 FIToFICustomerCreditTransfer.
type payment struct {
	XMLName  xml.Name `xml:"Document"`
	Number   string   `xml:"FIToFICstmrCdtTrf>GrpHdr>NbOfTxs"`
	Transfer []struct {
		ID     string `xml:"PmtId>EndToEndId"`
		Amount struct {
			Currency string `xml:"Ccy,attr"`
			Value    string `xml:",chardata"`
		} `xml:"IntrBkSttlmAmt"`
		Account string `xml:"DbtrAcct>Id>Othr>Id"`
		IBAN    string `xml:"DbtrAcct>Id>IBAN"`
	} `xml:"FIToFICstmrCdtTrf>CdtTrfTxInf"`
}

// readPacs reads a pacs.008 message with one payment.
func readPacs(body []byte) (m submission, err error) {
	var in payment
	d := xml.NewTokenDecoder(&guarded{Decoder: xml.NewDecoder(bytes.NewReader(body))})
	if err := d.Decode(&in); err != nil {
		return m, refuse(http.StatusBadRequest, "the body cannot be read as pacs.008: %v", err)
	}
	for err == nil { // to the end, where there is nothing more but space and comments
		_, err = d.Token()
	}
	if err != io.EOF {
		return m, refuse(http.StatusBadRequest, "what follows the document cannot be read: %v", err)
	}
	if !strings.HasPrefix(in.XMLName.Space, "urn:iso:std:iso:20022:tech:xsd:pacs.008.001.") {
		return m, refuseField("Document", "its namespace is not one of pacs.008.001")
	}
	if in.Number != "1" || len(in.Transfer) != 1 {
		return m, refuseField("NbOfTxs", "send one payment at a time")
	}
	p := in.Transfer[0]
	m = submission{Account: p.Account + p.IBAN, ClientOrderID: p.ID, Symbol: p.Amount.Currency, Side: pay, kind: 2}
	var ok bool
	if m.Qty, ok = parseDecimal(strings.TrimSpace(p.Amount.Value)); !ok {
		return m, refuseField("IntrBkSttlmAmt", "give a number such as 1250.00")
	}
	return m, nil
}

// guarded reads one XML document, but no document type, which is where entities would come from, and nothing deep.
type guarded struct {
	*xml.Decoder
	depth int
	begun bool
}

// Token implements xml.TokenReader.
func (g *guarded) Token() (xml.Token, error) {
	t, err := g.RawToken()
	switch t := t.(type) {
	case xml.Directive:
		return nil, errors.New("a document type (<!DOCTYPE) is not allowed")
	case xml.StartElement:
		if g.depth == 0 && g.begun || g.depth == maxDepth {
			return nil, errors.New("there is more than one document, or elements are nested too deep")
		}
		g.depth, g.begun = g.depth+1, true
	case xml.EndElement:
		g.depth--
	case xml.CharData:
		if g.depth == 0 && len(bytes.TrimSpace(t)) > 0 {
			return nil, errors.New("there is text outside of the document")
		}
	}
	return t, err
}
