package store

import (
	"strconv"

	"dyno/parts/xrpl"
)

// AppendAnswer appends a ledger as a server would answer it to a client that asked for binary, as one JSON object without a line
// break: what ledgersync verify reads. Its transactions are in the order in which they are given.
func AppendAnswer(b []byte, l *xrpl.Ledger) []byte {
	b = append(b, `{"status":"success","type":"response","result":{"ledger":{"closed":true,"ledger_data":"`...)
	b = appendHex(b, l.Header)
	b = append(b, `","transactions":[`...)
	for i := range l.Transactions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"tx_blob":"`...)
		b = appendHex(b, l.Transactions[i].Blob)
		b = append(b, `","meta":"`...)
		b = appendHex(b, l.Transactions[i].Meta)
		b = append(b, `"}`...)
	}
	b = append(b, `]},"ledger_hash":"`...)
	b = appendHex(b, l.Hash[:])
	b = append(b, `","ledger_index":`...)
	b = strconv.AppendUint(b, uint64(l.Index), 10)
	return append(b, `,"validated":true}}`...)
}

const upperHex = "0123456789ABCDEF" // as servers write it

func appendHex(b, bytes []byte) []byte {
	for _, c := range bytes {
		b = append(b, upperHex[c>>4], upperHex[c&15])
	}
	return b
}
