package answer

import (
	"encoding/json"
	"fmt"
	"time"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpljson"
)

// From this ledger or this close time on, metadata contains the delivered amount if it differs from
// Amount. Source: getDeliveredAmount of rippled.
const (
	deliveredIndex = 4_594_095
	deliveredClose = 446_000_000 // seconds since 2000-01-01
)

// decoded is a transaction and its metadata as rippled writes them without binary.
func (p *Page) decoded(tx xrpl.Transaction, version int) (fields, meta xrpljson.Object, err error) {
	if fields, err = xrpljson.Decode(tx.Blob); err == nil {
		meta, err = xrpljson.Decode(tx.Meta)
	}
	if err != nil {
		return nil, nil, ErrNotSupported.Saying(fmt.Sprintf(`Transaction %v cannot be decoded: ask with "binary": true (%v).`, xrpl.TransactionID(tx.Blob), err))
	}
	p.deliver(fields, meta)
	nameIssuance(fields, meta)
	if fields["TransactionType"] == "Payment" && fields["Amount"] != nil {
		fields["DeliverMax"] = fields["Amount"]
		if version > 1 {
			delete(fields, "Amount")
		}
	}
	return fields, meta, nil
}

func (p *Page) deliver(fields, meta xrpljson.Object) {
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
	case p.Parsed.Index >= deliveredIndex || p.Parsed.Close > deliveredClose:
		meta["delivered_amount"] = amount
	default:
		meta["delivered_amount"] = "unavailable"
	}
}

func (p *Page) closed() string { return xrpl.Time(p.Parsed.Close).Format(time.RFC3339) }

// enclosed is a transaction of version 2, which has its ledger beside it.
func (p *Page) enclosed(id xrpl.Hash, fields, meta xrpljson.Object) xrpljson.Object {
	return xrpljson.Object{"close_time_iso": p.closed(), "hash": id, "ledger_hash": p.Hash, "ledger_index": p.Parsed.Index,
		"meta": meta, "tx_json": fields, "validated": true}
}

// appendDecoded appends a transaction of the method ledger, expanded and without binary.
func (p *Page) appendDecoded(b []byte, tx xrpl.Transaction, id xrpl.Hash, version int) ([]byte, error) {
	fields, meta, err := p.decoded(tx, version)
	if err != nil {
		return b, err
	}
	if version == 1 {
		fields["hash"], fields["metaData"] = id, meta
		return appendJSON(b, fields)
	}
	return appendJSON(b, p.enclosed(id, fields, meta))
}

// placed is decoded, with the transaction's ledger among its fields.
func (p *Page) placed(id xrpl.Hash, tx xrpl.Transaction, version int, network *uint32) (fields, meta xrpljson.Object, err error) {
	if fields, meta, err = p.decoded(tx, version); err != nil {
		return nil, nil, err
	}
	nameTokens(fields, meta)
	if ctid := NameOf(p.Parsed.Index, tx, network); ctid != "" {
		fields["ctid"] = ctid
	}
	fields["date"], fields["ledger_index"] = p.Parsed.Close, p.Parsed.Index
	if version == 1 {
		fields["hash"], fields["inLedger"] = id, p.Parsed.Index
	}
	return fields, meta, nil
}

// foundDecoded is the result of the method tx without binary.
func (p *Page) foundDecoded(id xrpl.Hash, tx xrpl.Transaction, version int, network *uint32) ([]byte, error) {
	fields, meta, err := p.placed(id, tx, version, network)
	if err != nil {
		return nil, err
	}
	if version == 1 {
		fields["meta"], fields["status"], fields["validated"] = meta, "success", true
		return appendJSON(nil, fields)
	}
	all := p.enclosed(id, fields, meta)
	if fields["ctid"] != nil {
		all["ctid"] = fields["ctid"]
	}
	all["status"] = "success"
	return appendJSON(nil, all)
}

// appendDecodedOf appends a transaction of the method account_tx without binary.
func (p *Page) appendDecodedOf(b []byte, tx xrpl.Transaction, version int, network *uint32) ([]byte, error) {
	id := xrpl.TransactionID(tx.Blob)
	fields, meta, err := p.placed(id, tx, version, network)
	if err != nil {
		return b, err
	}
	if version == 1 {
		return appendJSON(b, xrpljson.Object{"meta": meta, "tx": fields, "validated": true})
	}
	return appendJSON(b, p.enclosed(id, fields, meta))
}

func appendJSON(b []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(b, text...), err
}
