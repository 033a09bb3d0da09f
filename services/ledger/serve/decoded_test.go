package serve

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpljson"
)

// A request without binary: each method answers with the same transaction, decoded, in the shapes
// of both versions.
func TestDecodedAnswers(t *testing.T) {
	ledgers := chain(t, 1990, 1992)
	s := warmed(t, Config{Store: filled(t, ledgers...)})
	l := ledgers[1]
	tx := l.Transactions[0]
	id := xrpl.TransactionID(tx.Blob).String()
	read := func(text string) (v map[string]any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &v); err != nil || v["error"] != nil {
			t.Fatalf("%v: %.300s", err, text)
		}
		return v
	}
	fields, err := xrpljson.Decode(tx.Blob)
	if err != nil {
		t.Fatal(err)
	}
	written, _ := json.Marshal(fields)
	want := read(string(written))
	// same says whether an answer has all fields of the transaction, and the metadata's result.
	same := func(where string, got map[string]any, meta any, version int) {
		t.Helper()
		for name, v := range want {
			if name == "Amount" && version == 2 {
				name = "DeliverMax"
			}
			if !reflect.DeepEqual(got[name], v) {
				t.Errorf("%s, version %d: %s is %v, want %v", where, version, name, got[name], v)
			}
		}
		if m, ok := meta.(map[string]any); !ok || m["TransactionResult"] != "tesSUCCESS" {
			t.Errorf("%s, version %d: metadata %v", where, version, meta)
		}
	}
	for version := 1; version <= 2; version++ {
		ledger := read(ask(t, s, "ledger", fmt.Sprintf(`{"ledger_index":%d,"transactions":true,"expand":true,"api_version":%d}`, l.Index, version)))
		for _, one := range ledger["ledger"].(map[string]any)["transactions"].([]any) {
			one := one.(map[string]any)
			if one["hash"] != id {
				continue
			}
			if version == 1 {
				same("ledger", one, one["metaData"], 1)
			} else {
				same("ledger", one["tx_json"].(map[string]any), one["meta"], 2)
			}
		}
		one := read(ask(t, s, "tx", fmt.Sprintf(`{"transaction":%q,"api_version":%d}`, id, version)))
		if version == 1 {
			same("tx", one, one["meta"], 1)
		} else {
			same("tx", one["tx_json"].(map[string]any), one["meta"], 2)
		}
		if one["hash"] != id || one["validated"] != true {
			t.Errorf("tx: %v", one)
		}
		page := read(ask(t, s, "account_tx", fmt.Sprintf(`{"account":%q,"ledger_index_min":%d,"ledger_index_max":%d,"api_version":%d}`,
			fields["Account"], l.Index, l.Index, version)))
		found := false
		for _, one := range page["transactions"].([]any) {
			one := one.(map[string]any)
			inner, _ := one[map[int]string{1: "tx", 2: "tx_json"}[version]].(map[string]any)
			if inner["TxnSignature"] == want["TxnSignature"] {
				found = true
				same("account_tx", inner, one["meta"], version)
			}
		}
		if !found {
			t.Errorf("account_tx, version %d: %v", version, page)
		}
	}
}
