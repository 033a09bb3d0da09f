package chain

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
)

// Render is the inside of the array "transactions", in the shape of an API version.
func Render(txs []xrpl.Transaction, version int) []byte {
	around := len(`{"meta":"","tx_blob":""},`)
	if version > 1 {
		around = len(`{"hash":"","meta_blob":"","tx_blob":""},`) + 2*len(xrpl.Hash{})
	}
	size := 0
	for _, tx := range txs {
		size += around + 2*len(tx.Blob) + 2*len(tx.Meta)
	}
	b := make([]byte, 0, size)
	for i, tx := range txs {
		if i > 0 {
			b = append(b, ',')
		}
		b = answer.AppendTransaction(b, tx, version)
	}
	return b
}

// Pieces of a transaction of version 1.
const blobV1, metaV1, closing = `","tx_blob":"`, `{"meta":"`, `"}`

// parseTransactions reads what Render wrote in version 1.
func parseTransactions(b []byte) ([]xrpl.Transaction, error) {
	var txs []xrpl.Transaction
	for len(b) > 0 {
		var meta, blob []byte
		var ok [3]bool
		b, ok[0] = bytes.CutPrefix(b, []byte(metaV1))
		meta, b, ok[1] = bytes.Cut(b, []byte(blobV1))
		blob, b, ok[2] = bytes.Cut(b, []byte(closing))
		if ok != [3]bool{true, true, true} {
			return nil, fmt.Errorf("transaction %d of an answer is damaged", len(txs))
		}
		b, _ = bytes.CutPrefix(b, []byte(","))
		bin := make([]byte, hex.DecodedLen(len(meta))+hex.DecodedLen(len(blob)))
		n, err := hex.Decode(bin, meta)
		if err != nil {
			return nil, err
		}
		if _, err := hex.Decode(bin[n:], blob); err != nil {
			return nil, err
		}
		txs = append(txs, xrpl.Transaction{Meta: bin[:n:n], Blob: bin[n:]})
	}
	return txs, nil
}
