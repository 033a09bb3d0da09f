package message

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"dyno/parts/refusal"
	"dyno/services/orders/order"
)

// encoding/xml is safe here: it opens no file and no connection, it uses no entity from a DTD (in
// its strict mode a reference to any but the five of XML and numbers is a syntax error), and
// Decoder.Token does not recurse. The rest is bounded: the decoder's memory by MaxSize, and the
// results by the constants below. DOCTYPE and processing instructions are refused nevertheless, so
// that another reader of the audit reads a message in the same way.
const (
	maxElements   = 2000
	maxAttributes = 8    // per element
	maxAttribute  = 1024 // bytes; the longest usual one is a schemaLocation
	maxText       = 1024 // bytes in an element whose value is checked
)

const (
	pacs008Space = "urn:iso:std:iso:20022:tech:xsd:pacs.008.001."
	pacs008Range = pacs008Space + "08 to " + pacs008Space + "13"
)

// xmlReader parses one message.
type xmlReader struct {
	decoder  *xml.Decoder
	body     []byte
	space    string // namespace of Document
	path     []byte // of the current element, below FIToFICstmrCdtTrf
	open     []xmlElement
	elements int
	foreign  int // depth of an envelope that may contain anything; 0 means outside
	last     int // index in pacs008Elements of the last known element
	leaf     int // index of the open element, if its text counts; -1 means none
	text     []byte
	values   [pacs008Count]string
	seen     [pacs008Count]bool
	currency string
}

// xmlElement is an open element.
type xmlElement struct {
	outer     int  // length of the path before it was appended
	container bool // known to contain elements instead of text
}

// parsePacs008 parses a FIToFICustomerCreditTransfer with one transfer as a payment order.
func parsePacs008(body []byte) (order.Submission, error) {
	text, err := utf8Text(body)
	if err != nil {
		return order.Submission{}, err
	}
	r := xmlReader{decoder: xml.NewDecoder(bytes.NewReader(text)), body: text, leaf: -1, last: -1}
	r.decoder.CharsetReader = otherCharset
	for {
		token, err := r.decoder.Token()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = r.token(token)
		}
		if err != nil {
			return order.Submission{}, r.failed(err)
		}
	}
	if r.elements == 0 {
		return order.Submission{}, refuse("no XML element; send a Document of pacs.008")
	}
	return r.submission()
}

func otherCharset(charset string, _ io.Reader) (io.Reader, error) {
	return nil, refuse("the XML declaration says that the message is %.40q; send UTF-8", charset)
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// utf8Text removes a byte order mark, and refuses other encodings.
func utf8Text(body []byte) ([]byte, error) {
	if bytes.HasPrefix(body, []byte("\xfe\xff")) || bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\x00<")) || bytes.HasPrefix(body, []byte("<\x00")) {
		return nil, refuse("the message is UTF-16; send UTF-8")
	}
	return bytes.TrimPrefix(body, byteOrderMark), nil
}

// failed converts a decoder error to one with a position.
func (r *xmlReader) failed(err error) error {
	var ours *refusal.Error
	if errors.As(err, &ours) {
		return ours
	}
	why := strings.TrimPrefix(err.Error(), "xml: ")
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		why = syntax.Msg
	}
	line, column := r.decoder.InputPos()
	return refuse("no XML at line %d, column %d: %.200s", line, column, why)
}

func (r *xmlReader) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return r.start(t)
	case xml.EndElement:
		return r.end()
	case xml.CharData:
		return r.chars(t)
	case xml.Directive:
		return refuse("a message has no DOCTYPE or other declaration; leave it out")
	case xml.ProcInst:
		if t.Target != "xml" || !r.atBeginning() {
			return refuse("a message has no processing instruction but the XML declaration at its very beginning; leave out <?%.40s", t.Target)
		}
	}
	return nil // comments
}

// atBeginning reports whether the current processing instruction is the first thing in the message.
func (r *xmlReader) atBeginning() bool {
	return bytes.HasPrefix(r.body, []byte("<?")) && int(r.decoder.InputOffset()) == bytes.Index(r.body, []byte("?>"))+len("?>")
}

func (r *xmlReader) start(e xml.StartElement) error {
	if r.elements++; r.elements > maxElements {
		return refuse("more than %d elements; leave out what the payment does not need", maxElements)
	}
	if len(r.open) == maxDepth {
		return refuse("elements nested deeper than %d levels; flatten them", maxDepth)
	}
	if err := checkAttributes(e); err != nil {
		return err
	}
	if r.leaf >= 0 {
		return blame(pacs008Elements[r.leaf].path, "holds the element %.64s; it has only text", e.Name.Local)
	}
	if r.foreign == 0 {
		if err := r.outer(e.Name); err != nil {
			return err
		}
	}
	r.open = append(r.open, xmlElement{outer: len(r.path), container: len(r.open) < 2})
	if r.foreign > 0 || len(r.open) <= 2 {
		return nil
	}
	if len(r.path) > 0 {
		r.path = append(r.path, '/')
	}
	r.path = append(r.path, e.Name.Local...)
	switch i, known := pacs008Index[string(r.path)]; {
	case known:
		return r.enter(i, e.Attr)
	case string(r.path) == "SplmtryData/Envlp", string(r.path) == "CdtTrfTxInf/SplmtryData/Envlp":
		r.foreign = len(r.open)
	}
	return nil
}

// outer checks the namespace and the outermost elements.
func (r *xmlReader) outer(name xml.Name) error {
	switch depth := len(r.open); {
	case depth == 0:
		if r.elements > 1 {
			return refuse("%.64s follows the Document; send one payment a message", name.Local)
		}
		if name.Local != "Document" {
			return refuse("the outermost element is %.64s; send a bare Document, without header or envelope", name.Local)
		}
		version, ok := strings.CutPrefix(name.Space, pacs008Space)
		if !ok || len(version) != 2 || version < "08" || version > "13" {
			return blame("Document", "the namespace is %.80q; it must be one of %s", name.Space, pacs008Range)
		}
		r.space = name.Space
		return nil
	case name.Space != r.space:
		return refuse("the element %.64s is in the namespace %.80q, Document in %q; they must be the same", name.Local, name.Space, r.space)
	case depth == 1:
		if r.elements > 2 || name.Local != "FIToFICstmrCdtTrf" {
			return blame("Document", "holds %.64s; it has one FIToFICstmrCdtTrf", name.Local)
		}
	case depth == 2:
		switch name.Local {
		case "GrpHdr", "CdtTrfTxInf", "SplmtryData":
		default:
			return blame("FIToFICstmrCdtTrf", "holds %.64s; it has GrpHdr, CdtTrfTxInf and SplmtryData", name.Local)
		}
	}
	return nil
}

func checkAttributes(e xml.StartElement) error {
	if len(e.Attr) > maxAttributes {
		return refuse("the element %.64s has %d attributes; the most is %d", e.Name.Local, len(e.Attr), maxAttributes)
	}
	for i, a := range e.Attr {
		if len(a.Value) > maxAttribute {
			return refuse("the attribute %.64s of %.64s has %d bytes; the most is %d", a.Name.Local, e.Name.Local, len(a.Value), maxAttribute)
		}
		for _, other := range e.Attr[:i] {
			if other.Name == a.Name {
				return refuse("the element %.64s has the attribute %.64s twice; leave one out", e.Name.Local, a.Name.Local)
			}
		}
	}
	return nil
}

// enter processes an element of pacs008Elements: it must occur once, in the schema's order.
func (r *xmlReader) enter(i int, attributes []xml.Attr) error {
	e := &pacs008Elements[i]
	switch {
	case r.seen[i] && e.path == "CdtTrfTxInf":
		return blame(e.path, "there is more than one; send one transfer a message")
	case r.seen[i]:
		return blame(e.path, "given twice; leave one out")
	case i < r.last:
		return blame(e.path, "comes after %s; the schema has it before", pacs008Elements[r.last].path)
	}
	r.seen[i], r.last = true, i
	if e.check == nil {
		r.open[len(r.open)-1].container = true
		return nil
	}
	r.leaf, r.text = i, r.text[:0]
	if i == pacsAmount {
		for _, a := range attributes {
			if a.Name == (xml.Name{Local: "Ccy"}) {
				r.currency = a.Value
			}
		}
	}
	return nil
}

func (r *xmlReader) chars(text xml.CharData) error {
	if r.leaf >= 0 {
		if len(r.text)+len(text) > maxText {
			return blame(pacs008Elements[r.leaf].path, "has more than %d bytes", maxText)
		}
		r.text = append(r.text, text...)
		return nil
	}
	if len(r.open) > 0 && !r.open[len(r.open)-1].container {
		return nil
	}
	if text = bytes.Trim(text, " \t\r\n"); len(text) > 0 {
		return refuse("the text %.40q stands where elements belong", text)
	}
	return nil
}

func (r *xmlReader) end() error {
	if r.leaf >= 0 {
		e := &pacs008Elements[r.leaf]
		r.values[r.leaf] = string(r.text)
		if why := e.check(r.values[r.leaf]); why != "" {
			return blame(e.path, "%.80q %s", r.text, why)
		}
		r.leaf = -1
	}
	if r.foreign == len(r.open) {
		r.foreign = 0
	}
	last := len(r.open) - 1
	r.path = r.path[:r.open[last].outer]
	r.open = r.open[:last]
	return nil
}

func (r *xmlReader) submission() (s order.Submission, err error) {
	for i, e := range pacs008Elements {
		if e.mandatory && !r.seen[i] {
			return s, blame(e.path, "missing; a payment needs one")
		}
	}
	s = order.Submission{Kind: order.Pacs008, Side: order.Pay, ClientOrderID: r.values[pacsEndToEndID], Symbol: r.currency}
	id, amount := pacs008Elements[pacsEndToEndID].path, pacs008Elements[pacsAmount].path
	if err := checkClientOrderID(id, s.ClientOrderID); err != nil {
		return s, err
	}
	if s.ClientOrderID == "NOTPROVIDED" {
		return s, blame(id, "NOTPROVIDED does not identify a payment; give each its own id")
	}
	if !currencyCode(s.Symbol) {
		return s, blame(amount+"/@Ccy", "%.40q is no currency; it has three capital letters", s.Symbol)
	}
	value, _ := canonicalDecimal(r.values[pacsAmount]) // its check has passed
	if s.Qty, err = positive(amount, value); err != nil {
		return s, err
	}
	s.Account, err = r.debtor()
	return s, err
}

// debtor returns the account to debit; "" if the message names none.
func (r *xmlReader) debtor() (string, error) {
	switch iban, other := r.values[pacsDebtorIBAN], r.values[pacsDebtorOther]; {
	case iban != "" && other != "":
		return "", blame("CdtTrfTxInf/DbtrAcct/Id", "has both IBAN and Othr; leave one out")
	case iban != "":
		return iban, nil // letters and digits: a valid account name
	case other != "":
		return other, checkAccount(pacs008Elements[pacsDebtorOther].path, other)
	}
	return "", nil
}
