package answer

import (
	"strconv"

	"dyno/services/ledger/xrpl"
)

// Page is a ledger prepared for answers. It must not be changed once other goroutines see it.
type Page struct {
	xrpl.Ledger // its Hash is that of its header
	Parsed      xrpl.Header

	// rendered is the whole result of the most frequent request, transactions expanded in binary,
	// for version 1 and 2. Nil: it is made per request.
	rendered [2][]byte
}

// NewPage parses a ledger's header.
func NewPage(l xrpl.Ledger) (*Page, error) {
	h, err := xrpl.ParseHeader(l.Header)
	if err != nil {
		return nil, err
	}
	l.Hash = h.Hash()
	return &Page{Ledger: l, Parsed: h}, nil
}

// Render makes the most frequent results in advance.
func (p *Page) Render() {
	for i := range p.rendered {
		p.rendered[i], _ = p.Result(Shape{Version: i + 1, Binary: true, Transactions: true, Expand: true}) // fails only without binary
	}
}

// Size is the memory of a page in bytes.
func (p *Page) Size() (n int64) {
	n = int64(len(p.rendered[0]) + len(p.rendered[1]) + len(p.Header))
	for _, tx := range p.Transactions {
		n += int64(len(tx.Blob) + len(tx.Meta))
	}
	return n
}

// Shape is what a request of the method ledger asks for.
type Shape struct {
	Version                      int // of the API
	Binary, Transactions, Expand bool
}

// Result is the result of the method ledger. The error is that of a transaction that cannot be
// decoded.
func (p *Page) Result(s Shape) (b []byte, err error) {
	if s.Binary && s.Transactions && s.Expand && p.rendered[s.Version-1] != nil {
		return p.rendered[s.Version-1], nil
	}
	b = append(p.room(s), `{"ledger":{`...)
	if s.Binary {
		b = appendHex(append(b, `"closed":true,"ledger_data":`...), p.Header)
	} else {
		b = AppendHeader(b, &p.Parsed, p.Hash, s.Version)
	}
	if s.Transactions {
		b = append(b, `,"transactions":[`...)
		for i := range p.Transactions {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = p.appendTransaction(b, p.Transactions[i], s); err != nil {
				return nil, err
			}
		}
		b = append(b, ']')
	}
	b = appendHex(append(b, `},"ledger_hash":`...), p.Hash[:])
	b = strconv.AppendUint(append(b, `,"ledger_index":`...), uint64(p.Parsed.Index), 10)
	return append(b, `,"status":"success","validated":true}`...), nil
}

func (p *Page) room(s Shape) []byte {
	const head, perTransaction = 1024, 128
	n := head
	if s.Transactions {
		for _, tx := range p.Transactions {
			n += perTransaction
			if s.Expand {
				n += 2 * (len(tx.Blob) + len(tx.Meta))
			}
		}
	}
	return make([]byte, 0, n)
}

func (p *Page) appendTransaction(b []byte, tx xrpl.Transaction, s Shape) ([]byte, error) {
	if s.Expand && s.Binary {
		return AppendTransaction(b, tx, s.Version), nil
	}
	id := xrpl.TransactionID(tx.Blob)
	if !s.Expand {
		return appendHex(b, id[:]), nil
	}
	return p.appendDecoded(b, tx, id, s.Version)
}

// Found is the result of the method tx for one of the ledger's transactions. Network is the id of
// the network; nil: not known, and the result has no ctid.
func (p *Page) Found(tx xrpl.Transaction, version int, binary bool, network *uint32) ([]byte, error) {
	id := xrpl.TransactionID(tx.Blob)
	if !binary {
		return p.foundDecoded(id, tx, version, network)
	}
	b := append(make([]byte, 0, 2*(len(tx.Blob)+len(tx.Meta))+512), '{')
	return append(AppendFound(b, &p.Parsed, p.Hash, id, tx, version, NameOf(p.Parsed.Index, tx, network), "success"), '}'), nil
}

// AppendOfAccount appends one of the ledger's transactions to the list of the method account_tx.
// Network is as in Found.
func (p *Page) AppendOfAccount(b []byte, tx xrpl.Transaction, version int, binary bool, network *uint32) ([]byte, error) {
	if !binary {
		return p.appendDecodedOf(b, tx, version, network)
	}
	b = strconv.AppendUint(append(b, `{"ledger_index":`...), uint64(p.Parsed.Index), 10)
	meta := `,"meta":`
	if version > 1 {
		meta = `,"meta_blob":`
	}
	b = appendHex(append(appendHex(append(b, meta...), tx.Meta), `,"tx_blob":`...), tx.Blob)
	return append(b, `,"validated":true}`...), nil
}
