package serve

import (
	"encoding/json"
	"fmt"
	"time"

	"dyno/parts/xrpl"
	"dyno/parts/xrpl/xrpljson"
)

// From this ledger or this close time on, metadata contains the delivered amount if it differs from
// Amount. Source: getDeliveredAmount of rippled.
const (
	deliveredIndex = 4_594_095
	deliveredClose = 446_000_000 // seconds since 2000-01-01
)

// decoded is a transaction and its metadata as rippled writes them without binary.
func (p *page) decoded(tx xrpl.Transaction, version int) (fields, meta xrpljson.Object, err error) {
	if fields, err = xrpljson.Decode(tx.Blob); err == nil {
		meta, err = xrpljson.Decode(tx.Meta)
	}
	if err != nil {
		return nil, nil, errNotSupported.saying(fmt.Sprintf(`Transaction %v cannot be decoded: ask with "binary": true (%v).`, xrpl.TransactionID(tx.Blob), err))
	}
	p.deliver(fields, meta)
	if fields["TransactionType"] == "Payment" && fields["Amount"] != nil {
		fields["DeliverMax"] = fields["Amount"]
		if version > 1 {
			delete(fields, "Amount")
		}
	}
	return fields, meta, nil
}

func (p *page) deliver(fields, meta xrpljson.Object) {
	switch fields["TransactionType"] {
	case "Payment", "CheckCash", "AccountDelete":
	default:
		return
	}
	if meta["TransactionResult"] != "tesSUCCESS" {
		return
	}
	switch amount := fields["Amount"]; {
	case meta["DeliveredAmount"] != nil:
		meta["delivered_amount"] = meta["DeliveredAmount"]
	case amount == nil:
	case p.header.Index >= deliveredIndex || p.header.Close > deliveredClose:
		meta["delivered_amount"] = amount
	default:
		meta["delivered_amount"] = "unavailable"
	}
}

func (p *page) closed() string { return xrpl.Time(p.header.Close).Format(time.RFC3339) }

// appendDecoded appends a transaction of the method ledger, expanded and without binary.
func (p *page) appendDecoded(b []byte, tx xrpl.Transaction, id xrpl.Hash, version int) ([]byte, error) {
	fields, meta, err := p.decoded(tx, version)
	if err != nil {
		return b, err
	}
	if version == 1 {
		fields["hash"], fields["metaData"] = id, meta
		return appendJSON(b, fields)
	}
	return appendJSON(b, xrpljson.Object{"close_time_iso": p.closed(), "hash": id, "ledger_hash": p.hash, "ledger_index": p.header.Index,
		"meta": meta, "tx_json": fields, "validated": true})
}

func (p *page) decodedResult(id xrpl.Hash, tx xrpl.Transaction, version int) ([]byte, error) {
	fields, meta, err := p.decoded(tx, version)
	if err != nil {
		return nil, err
	}
	fields["date"], fields["ledger_index"] = p.header.Close, p.header.Index
	if version == 1 {
		fields["hash"], fields["inLedger"] = id, p.header.Index
		fields["meta"], fields["status"], fields["validated"] = meta, "success", true
		return appendJSON(nil, fields)
	}
	return appendJSON(nil, xrpljson.Object{"close_time_iso": p.closed(), "hash": id, "ledger_hash": p.hash, "ledger_index": p.header.Index,
		"meta": meta, "status": "success", "tx_json": fields, "validated": true})
}

// appendDecodedOf appends a transaction of the method account_tx without binary.
func (p *page) appendDecodedOf(b []byte, tx xrpl.Transaction, version int) ([]byte, error) {
	fields, meta, err := p.decoded(tx, version)
	if err != nil {
		return b, err
	}
	id := xrpl.TransactionID(tx.Blob)
	fields["date"], fields["ledger_index"] = p.header.Close, p.header.Index
	if version == 1 {
		fields["hash"], fields["inLedger"] = id, p.header.Index
		return appendJSON(b, xrpljson.Object{"meta": meta, "tx": fields, "validated": true})
	}
	return appendJSON(b, xrpljson.Object{"close_time_iso": p.closed(), "hash": id, "ledger_hash": p.hash, "ledger_index": p.header.Index,
		"meta": meta, "tx_json": fields, "validated": true})
}

func appendJSON(b []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(b, text...), err
}
