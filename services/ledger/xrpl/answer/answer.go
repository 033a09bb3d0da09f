// Package answer writes what a rippled server answers about a validated ledger: the results of the
// methods ledger, tx and account_tx, of version 1 or 2 of the API, in binary or decoded, and errors
// by their codes. Members are sorted by name, as rippled sorts them.
//
// It is not for requests, envelopes and connections, which belong to the server, nor for reading
// answers, which belongs to the client. It verifies nothing and starts no goroutines.
package answer

import (
	"strconv"
	"time"

	"dyno/services/ledger/xrpl"
)

// AppendLine appends a whole answer to ledger, with all transactions in binary, as one JSON object
// without a line break. The order of the transactions is kept.
func AppendLine(b []byte, l *xrpl.Ledger) []byte {
	b = appendHex(append(b, `{"status":"success","type":"response","result":{"ledger":{"closed":true,"ledger_data":`...), l.Header)
	b = append(b, `,"transactions":[`...)
	for i := range l.Transactions {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendHex(append(b, `{"tx_blob":`...), l.Transactions[i].Blob)
		b = append(appendHex(append(b, `,"meta":`...), l.Transactions[i].Meta), '}')
	}
	b = appendHex(append(b, `]},"ledger_hash":`...), l.Hash[:])
	b = strconv.AppendUint(append(b, `,"ledger_index":`...), uint64(l.Index), 10)
	return append(b, `,"validated":true}}`...)
}

// AppendTransaction appends a transaction of the method ledger, expanded and in binary.
func AppendTransaction(b []byte, tx xrpl.Transaction, version int) []byte {
	if version == 1 {
		b = appendHex(append(b, `{"meta":`...), tx.Meta)
	} else {
		id := xrpl.TransactionID(tx.Blob)
		b = appendHex(append(b, `{"hash":`...), id[:])
		b = appendHex(append(b, `,"meta_blob":`...), tx.Meta)
	}
	return append(appendHex(append(b, `,"tx_blob":`...), tx.Blob), '}')
}

// AppendFound appends the members of the method tx's result in binary, without braces; ctid and
// status are the members of these names, or empty where the result has none.
func AppendFound(b []byte, h *xrpl.Header, hash xrpl.Hash, id xrpl.Hash, tx xrpl.Transaction, version int, ctid, status string) []byte {
	if ctid != "" {
		ctid = `"ctid":"` + ctid + `",`
	}
	if status != "" {
		status = `,"status":"` + status + `"`
	}
	index := strconv.FormatUint(uint64(h.Index), 10)
	if version == 1 {
		b = strconv.AppendUint(append(b, ctid+`"date":`...), uint64(h.Close), 10)
		b = appendHex(append(b, `,"hash":`...), id[:])
		b = append(b, `,"inLedger":`+index+`,"ledger_index":`+index...)
		b = appendHex(append(b, `,"meta":`...), tx.Meta)
		b = appendHex(append(append(b, status...), `,"tx":`...), tx.Blob)
	} else {
		b = append(b, `"close_time_iso":"`+xrpl.Time(h.Close).Format(time.RFC3339)+`",`+ctid...)
		b = appendHex(append(b, `"hash":`...), id[:])
		b = appendHex(append(b, `,"ledger_hash":`...), hash[:])
		b = append(b, `,"ledger_index":`+index...)
		b = appendHex(append(b, `,"meta_blob":`...), tx.Meta)
		b = appendHex(append(append(b, status...), `,"tx_blob":`...), tx.Blob)
	}
	return append(b, `,"validated":true`...)
}

// noConsensus is the close flag of a ledger whose close time was not agreed upon.
const noConsensus = 1

// AppendHeader appends a header's members, decoded, without braces.
func AppendHeader(b []byte, h *xrpl.Header, hash xrpl.Hash, version int) []byte {
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
	text("ledger_hash", hash.String())
	if version == 1 {
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
