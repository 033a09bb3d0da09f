package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
)

// member is one of rippled's answer, as its documentation lists them, and in which versions of the
// API the answer here has it.
type member struct {
	path     string // of names; in a list, of its first element
	versions string // with it: "1 2"
	left     string // why it is left out; "": it is there
}

const (
	state   = "comes from the state of the ledger"
	peering = "a server of history has no peers, no consensus and no key"
	machine = "is about the server's process"
)

// members are those of rippled 2.6 and 3.0 by method; a name with a number has other parameters.
var members = map[string][]member{
	"server_info": {
		{"info.build_version", "1 2", ""}, {"info.complete_ledgers", "1 2", ""}, {"info.hostid", "1 2", ""}, {"info.jq_trans_overflow", "1 2", ""},
		{"info.load_factor", "1 2", ""}, {"info.network_id", "1 2", ""}, {"info.peer_disconnects", "1 2", ""}, {"info.peer_disconnects_resources", "1 2", ""},
		{"info.peers", "1 2", ""}, {"info.server_state", "1 2", ""}, {"info.time", "1 2", ""}, {"info.uptime", "1 2", ""},
		{"info.validated_ledger.age", "1 2", ""}, {"info.validated_ledger.hash", "1 2", ""}, {"info.validated_ledger.seq", "1 2", ""}, {"status", "1 2", ""},
		{"info.validated_ledger.base_fee_xrp", "", state}, {"info.validated_ledger.reserve_base_xrp", "", state}, {"info.validated_ledger.reserve_inc_xrp", "", state},
		{"info.last_close", "", peering}, {"info.pubkey_node", "", peering}, {"info.validation_quorum", "", peering},
		{"info.initial_sync_duration_us", "", machine}, {"info.io_latency_ms", "", machine}, {"info.ports", "", machine},
		{"info.server_state_duration_us", "", machine}, {"info.state_accounting", "", machine},
	},
	"ledger": {
		{"ledger.account_hash", "1 2", ""}, {"ledger.close_flags", "1 2", ""}, {"ledger.close_time", "1 2", ""}, {"ledger.close_time_human", "1 2", ""},
		{"ledger.close_time_iso", "1 2", ""}, {"ledger.close_time_resolution", "1 2", ""}, {"ledger.closed", "1 2", ""}, {"ledger.ledger_hash", "1 2", ""},
		{"ledger.ledger_index", "1 2", ""}, {"ledger.parent_close_time", "1 2", ""}, {"ledger.parent_hash", "1 2", ""}, {"ledger.total_coins", "1 2", ""},
		{"ledger.transaction_hash", "1 2", ""}, {"ledger.transactions", "1 2", ""}, {"ledger_hash", "1 2", ""}, {"ledger_index", "1 2", ""},
		{"validated", "1 2", ""}, {"status", "1 2", ""},
		{"ledger.transactions.hash", "1 2", ""}, {"ledger.transactions.metaData", "1", ""}, {"ledger.transactions.DeliverMax", "1", ""}, {"ledger.transactions.Amount", "1", ""},
		{"ledger.transactions.metaData.delivered_amount", "1", ""}, {"ledger.transactions.meta.delivered_amount", "2", ""},
		{"ledger.transactions.tx_json.DeliverMax", "2", ""}, {"ledger.transactions.ledger_hash", "2", ""}, {"ledger.transactions.ledger_index", "2", ""},
		{"ledger.transactions.close_time_iso", "2", ""}, {"ledger.transactions.validated", "2", ""},
		{"ledger.transactions.owner_funds", "", state}, {"ledger.accountState", "", state},
	},
	"ledger 2": {{"ledger.ledger_data", "1 2", ""}, {"ledger.closed", "1 2", ""}, {"ledger.transactions.tx_blob", "1 2", ""}, {"ledger.transactions.meta", "1", ""},
		{"ledger.transactions.meta_blob", "2", ""}, {"ledger.transactions.hash", "2", ""}},
	"tx": {
		{"hash", "1 2", ""}, {"ledger_index", "1 2", ""}, {"meta", "1 2", ""}, {"meta.delivered_amount", "1 2", ""}, {"validated", "1 2", ""}, {"status", "1 2", ""},
		{"ctid", "1 2", ""}, {"date", "1", ""}, {"inLedger", "1", ""}, {"Amount", "1", ""}, {"DeliverMax", "1", ""}, {"Account", "1", ""},
		{"close_time_iso", "2", ""}, {"ledger_hash", "2", ""}, {"tx_json.Account", "2", ""}, {"tx_json.DeliverMax", "2", ""}, {"tx_json.date", "2", ""},
		{"tx_json.ledger_index", "2", ""}, {"tx_json.ctid", "2", ""},
	},
	"tx 2": {{"hash", "1 2", ""}, {"ledger_index", "1 2", ""}, {"ctid", "1 2", ""}, {"validated", "1 2", ""}, {"tx", "1", ""}, {"meta", "1", ""}, {"date", "1", ""}, {"inLedger", "1", ""},
		{"tx_blob", "2", ""}, {"meta_blob", "2", ""}, {"close_time_iso", "2", ""}, {"ledger_hash", "2", ""}},
	"account_tx": {
		{"account", "1 2", ""}, {"ledger_index_max", "1 2", ""}, {"ledger_index_min", "1 2", ""}, {"limit", "1 2", ""}, {"marker", "1 2", ""}, {"validated", "1 2", ""}, {"status", "1 2", ""},
		{"transactions.meta", "1 2", ""}, {"transactions.meta.delivered_amount", "1 2", ""}, {"transactions.validated", "1 2", ""},
		{"transactions.tx.hash", "1", ""}, {"transactions.tx.date", "1", ""}, {"transactions.tx.inLedger", "1", ""}, {"transactions.tx.ledger_index", "1", ""},
		{"transactions.tx.ctid", "1", ""}, {"transactions.tx.DeliverMax", "1", ""}, {"transactions.tx.Amount", "1", ""},
		{"transactions.close_time_iso", "2", ""}, {"transactions.hash", "2", ""}, {"transactions.ledger_hash", "2", ""}, {"transactions.ledger_index", "2", ""},
		{"transactions.tx_json.date", "2", ""}, {"transactions.tx_json.ledger_index", "2", ""}, {"transactions.tx_json.ctid", "2", ""}, {"transactions.tx_json.DeliverMax", "2", ""},
	},
	"account_tx 2": {{"transactions.ledger_index", "1 2", ""}, {"transactions.tx_blob", "1 2", ""}, {"transactions.meta", "1", ""}, {"transactions.meta_blob", "2", ""}, {"transactions.validated", "1 2", ""}},
	"ping":         {{"status", "1 2", ""}},
}

// lookup finds a member of an answer.
func lookup(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		object, _ := v.(map[string]any)
		var ok bool
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// Answers have the members of rippled's, in the versions that have them; the how-to names those
// that are left out.
func TestMembers(t *testing.T) {
	ledgers := chain(t, 1985, 2000)
	s := warmed(t, Config{Store: filled(t, ledgers...), Network: func() *uint32 { return new(uint32(1)) }})
	id, account := xrpl.TransactionID(ledgers[1].Transactions[0].Blob).String(), payers[0].Account().String()
	params := map[string]string{
		"ledger": `"ledger_index":1990,"transactions":true,"expand":true`, "ledger 2": `"ledger_index":1990,"transactions":true,"expand":true,"binary":true`,
		"tx": fmt.Sprintf(`"transaction":%q`, id), "tx 2": fmt.Sprintf(`"transaction":%q,"binary":true`, id),
		"account_tx": fmt.Sprintf(`"account":%q,"limit":10`, account), "account_tx 2": fmt.Sprintf(`"account":%q,"binary":true`, account),
	}
	page, err := os.ReadFile("../../../docs/how-to/ledgersync-serve.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range members {
		method, _, _ := strings.Cut(name, " ")
		for version := 1; version <= 2; version++ {
			object := fmt.Sprintf(`{"api_version":%d`, version)
			if params[name] != "" {
				object += "," + params[name]
			}
			text := ask(t, s, method, object+"}")
			var got any
			if err := json.Unmarshal([]byte(text), &got); err != nil || strings.Contains(text, `"error"`) {
				t.Fatalf("%s, version %d: %v: %.300s", name, version, err, text)
			}
			for _, m := range list {
				if _, has := lookup(got, m.path); has != strings.Contains(m.versions, fmt.Sprint(version)) {
					t.Errorf("%s, version %d: %s is there: %v", name, version, m.path, has)
				}
			}
		}
		for _, m := range list {
			last := m.path[strings.LastIndexByte(m.path, '.')+1:]
			if m.left != "" && !strings.Contains(string(page), "`"+last+"`") {
				t.Errorf("docs/how-to/ledgersync-serve.md does not say that %s lacks %s, which %s", name, m.path, m.left)
			}
		}
	}
}

// A transaction is found by its place, on the right network.
func TestByPlace(t *testing.T) {
	ledgers := chain(t, 1990, 2000)
	network := new(uint32(1025))
	s := warmed(t, Config{Store: filled(t, ledgers...), Network: func() *uint32 { return network }})
	for i, tx := range ledgers[3].Transactions {
		at := answer.CTID{Index: 1993, Position: uint32(i), Network: 1025}
		for _, text := range []string{at.String(), strings.ToLower(at.String())} {
			if got := ask(t, s, "tx", fmt.Sprintf(`{"ctid":%q,"binary":true}`, text)); !strings.Contains(got, xrpl.TransactionID(tx.Blob).String()) ||
				!strings.Contains(got, fmt.Sprintf(`"ctid":%q`, at)) {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
	for text, want := range map[string]string{
		"C00007C900030401": "txnNotFound", "C000000100000401": "txnNotFound", "C00007C900000001": "NetworkID: 1\"", "B00007C900000401": "invalidParams",
		"C00007C90000040": "invalidParams", "": "invalidParams", "C00007C9000004010": "invalidParams", "G00007C900000401": "invalidParams",
	} {
		if got := ask(t, s, "tx", fmt.Sprintf(`{"ctid":%q}`, text)); !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
	network = nil
	if got := ask(t, s, "tx", `{"ctid":"C00007C900000401"}`); !strings.Contains(got, "--network-id") {
		t.Error(got)
	}
}
