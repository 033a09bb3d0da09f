// Package response reads what servers of the XRP Ledger, rippled and Clio, send: the answers to
// `ledger` and `server_info`, and the messages of subscriptions. It turns their many ways to report
// an error into a Code. It is not for sending requests (services/ledger/servers), and proves
// nothing (services/ledger/xrpl does). It starts no goroutines.
//
// A ledger is read by one of two decoders: "json" is encoding/json into maps, and "scan" reads only
// the needed fields and decodes hex straight into the answer's memory. For any bytes both return
// the same answer or an error of the same Code (FuzzDecoders). For a real ledger of 90 transactions
// (187 KB), BenchmarkDecode printed in two runs, on a busy Xeon with AVX-512: scan 0.22 and 0.27 ms
// of CPU, simdjson-go with the same hex decoding 0.25 and 0.37 (and it needs AVX2),
// go-json-experiment/json into structs 0.79 and 0.85, json 4.0 and 4.1.
package response

import (
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Answer is a ledger as a server sent it. It owns the memory of its Header and Transactions, and
// reuses it when it is filled again. Its zero value is ready.
type Answer struct {
	xrpl.Ledger
	Validated bool // the server says so
	Warned    bool // the server says that the client nears its limit ("warning": "load")
	Bytes     int  // bytes of the answer as received

	memory []byte
}

// Tip is the last ledger that a server knows to be validated.
type Tip struct {
	Index uint32
	Hash  xrpl.Hash
}

// Info is a server's answer to server_info.
type Info struct {
	Complete  history.Set // the ledgers that it has
	Validated Tip
	Synced    bool    // with the network
	Network   *uint32 // id of the network; nil: not said
	Bytes     int     // bytes of the answer
}
