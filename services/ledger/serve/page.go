package serve

import (
	"strconv"
	"time"

	"dyno/parts/xrpl"
)

// page is a ledger prepared for answers. It is not changed once other goroutines see it.
type page struct {
	xrpl.Ledger
	header xrpl.Header
	hash   xrpl.Hash

	// rendered is the whole result of the most frequent request, transactions expanded in binary,
	// for api_version 1 and 2. Nil: it is made per request.
	rendered [2][]byte
}

func newPage(l xrpl.Ledger) (*page, error) {
	h, err := xrpl.ParseHeader(l.Header)
	if err != nil {
		return nil, err
	}
	return &page{Ledger: l, header: h, hash: h.Hash()}, nil
}

func (p *page) render() {
	for i := range p.rendered {
		p.rendered[i], _ = p.result(shape{version: i + 1, binary: true, transactions: true, expand: true}) // fails only without binary
	}
}

// size is the memory of a page in bytes.
func (p *page) size() (n int64) {
	n = int64(len(p.rendered[0]) + len(p.rendered[1]) + len(p.Header))
	for _, tx := range p.Transactions {
		n += int64(len(tx.Blob) + len(tx.Meta))
	}
	return n
}

type shape struct {
	version                      int // of the API
	binary, transactions, expand bool
}

// result is the answer to the method ledger, with members sorted by name, as in rippled. The error
// is that of a transaction that cannot be decoded.
func (p *page) result(s shape) (b []byte, err error) {
	if s.binary && s.transactions && s.expand && p.rendered[s.version-1] != nil {
		return p.rendered[s.version-1], nil
	}
	b = append(p.room(s), `{"ledger":{`...)
	if s.binary {
		b = appendHex(append(b, `"closed":true,"ledger_data":`...), p.Header)
	} else {
		b = p.appendHeader(b, s)
	}
	if s.transactions {
		b = append(b, `,"transactions":[`...)
		for i := range p.Transactions {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = p.appendTransaction(b, i, s); err != nil {
				return nil, err
			}
		}
		b = append(b, ']')
	}
	b = appendHex(append(b, `},"ledger_hash":`...), p.hash[:])
	b = strconv.AppendUint(append(b, `,"ledger_index":`...), uint64(p.header.Index), 10)
	return append(b, `,"status":"success","validated":true}`...), nil
}

func (p *page) room(s shape) []byte {
	const head, perTransaction = 1024, 128
	n := head
	if s.transactions {
		for _, tx := range p.Transactions {
			n += perTransaction
			if s.expand {
				n += 2 * (len(tx.Blob) + len(tx.Meta))
			}
		}
	}
	return make([]byte, 0, n)
}

func (p *page) appendTransaction(b []byte, i int, s shape) ([]byte, error) {
	tx := p.Transactions[i]
	switch id := xrpl.TransactionID(tx.Blob); {
	case !s.expand:
		return appendHex(b, id[:]), nil
	case !s.binary:
		return p.appendDecoded(b, tx, id, s.version)
	case s.version == 1:
		b = appendHex(append(b, `{"meta":`...), tx.Meta)
	default:
		b = appendHex(append(b, `{"hash":`...), id[:])
		b = appendHex(append(b, `,"meta_blob":`...), tx.Meta)
	}
	b = appendHex(append(b, `,"tx_blob":`...), tx.Blob)
	return append(b, '}'), nil
}

// noConsensus is the close flag of a ledger whose close time was not agreed upon.
const noConsensus = 1

// appendHeader appends the header's fields, decoded, as rippled names them.
func (p *page) appendHeader(b []byte, s shape) []byte {
	h := &p.header
	number := func(name string, n uint64) {
		b = strconv.AppendUint(append(append(append(b, ',', '"'), name...), `":`...), n, 10)
	}
	text := func(name, v string) {
		b = append(append(append(append(append(b, ',', '"'), name...), `":"`...), v...), '"')
	}
	b = appendHex(append(b, `"account_hash":`...), h.State[:])
	number("close_flags", uint64(h.Flags))
	number("close_time", uint64(h.Close))
	if h.Close != 0 {
		at := xrpl.Time(h.Close)
		if h.Flags&noConsensus != 0 {
			b = append(b, `,"close_time_estimated":true`...)
		}
		text("close_time_human", at.Format("2006-Jan-02 15:04:05.000000000 UTC"))
		text("close_time_iso", at.Format(time.RFC3339))
	}
	number("close_time_resolution", uint64(h.Resolution))
	b = append(b, `,"closed":true`...)
	text("ledger_hash", p.hash.String())
	if s.version == 1 {
		text("ledger_index", strconv.FormatUint(uint64(h.Index), 10))
	} else {
		number("ledger_index", uint64(h.Index))
	}
	number("parent_close_time", uint64(h.ParentClose))
	text("parent_hash", h.Parent.String())
	text("total_coins", strconv.FormatUint(h.Drops, 10))
	text("transaction_hash", h.Transactions.String())
	return b
}

// appendHex appends bytes as a JSON string of upper-case hex digits.
func appendHex(b, data []byte) []byte {
	return append(xrpl.AppendHex(append(b, '"'), data), '"')
}
