package sim

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"

	"dyno/parts/xrpl"
)

// Pieces of a transaction in binary, by API version. Only this file writes and reads them.
const (
	blobV1, metaV1 = `","tx_blob":"`, `{"meta":"`
	metaV2, blobV2 = `","meta_blob":"`, `","tx_blob":"`
	hashV2         = `{"hash":"`
	closing        = `"}`
)

// renderTransactions is the inside of the array "transactions", in the shape of an API version.
func renderTransactions(txs []xrpl.Transaction, version int) []byte {
	around := len(metaV1 + blobV1 + closing + ",")
	if version > 1 {
		around = len(hashV2+metaV2+blobV2+closing+",") + 2*len(xrpl.Hash{})
	}
	size := len(txs) * around
	for _, tx := range txs {
		size += 2*len(tx.Blob) + 2*len(tx.Meta)
	}
	b := make([]byte, 0, size)
	for i, tx := range txs {
		if i > 0 {
			b = append(b, ',')
		}
		if version == 1 {
			b = xrpl.AppendHex(append(b, metaV1...), tx.Meta)
			b = xrpl.AppendHex(append(b, blobV1...), tx.Blob)
		} else {
			id := xrpl.TransactionID(tx.Blob)
			b = xrpl.AppendHex(append(b, hashV2...), id[:])
			b = xrpl.AppendHex(append(b, metaV2...), tx.Meta)
			b = xrpl.AppendHex(append(b, blobV2...), tx.Blob)
		}
		b = append(b, closing...)
	}
	return b
}

// parseTransactions reads what renderTransactions wrote in version 1.
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

func appendIndex(b []byte, index uint32) []byte { return strconv.AppendUint(b, uint64(index), 10) }
