package store

import (
	"strconv"

	"dyno/parts/xrpl"
)

// AppendAnswer appends a ledger in the form of a server's binary answer, as one JSON object without
// a line break, which ledgersync verify reads. The order of its transactions is kept.
func AppendAnswer(b []byte, l *xrpl.Ledger) []byte {
	b = append(b, `{"status":"success","type":"response","result":{"ledger":{"closed":true,"ledger_data":"`...)
	b = xrpl.AppendHex(b, l.Header)
	b = append(b, `","transactions":[`...)
	for i := range l.Transactions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"tx_blob":"`...)
		b = xrpl.AppendHex(b, l.Transactions[i].Blob)
		b = append(b, `","meta":"`...)
		b = xrpl.AppendHex(b, l.Transactions[i].Meta)
		b = append(b, `"}`...)
	}
	b = append(b, `]},"ledger_hash":"`...)
	b = xrpl.AppendHex(b, l.Hash[:])
	b = append(b, `","ledger_index":`...)
	b = strconv.AppendUint(b, uint64(l.Index), 10)
	return append(b, `,"validated":true}}`...)
}
