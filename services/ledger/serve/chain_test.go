package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
)

// now is 100 s after the close of the last ledger of a chain that ends at 2_000.
// 2_000.
var now = xrpl.Time(10*2000 + 100)

// payers are two accounts that pay each other.
var payers = []*signing.Key{signing.NewKey([]byte("one")), signing.NewKey([]byte("two"))}

// makeLedger makes a ledger of three payments, two in one direction and one back, with the right
// hash and tree.
func makeLedger(t testing.TB, index uint32) *xrpl.Ledger {
	t.Helper()
	l := &xrpl.Ledger{Index: index}
	for i := range 3 {
		from, to := payers[1], payers[0]
		if i == 2 {
			from, to = to, from
		}
		p := signing.Payment{Destination: to.Account(), Drops: uint64(i) + 1, Fee: 10, Sequence: 3*index + uint32(i)}
		blob, err := p.Sign(from)
		if err != nil {
			t.Fatal(err)
		}
		m := xrpl.Meta{Index: uint32(i), Accounts: []xrpl.AccountChange{
			{Account: from.Account(), Sequence: 2, Before: 1, Balance: 5, Previous: 9}, {Account: to.Account(), Sequence: 1, Before: 1, Balance: 9, Previous: 5},
		}}
		l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: blob, Meta: m.Append(nil)})
	}
	root, err := xrpl.NewVerifier().Root(l.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	h := xrpl.Header{Index: index, Drops: 99_999_999_999, Transactions: root, ParentClose: 10*index - 10, Close: 10 * index, Resolution: 10, Flags: uint8(index % 2)}
	l.Header, l.Hash = h.Append(nil), h.Hash()
	return l
}

// chain makes ledgers of a range.
func chain(t testing.TB, from, to uint32) (ledgers []*xrpl.Ledger) {
	t.Helper()
	for i := from; i <= to; i++ {
		ledgers = append(ledgers, makeLedger(t, i))
	}
	return ledgers
}

// filled makes a store with ledgers.
func filled(t testing.TB, ledgers ...*xrpl.Ledger) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir(), store.Options{Accounts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if len(ledgers) > 0 {
		if err := s.Append(ledgers, store.Progress{From: ledgers[0].Index, To: ledgers[len(ledgers)-1].Index}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// warmed is a server of a store, ready.
func warmed(t testing.TB, c Config) *Server {
	t.Helper()
	c.Now = func() time.Time { return now }
	s := New(c)
	if s.Ready(t.Context()) == nil {
		t.Error("it is ready before it is warm")
	}
	if err := s.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	return s
}

// hotAndCold runs a test with all ledgers rendered, and with almost none.
func hotAndCold(t *testing.T, f func(t *testing.T, c Config)) {
	for _, hot := range []int{1, 100} {
		t.Run(fmt.Sprintf("hot=%d", hot), func(t *testing.T) { f(t, Config{Hot: hot}) })
	}
}

// post sends a JSON-RPC body and returns status and answer.
func post(t testing.TB, s http.Handler, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/", bytes.NewReader([]byte(body))))
	return answered(t, w)
}

func get(t testing.TB, s http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return answered(t, w)
}

func answered(t testing.TB, w *httptest.ResponseRecorder) (int, string) {
	t.Helper()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.Header().Get("Content-Length"); n != "" && n != fmt.Sprint(len(b)) {
		t.Errorf("Content-Length %s of %d bytes", n, len(b))
	}
	return w.Code, string(b)
}

// ask calls a method with params and returns the result.
func ask(t testing.TB, s http.Handler, method, params string) string {
	t.Helper()
	code, text := post(t, s, fmt.Sprintf(`{"method":%q,"params":[%s]}`, method, params))
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || code != 200 {
		t.Fatalf("%s %s: %d %s (%v)", method, params, code, text, err)
	}
	return string(answer.Result)
}
