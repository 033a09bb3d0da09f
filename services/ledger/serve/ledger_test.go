package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dyno/services/ledger/xrpl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hexOf(b []byte) string { return fmt.Sprintf("%X", b) }

// expected is a ledger's answer, rendered independently of the server.
func expected(l *xrpl.Ledger, version int, binary, transactions, expand bool) string {
	header, _ := xrpl.ParseHeader(l.Header)
	in := map[string]any{"closed": true}
	if binary {
		in["ledger_data"] = hexOf(l.Header)
	} else {
		iso := xrpl.Time(header.Close)
		in = map[string]any{
			"closed": true, "account_hash": header.State, "close_flags": header.Flags, "close_time": header.Close,
			"close_time_human": iso.Format("2006-Jan-02 15:04:05") + ".000000000 UTC", "close_time_iso": iso.Format("2006-01-02T15:04:05Z"),
			"close_time_resolution": header.Resolution, "ledger_hash": l.Hash, "ledger_index": any(header.Index),
			"parent_close_time": header.ParentClose, "parent_hash": header.Parent, "total_coins": fmt.Sprint(header.Drops), "transaction_hash": header.Transactions,
		}
		if version == 1 {
			in["ledger_index"] = fmt.Sprint(header.Index)
		}
		if header.Flags&1 != 0 {
			in["close_time_estimated"] = true
		}
	}
	if transactions {
		list := []any{}
		for _, tx := range l.Transactions {
			switch id := xrpl.TransactionID(tx.Blob); {
			case !expand:
				list = append(list, id)
			case version == 1:
				list = append(list, map[string]any{"tx_blob": hexOf(tx.Blob), "meta": hexOf(tx.Meta)})
			default:
				list = append(list, map[string]any{"tx_blob": hexOf(tx.Blob), "meta_blob": hexOf(tx.Meta), "hash": id})
			}
		}
		in["transactions"] = list
	}
	b, _ := json.Marshal(map[string]any{"ledger": in, "ledger_hash": l.Hash, "ledger_index": l.Index, "status": "success", "validated": true})
	return string(b)
}

func TestLedgerShapes(t *testing.T) {
	ledgers := chain(t, 1990, 2000)
	hotAndCold(t, func(t *testing.T, c Config) {
		c.Store = filled(t, ledgers...)
		s := warmed(t, c)
		for _, l := range []*xrpl.Ledger{ledgers[10], ledgers[3]} {
			for bits := range 16 {
				version, binary, transactions, expand := 1+bits&1, bits&2 != 0, bits&4 != 0, bits&8 != 0
				if !binary && transactions && expand {
					continue // refused
				}
				params := fmt.Sprintf(`{"ledger_index":%d,"api_version":%d,"binary":%t,"transactions":%t,"expand":%t}`, l.Index, version, binary, transactions, expand)
				if got, want := ask(t, s, "ledger", params), expected(l, version, binary, transactions, expand); got != want {
					t.Errorf("%s:\n%.600s\nwant\n%.600s", params, got, want)
				}
			}
		}
	})
}

func TestLedgerSpecifiers(t *testing.T) {
	ledgers := chain(t, 1990, 2000)
	s := warmed(t, Config{Store: filled(t, ledgers...), Hot: 2})
	for _, l := range []*xrpl.Ledger{ledgers[10], ledgers[2]} {
		want := expected(l, 1, true, false, false)
		for _, by := range []string{
			fmt.Sprintf(`"ledger_index":%d`, l.Index), fmt.Sprintf(`"ledger_index":"%d"`, l.Index), fmt.Sprintf(`"ledger":%d`, l.Index),
			fmt.Sprintf(`"ledger_hash":%q`, l.Hash), fmt.Sprintf(`"ledger_hash":%q`, strings.ToLower(l.Hash.String())), fmt.Sprintf(`"ledger":%q`, l.Hash),
		} {
			if got := ask(t, s, "ledger", `{"binary":true,`+by+`}`); got != want {
				t.Errorf("%s: %s", by, got)
			}
		}
	}
	for _, newest := range []string{`{"ledger_index":"validated","binary":1}`, `{"ledger_index":null,"binary":"yes"}`, `{"binary":true}`} {
		if got := ask(t, s, "ledger", newest); got != expected(ledgers[10], 1, true, false, false) {
			t.Errorf("%s: %s", newest, got)
		}
	}
}

func TestFaults(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 1990, 2000)...), Hot: 2})
	empty := warmed(t, Config{Store: filled(t)})
	address := payers[0].Account().String()
	none := strings.Repeat("0", 64)
	for _, c := range []struct {
		server         *Server
		method, params string
		token          string
		code           int
		says           string
	}{
		{s, "ledger", `{"ledger_index":1989}`, "lgrNotFound", 21, "ledgerNotFound"},
		{s, "ledger", `{"ledger_index":4294967295}`, "lgrNotFound", 21, "ledgerNotFound"},
		{s, "ledger", `{"ledger_hash":"` + none + `"}`, "lgrNotFound", 21, "ledgerNotFound"},
		{s, "ledger", `{"ledger_hash":"12"}`, "invalidParams", 31, "ledgerHashMalformed"},
		{s, "ledger", `{"ledger_hash":12}`, "invalidParams", 31, "ledgerHashNotString"},
		{s, "ledger", `{"ledger_index":"latest"}`, "invalidParams", 31, "ledgerIndexMalformed"},
		{s, "ledger", `{"ledger_index":-1}`, "invalidParams", 31, "ledgerIndexMalformed"},
		{s, "ledger", `{"ledger_index":[1]}`, "invalidParams", 31, "ledgerIndexMalformed"},
		{s, "ledger", `{"ledger_index":4294967296}`, "invalidParams", 31, "ledgerIndexMalformed"},
		{s, "ledger", `{"ledger_index":2000,"ledger_hash":"` + none + `"}`, "invalidParams", 31, "Exactly one"},
		{s, "ledger", `{"ledger_index":"current"}`, "noCurrent", 16, "Current ledger is unavailable."},
		{s, "ledger", `{"ledger_index":"closed"}`, "noClosed", 15, "Closed ledger is unavailable."},
		{s, "ledger", `{"accounts":true}`, "noPermission", 6, "permission"},
		{s, "ledger", `{"queue":true}`, "invalidParams", 31, "Invalid parameters."},
		{empty, "ledger", `{}`, "noNetwork", 17, "InsufficientNetworkMode"},
		{empty, "ledger", `{"api_version":2}`, "notSynced", 18, "notSynced"},
		{s, "tx", `{}`, "invalidParams", 31, "Invalid parameters."},
		{s, "tx", `{"transaction":"xyz","binary":true}`, "notImpl", 74, "Not implemented."},
		{s, "tx", `{"transaction":"` + none + `","binary":true}`, "txnNotFound", 29, "Transaction not found."},
		{s, "tx", `{"ctid":"C000"}`, "notSupported", 75, "by their hash"},
		{s, "tx", `{"transaction":"` + none + `","binary":true,"min_ledger":1,"max_ledger":1002}`, "excessiveLgrRange", 78, "1000"},
		{s, "tx", `{"transaction":"` + none + `","binary":true,"min_ledger":2,"max_ledger":1}`, "invalidLgrRange", 79, "invalid"},
		{s, "account_tx", `{"binary":true}`, "invalidParams", 31, "Missing field 'account'."},
		{s, "account_tx", `{"account":1,"binary":true}`, "invalidParams", 31, "Invalid field 'account'."},
		{s, "account_tx", `{"account":"rNobody","binary":true}`, "actMalformed", 35, "Account malformed."},
		{s, "account_tx", `{"account":"` + address + `","binary":1,"api_version":2}`, "invalidParams", 31, "'binary'"},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"limit":-1}`, "invalidParams", 31, "'limit', not unsigned integer"},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"marker":7}`, "invalidParams", 31, "invalid marker"},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"marker":{"ledger":1}}`, "invalidParams", 31, "invalid marker"},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"ledger_index_min":1999,"ledger_index_max":1998}`, "lgrIdxsInvalid", 57, "Ledger indexes invalid."},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"api_version":2,"ledger_index_min":1999,"ledger_index_max":1998}`, "invalidLgrRange", 79, "invalid"},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"api_version":2,"ledger_index_max":2001}`, "lgrIdxMalformed", 58, "malformed"},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"ledger_index":1989}`, "lgrNotValidated", 22, "not validated"},
		{s, "account_tx", `{"account":"` + address + `","binary":true,"api_version":2,"ledger_index":1990,"ledger_index_min":1}`, "invalidParams", 31, "invalidParams"},
		{empty, "account_tx", `{"account":"` + address + `","binary":true}`, "lgrIdxsInvalid", 57, "invalid"},
		{empty, "account_tx", `{"account":"` + address + `","binary":true,"api_version":2}`, "notSynced", 18, "notSynced"},
		{s, "submit", `{"tx_blob":"00"}`, "unknownCmd", 32, "Unknown method."},
	} {
		var got struct {
			Error, Status string
			Code          int            `json:"error_code"`
			Message       string         `json:"error_message"`
			Request       map[string]any `json:"request"`
		}
		text := ask(t, c.server, c.method, c.params)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Error != c.token || got.Code != c.code || !strings.Contains(got.Message, c.says) || got.Status != "error" || got.Request["command"] != c.method {
			t.Errorf("%s %s: %s\nwant %s (%d) that says %q", c.method, c.params, text, c.token, c.code, c.says)
		}
	}
}

func TestSecretsAreNotEchoed(t *testing.T) {
	s := warmed(t, Config{Store: filled(t)})
	if got := ask(t, s, "sign", `{"secret":"sesame","seed":"sesame","account":"x"}`); strings.Contains(got, "sesame") || !strings.Contains(got, `"account":"x"`) {
		t.Error(got)
	}
}

// All methods answer with a new ledger as soon as Stored returns, rendered; older ledgers only
// change the ranges.
func TestStored(t *testing.T) {
	hotAndCold(t, func(t *testing.T, c Config) {
		st := filled(t, chain(t, 100, 105)...)
		c.Store = st
		s := warmed(t, c)
		for _, step := range []struct {
			index    uint32
			complete string
			newest   uint32
		}{{106, "100-106", 106}, {99, "99-106", 106}, {120, "99-106,120", 120}, {119, "99-106,119-120", 120}} {
			l := makeLedger(t, step.index)
			if err := st.Append(chain(t, step.index, step.index), st.Progress()); err != nil {
				t.Fatal(err)
			}
			l.Transactions[0], l.Transactions[2] = l.Transactions[2], l.Transactions[0] // servers send any order
			if err := s.Stored(l); err != nil {
				t.Fatal(err)
			}
			clear(l.Transactions[1].Blob) // the caller may reuse its bytes
			if info := ask(t, s, "server_info", `{}`); !strings.Contains(info, `"complete_ledgers":"`+step.complete+`"`) || !strings.Contains(info, fmt.Sprintf(`"seq":%d`, step.newest)) {
				t.Errorf("after %d: %s", step.index, info)
			}
			all := `{"binary":true,"transactions":true,"expand":true,"ledger_index":`
			if got := ask(t, s, "ledger", all+`"validated"}`); got != expected(makeLedger(t, step.newest), 1, true, true, true) {
				t.Errorf("after %d the newest is %.300s", step.index, got)
			}
			if got := ask(t, s, "ledger", fmt.Sprint(all, step.index, "}")); got != expected(makeLedger(t, step.index), 1, true, true, true) {
				t.Errorf("ledger %d: %.300s", step.index, got)
			}
		}
		if n := len(s.hot.window); n > c.Hot || n == 0 {
			t.Errorf("%d ledgers are kept rendered, want at most %d", n, c.Hot)
		}
	})
}

// Rendered ledgers are bounded in bytes too, but the newest stays.
func TestHotBytes(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 100, 110)...), HotBytes: 1})
	if len(s.hot.window) != 1 || s.hot.window[0].Index != 110 {
		t.Errorf("%d ledgers are kept", len(s.hot.window))
	}
}

// The newest ledgers are answered from memory, whatever happens to the store.
func TestHotNeedsNoStore(t *testing.T) {
	st := filled(t, chain(t, 100, 110)...)
	s := warmed(t, Config{Store: st, Hot: 3, Reads: 1})
	s.reads <- struct{}{} // no request may read
	st.Close()
	for i := uint32(108); i <= 110; i++ {
		if got := ask(t, s, "ledger", fmt.Sprintf(`{"ledger_index":%d,"binary":true,"transactions":true,"expand":true,"api_version":2}`, i)); got != expected(makeLedger(t, i), 2, true, true, true) {
			t.Errorf("%.300s", got)
		}
	}
}
