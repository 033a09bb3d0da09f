package trust

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"dyno/services/ledger/xrpl"

	"github.com/go-json-experiment/json"
)

// A file may come from any source, so more forms are accepted than in a server's answer: with or
// without the result around the ledger, validated or not, in both shapes of a transaction. A value
// that a line contains twice must be the same in both places, because another reader may use the
// other one.
type (
	envelope struct {
		Result *result `json:"result"`
		result         // where the line is the result itself
	}
	result struct {
		Status string     `json:"status"`
		Error  string     `json:"error"`
		Index  index      `json:"ledger_index"`
		Hash   *xrpl.Hash `json:"ledger_hash"`
		Ledger *struct {
			Header       hexBytes      `json:"ledger_data"`
			Index        index         `json:"ledger_index"`
			Hash         *xrpl.Hash    `json:"ledger_hash"`
			Hash2        *xrpl.Hash    `json:"hash"`
			Transactions []transaction `json:"transactions"`
		} `json:"ledger"`
	}
	transaction struct {
		Blob  *hexBytes  `json:"tx_blob"`
		Meta  *hexBytes  `json:"meta"`
		Meta2 *hexBytes  `json:"meta_blob"`
		Hash  *xrpl.Hash `json:"hash"`
	}
)

// decode reads an answer. The index is set even with an error, if the line has one; the hash is
// zero if the line has none. A transaction's hash in the answer must be the transaction's own.
func decode(line []byte) (l xrpl.Ledger, err error) {
	var e envelope
	if err := json.Unmarshal(line, &e); err != nil {
		return l, fmt.Errorf("the line is no answer to `ledger` with expand: true and binary: true: %w", err)
	}
	r := &e.result
	if e.Result != nil {
		r = e.Result
	}
	l.Index = uint32(r.Index)
	switch {
	case r.Error != "" || r.Status == "error":
		return l, fmt.Errorf("the answer is an error: %.100q", r.Error)
	case e.Error != "" || e.Status == "error":
		return l, fmt.Errorf("the answer is an error: %.100q", e.Error)
	case r.Ledger == nil:
		return l, errors.New("the line has no result.ledger: it is no answer to `ledger`")
	case len(r.Ledger.Header) == 0:
		return l, errors.New("the ledger has no ledger_data: it must be requested with binary: true")
	}
	if l.Index == 0 {
		l.Index = uint32(r.Ledger.Index)
	}
	if r.Ledger.Index != 0 && uint32(r.Ledger.Index) != l.Index {
		return l, fmt.Errorf("the answer is for ledger %d, and the ledger in it is %d", l.Index, r.Ledger.Index)
	}
	if l.Hash, err = sameHash(r.Hash, r.Ledger.Hash, r.Ledger.Hash2); err != nil {
		return l, err
	}
	l.Header = r.Ledger.Header
	if h, err := xrpl.ParseHeader(l.Header); err == nil && l.Index == 0 {
		l.Index = h.Index
	}
	l.Transactions, err = decodeTransactions(r.Ledger.Transactions)
	return l, err
}

// sameHash is the one hash in said, or zero if all are nil. It fails if they differ.
func sameHash(said ...*xrpl.Hash) (hash xrpl.Hash, err error) {
	for _, h := range said {
		switch {
		case h == nil:
		case h.IsZero():
			return hash, errors.New("its ledger_hash is zero, which is no ledger's hash")
		case hash.IsZero():
			hash = *h
		case *h != hash:
			return hash, fmt.Errorf("the answer contains two hashes, %v and %v", hash, *h)
		}
	}
	return hash, nil
}

func decodeTransactions(list []transaction) ([]xrpl.Transaction, error) {
	txs := make([]xrpl.Transaction, len(list))
	for i, t := range list {
		if t.Meta == nil {
			t.Meta = t.Meta2
		}
		if t.Blob == nil || t.Meta == nil {
			return nil, fmt.Errorf("transaction %d of %d has no tx_blob or no meta", i+1, len(list))
		}
		if t.Meta2 != nil && !bytes.Equal(*t.Meta, *t.Meta2) {
			return nil, fmt.Errorf("transaction %d of %d has a meta and another meta_blob", i+1, len(list))
		}
		if t.Hash != nil {
			if id := xrpl.TransactionID(*t.Blob); *t.Hash != id {
				return nil, fmt.Errorf("transaction %d of %d is %v, the answer calls it %v", i+1, len(list), id, *t.Hash)
			}
		}
		txs[i] = xrpl.Transaction{Blob: *t.Blob, Meta: *t.Meta}
	}
	return txs, nil
}

// index is a ledger index: a number or a string of digits. Words ("validated") and null give none.
type index uint32

func (i *index) UnmarshalJSON(b []byte) error {
	text := string(bytes.Trim(b, `"`))
	if text == "null" || b[0] == '"' && (text == "" || text[0] < '0' || text[0] > '9') {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return fmt.Errorf("ledger_index %.20q is no index", text)
	}
	*i = index(n)
	return nil
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) error {
	b, err := hex.AppendDecode(make([]byte, 0, len(text)/2), text)
	*h = b
	return err
}
