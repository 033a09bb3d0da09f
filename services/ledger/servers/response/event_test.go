package response

import (
	"encoding/json"
	"strings"
	"testing"
)

// A server that is not in full state, or has no validated ledger, is not synced.
func TestInfo(t *testing.T) {
	for _, tt := range []struct {
		info   string
		synced bool
		kind   Code
	}{
		{`"complete_ledgers":"empty","server_state":"connected"`, false, 0},
		{`"complete_ledgers":"1-9","server_state":"syncing","validated_ledger":{"hash":"` + hash + `","seq":9}`, false, 0},
		{`"complete_ledgers":"1-9","validated_ledger":{"hash":"` + hash + `","seq":9}`, true, 0},
		{`"complete_ledgers":"9-1"`, false, Malformed},
		{`"validated_ledger":{"hash":"","seq":9}`, false, Malformed},
	} {
		info, err := DecodeInfo([]byte(`{"result":{"info":{` + tt.info + `}}}`))
		if info.Synced != tt.synced || CodeOf(err) != tt.kind {
			t.Errorf("%s: %+v, %v", tt.info, info, err)
		}
	}
	if _, err := DecodeInfo([]byte(`{"result":{"error":"noNetwork"}}`)); CodeOf(err) != NotSynced {
		t.Error(err)
	}
	if _, err := DecodeInfo([]byte(`{"result":{}}`)); CodeOf(err) != Empty {
		t.Error(err)
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"type":"validationReceived","ledger_hash":"` + hash + `","ledger_index":"7","data":"0A0B"}`))
	f.Add([]byte(`{"id":2,"result":{"ledger_hash":"` + hash + `","ledger_index":6,"validated_ledgers":"1-6"},"type":"response"}`))
	f.Add([]byte(`{"error":"noNetwork","id":18446744073709551615}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, _, err := DecodeEvent(text)
		if err != nil && CodeOf(err) == 0 {
			t.Errorf("%v is no *Error", err)
		}
		if err == nil && e.Stream != "" && e.Hash.IsZero() && !strings.Contains(string(text), "00000000") {
			t.Errorf("%+v without a hash", e)
		}
		if id, ok := RequestID(text); ok && json.Valid(text) {
			var m struct {
				ID *uint64 `json:"id"`
			}
			// The first id of several, and only in lower case, is what idOf finds.
			if strings.Count(strings.ToLower(string(text)), "id") == 1 && json.Unmarshal(text, &m) == nil && m.ID != nil && *m.ID != id {
				t.Errorf("id %d, want %d", id, *m.ID)
			}
		}
	})
}
