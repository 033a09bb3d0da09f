package response

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"

	"dyno/services/ledger/xrpl"
)

// jsonDecoder uses encoding/json into maps, and encoding/hex.
type jsonDecoder struct{}

func (jsonDecoder) Decode(answer []byte, into *Answer) error {
	if err := into.reset(answer); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	var top any
	if err := d.Decode(&top); err != nil {
		return Errorf(Malformed, "reading JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Errorf(Malformed, "reading JSON: data after the answer")
	}
	r := new(reply)
	var m, result, ledger map[string]any
	m, r.top = objectOf(top)
	result, r.result = objectOf(m["result"])
	ledger, r.ledger = objectOf(result["ledger"])
	for i, from := range []map[string]any{m, result} {
		r.fault[i] = fault{text(from["error"]), text(from["error_code"]), text(from["error_message"])}
		r.warning[i] = text(from["warning"])
	}
	for i, from := range []map[string]any{result, ledger} {
		r.index[i], r.hash[i] = text(from["ledger_index"]), text(from["ledger_hash"])
	}
	r.validated = result["validated"] == true
	closed, said := ledger["closed"]
	r.open = said && closed != true
	r.readLedger(ledger, into)
	return r.judge(into)
}

func (r *reply) readLedger(ledger map[string]any, into *Answer) {
	if data, ok := ledger["ledger_data"]; ok {
		r.header = true
		if into.Header, ok = unhex(data); !ok {
			r.badHeader = true
		}
	}
	list, ok := ledger["transactions"].([]any)
	if !ok && ledger["transactions"] != nil {
		r.badList = true
	}
	for _, item := range list {
		m, _ := item.(map[string]any)
		blob, good := unhex(m["tx_blob"])
		meta, either := m["meta"]
		if !either {
			meta = m["meta_blob"]
		}
		data, fine := unhex(meta)
		if !good || !fine {
			r.badList = true
			return
		}
		into.Transactions = append(into.Transactions, xrpl.Transaction{Blob: blob, Meta: data})
	}
}

func objectOf(v any) (map[string]any, object) {
	if v == nil {
		return nil, absent
	}
	if m, ok := v.(map[string]any); ok {
		return m, present
	}
	return nil, wrong
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func unhex(v any) ([]byte, bool) {
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	b, err := hex.DecodeString(s)
	return b, err == nil
}
