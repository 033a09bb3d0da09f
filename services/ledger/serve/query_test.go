package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
)

func TestTransaction(t *testing.T) {
	ledgers := chain(t, 1990, 2000)
	hotAndCold(t, func(t *testing.T, c Config) {
		c.Store = filled(t, ledgers...)
		s := warmed(t, c)
		for _, l := range []*xrpl.Ledger{ledgers[0], ledgers[10]} {
			for _, tx := range l.Transactions {
				id := xrpl.TransactionID(tx.Blob)
				h, _ := xrpl.ParseHeader(l.Header)
				one, _ := json.Marshal(map[string]any{"date": h.Close, "hash": id, "inLedger": l.Index, "ledger_index": l.Index,
					"meta": hexOf(tx.Meta), "status": "success", "tx": hexOf(tx.Blob), "validated": true})
				if got := ask(t, s, "tx", fmt.Sprintf(`{"transaction":%q,"binary":true,"min_ledger":1,"max_ledger":9}`, id)); got != string(one) {
					t.Errorf("version 1: %s\nwant %s", got, one)
				}
				two, _ := json.Marshal(map[string]any{"close_time_iso": xrpl.Time(h.Close).Format("2006-01-02T15:04:05Z"), "hash": id, "ledger_hash": l.Hash,
					"ledger_index": l.Index, "meta_blob": hexOf(tx.Meta), "status": "success", "tx_blob": hexOf(tx.Blob), "validated": true})
				if got := ask(t, s, "tx", fmt.Sprintf(`{"transaction":%q,"binary":true,"api_version":2}`, strings.ToLower(id.String()))); got != string(two) {
					t.Errorf("version 2: %s\nwant %s", got, two)
				}
				if code, got := get(t, s, "/api/tx/"+id.String()); code != 200 || got != string(two) {
					t.Errorf("GET: %d %s\nwant %s", code, got, two)
				}
			}
		}
	})
}

// While the index by account is being built, account_tx answers for the indexed ledgers, says so,
// and refuses the rest with the reason.
func TestAccountWhileIndexing(t *testing.T) {
	dir := t.TempDir()
	ledgers := chain(t, 100, 110)
	for i, accounts := range []bool{false, true} {
		st, err := store.Open(dir, store.Options{Accounts: accounts})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		s := warmed(t, Config{Store: st})
		account := `"account":"` + payers[0].Account().String() + `"`
		said := func(params, want string) {
			t.Helper()
			if got := ask(t, s, "account_tx", "{"+account+params+"}"); !strings.Contains(got, want) {
				t.Errorf("accounts=%t, account_tx %s: %.300s, want %s", accounts, params, got, want)
			}
		}
		if i == 0 {
			if err := st.Append(ledgers[:10], store.Progress{}); err != nil {
				t.Fatal(err)
			}
			if err := s.Stored(ledgers[:10]...); err != nil {
				t.Fatal(err)
			}
			said("", "notEnabled")
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		const making = "The index by account is being made; ledgers in it so far: "
		said("", making+"empty")
		said(`,"api_version":2`, making+"empty")
		said(`,"ledger_index":105`, making+"empty")
		if err := st.Append(ledgers[10:], store.Progress{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Stored(ledgers[10:]...); err != nil {
			t.Fatal(err)
		}
		said("", `"ledger_index_max":110,"ledger_index_min":110,`)
		said(`,"ledger_index_min":100,"ledger_index_max":110`, `"ledger_index_max":110,"ledger_index_min":110,`)
		said(`,"ledger_index_min":100,"ledger_index_max":105`, making+"110")
		said(`,"ledger_index_min":100,"ledger_index_max":110,"api_version":2`, making+"110")
		said(`,"ledger_index":105`, making+"110")
		said(`,"ledger_index":110`, `"ledger_index_max":110,"ledger_index_min":110,`)
		if err := st.IndexAccounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		said("", `"ledger_index_max":110,"ledger_index_min":100,`)
		said(`,"ledger_index":105`, `"ledger_index_max":105,"ledger_index_min":105,`)
	}
}

// The answer to a search says whether the whole range was searched.
func TestSearchedAll(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 100, 110)...)})
	for params, want := range map[string]string{
		`"min_ledger":100,"max_ledger":110`: `"searched_all":true`,
		`"min_ledger":99,"max_ledger":110`:  `"searched_all":false`,
		`"min_ledger":100`:                  `"error"`,
	} {
		got := ask(t, s, "tx", `{"binary":true,"transaction":"`+strings.Repeat("0", 64)+`",`+params+`}`)
		if !strings.Contains(got, want) || strings.Contains(params, "max") != strings.Contains(got, "searched_all") {
			t.Errorf("%s: %s", params, got)
		}
	}
}

// accountAnswer is a page of account_tx.
type accountAnswer struct {
	Account      string
	Min          uint32 `json:"ledger_index_min"`
	Max          uint32 `json:"ledger_index_max"`
	Limit        int
	Marker       json.RawMessage
	Next         string
	Status       string
	Validated    bool
	Transactions []struct {
		Blob      string `json:"tx_blob"`
		Meta      string
		MetaBlob  string `json:"meta_blob"`
		Index     uint32 `json:"ledger_index"`
		Validated bool
	}
}

// check holds a page's transactions against the next ones that are due, and returns how many they
// were.
func (a *accountAnswer) check(t *testing.T, due []xrpl.Transaction, version int) int {
	t.Helper()
	for i, tx := range a.Transactions {
		meta := tx.Meta
		if version == 2 {
			meta = tx.MetaBlob
		}
		if i >= len(due) || tx.Blob != hexOf(due[i].Blob) || meta != hexOf(due[i].Meta) || !tx.Validated {
			t.Fatalf("transaction %d of the page is another than is due: %+v", i, tx)
		}
	}
	return len(a.Transactions)
}

// All pages of account_tx together contain each of an account's transactions once and in order.
func TestAccountPages(t *testing.T) {
	ledgers := chain(t, 1, 40)
	var oldest, newest []xrpl.Transaction
	for _, l := range ledgers {
		oldest = append(oldest, l.Transactions...) // both accounts are in every payment
	}
	for i := range oldest {
		newest = append(newest, oldest[len(oldest)-1-i])
	}
	hotAndCold(t, func(t *testing.T, c Config) {
		c.Store = filled(t, ledgers...)
		s := warmed(t, c)
		for version := 1; version <= 2; version++ {
			for _, forward := range []bool{false, true} {
				due := newest
				if forward {
					due = oldest
				}
				marker := "null"
				for pages := 0; ; pages++ {
					var a accountAnswer
					text := ask(t, s, "account_tx", fmt.Sprintf(`{"account":%q,"binary":true,"limit":11,"forward":%t,"api_version":%d,"ledger_index_min":-1,"ledger_index_max":-1,"marker":%s}`,
						payers[0].Account(), forward, version, marker))
					if err := json.Unmarshal([]byte(text), &a); err != nil || a.Status != "success" || !a.Validated || a.Limit != 11 || a.Min != 1 || a.Max != 40 || a.Account != payers[0].Account().String() {
						t.Fatalf("%.400s (%v)", text, err)
					}
					due = due[a.check(t, due, version):]
					if a.Marker == nil {
						break
					}
					if marker = string(a.Marker); len(a.Transactions) != 11 || pages > 20 {
						t.Fatalf("a page has %d transactions and a marker %s", len(a.Transactions), marker)
					}
				}
				if len(due) != 0 {
					t.Errorf("version %d, forward %t: %d transactions were missing", version, forward, len(due))
				}
			}
		}
		var due, path = oldest[6:30], "/api/accounts/" + payers[1].Account().String() + "/transactions?forward=true&from=3&to=10&limit=10"
		for path != "" {
			var a accountAnswer
			code, text := get(t, s, path)
			if err := json.Unmarshal([]byte(text), &a); err != nil || code != 200 || a.Min != 3 || a.Max != 10 {
				t.Fatalf("GET %s: %d %.300s (%v)", path, code, text, err)
			}
			due, path = due[a.check(t, due, 2):], a.Next
		}
		if len(due) != 0 {
			t.Errorf("by GET %d transactions were missing", len(due))
		}
	})
}

// A page never silently omits ledgers: it covers ledgers without a hole, and says which.
func TestAccountHoles(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, append(chain(t, 100, 110), chain(t, 120, 125)...)...)})
	for params, want := range map[string]string{
		``:                        "120-125 18",
		`,"ledger_index_max":110`: "100-110 33",
		`,"ledger_index_min":105,"ledger_index_max":108`:            "105-108 12",
		`,"ledger_index_min":105`:                                   "120-125 18",
		`,"ledger_index":104`:                                       "104-104 3",
		`,"ledger_index":"validated"`:                               "125-125 3",
		`,"ledger_hash":"` + makeLedger(t, 101).Hash.String() + `"`: "101-101 3",
	} {
		var a accountAnswer
		text := ask(t, s, "account_tx", fmt.Sprintf(`{"account":%q,"binary":true%s}`, payers[0].Account(), params))
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d-%d %d", a.Min, a.Max, len(a.Transactions)); got != want {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

func TestNoAccounts(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Append(chain(t, 5, 6), store.Progress{From: 5, To: 6}); err != nil {
		t.Fatal(err)
	}
	s := warmed(t, Config{Store: st})
	if got := ask(t, s, "account_tx", fmt.Sprintf(`{"account":%q,"binary":true}`, payers[0].Account())); !strings.Contains(got, "notEnabled") || !strings.Contains(got, "accounts=true") {
		t.Error(got)
	}
}

func TestInfo(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, append(chain(t, 1990, 1991), makeLedger(t, 2000))...), Network: func() *uint32 { return new(uint32(1025)) }})
	want := `{"info":{"build_version":"2.6.1-ledgersync","complete_ledgers":"1990-1991,2000","hostid":"ledgersync","jq_trans_overflow":"0","load_factor":1,` +
		`"network_id":1025,"peer_disconnects":"0","peer_disconnects_resources":"0","peers":0,"server_state":"full","time":"` +
		now.Format("2006-Jan-02 15:04:05.000000 UTC") + `","uptime":0,"validated_ledger":{"age":100,"hash":"` + makeLedger(t, 2000).Hash.String() + `","seq":2000}},"status":"success"}`
	if got := ask(t, s, "server_info", `{}`); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := ask(t, warmed(t, Config{Store: filled(t)}), "server_info", `{}`); !strings.Contains(got, `"complete_ledgers":"empty"`) || strings.Contains(got, "validated_ledger") || strings.Contains(got, "network_id") {
		t.Errorf("empty: %s", got)
	}
}

// Requests that read the store wait for their turn, and get tooBusy after maxReadWait.
func TestTurns(t *testing.T) {
	ledgers := chain(t, 1990, 2000)
	st := filled(t, ledgers...)
	s := warmed(t, Config{Store: st, Hot: 1, Reads: 1})
	synctest.Test(t, func(t *testing.T) {
		s.reads = make(chan struct{}, 1) // of the bubble
		s.reads <- struct{}{}
		if got := ask(t, s, "ledger", `{"ledger_index":1995}`); !strings.Contains(got, `"error":"tooBusy","error_code":9`) {
			t.Errorf("without a turn: %s", got)
		}
		if code, got := get(t, s, "/api/ledger/1995"); code != http.StatusServiceUnavailable {
			t.Errorf("GET without a turn: %d %s", code, got)
		}
		if got := ask(t, s, "ledger", `{"ledger_index":2000,"binary":true}`); got != expected(ledgers[10], 1, true, false, false) {
			t.Errorf("the newest: %s", got)
		}
		got := make(chan string)
		go func() { got <- ask(t, s, "ledger", `{"ledger_index":1995,"binary":true}`) }()
		synctest.Wait()
		<-s.reads
		if answer := <-got; answer != expected(ledgers[5], 1, true, false, false) {
			t.Errorf("with a turn: %s", answer)
		}
		if len(s.reads) != 0 {
			t.Error("a turn was not given back")
		}
	})
}

// services/ledger/servers can sync from this server.
func TestRippledClient(t *testing.T) {
	ledgers := chain(t, 1990, 2000)
	s := warmed(t, Config{Store: filled(t, ledgers...), Hot: 5})
	ts := httptest.NewServer(s)
	defer ts.Close()
	for _, name := range []string{"json", "scan"} {
		client, err := servers.Open(t.Context(), servers.Config{URL: ts.URL, Decoder: name})
		if err != nil {
			t.Fatal(err)
		}
		info, err := client.Info(t.Context())
		if err != nil || info.Complete.String() != "1990-2000" || !info.Synced || info.Validated.Index != 2000 || info.Validated.Hash != ledgers[10].Hash {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		v := xrpl.NewVerifier()
		for _, l := range ledgers {
			var a response.Answer
			if err := client.Ledger(t.Context(), l.Index, &a); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Ledger(&a.Ledger); err != nil || a.Hash != l.Hash || !a.Validated || len(a.Transactions) != 3 {
				t.Errorf("%s: ledger %d: %+v, %v", name, l.Index, a, err)
			}
		}
		if err := client.Ledger(t.Context(), 5, new(response.Answer)); err == nil || !strings.Contains(err.Error(), "lgrNotFound") {
			t.Errorf("%s: a ledger that is not there: %v", name, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Real ledgers are answered byte for byte as received.
func TestRealLedgers(t *testing.T) {
	file := filepath.Join("..", "..", "..", "..", "shared", "data", "xrpl", "ledgers-binary.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("%v: real ledgers are not in the repository", err)
	}
	st := filled(t)
	var came []json.RawMessage
	for line := range strings.Lines(string(data)) {
		var a response.Answer
		if err := response.Decoders()["json"].Decode([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		err := st.Append([]*xrpl.Ledger{&a.Ledger}, store.Progress{From: a.Index, To: a.Index})
		if err != nil {
			t.Fatal(err)
		}
		came = append(came, json.RawMessage(fmt.Sprint(a.Index)))
	}
	s := warmed(t, Config{Store: st, Hot: 10})
	v := xrpl.NewVerifier()
	for _, index := range came {
		text := ask(t, s, "ledger", fmt.Sprintf(`{"ledger_index":%s,"binary":true,"transactions":true,"expand":true,"api_version":2}`, index))
		var a response.Answer
		if err := response.Decoders()["json"].Decode([]byte(`{"result":`+text+`}`), &a); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Ledger(&a.Ledger); err != nil {
			t.Errorf("ledger %s: %v", index, err)
		}
	}
}
