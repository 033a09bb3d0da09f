package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"dyno/parts/servicetest/program"
	"dyno/services/ledger/mirror/mirrorpb"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// served is a service of a store with a hole in it, and a server that says what is true, which has
// the same ledgers.
type served struct {
	url, grpc string
	source    *sim.Sim
	has       history.Set
}

const holed = "1000-1007,1011-1019"

func serveHoled(t *testing.T, c chain.Spec, ranges string) served {
	t.Helper()
	has, err := history.ParseSet(ranges)
	if err != nil {
		t.Fatal(err)
	}
	whole := serveChain(t, sim.Config{Spec: c})
	dir := t.TempDir()
	for _, r := range has {
		run(t, 0, syncing(dir, r.From, r.To, whole.URL(), "--set", "accounts=true")...)
	}
	p := ledgersync(t, serving(dir, "--grpc", "127.0.0.1:0", "--log-level", "info")...)
	url, _ := ready(t, p)
	t.Cleanup(func() { ends(t, p) })
	return served{url, logged(t, p, "grpc"), serveChain(t, sim.Config{Chain: whole.Chain(), Complete: has}), has}
}

// logged is the value of a key that a program has logged.
func logged(t testing.TB, p *program.Process, key string) string {
	t.Helper()
	_, rest, ok := strings.Cut(p.Stderr.String(), `"`+key+`":"`)
	value, _, whole := strings.Cut(rest, `"`)
	if !ok || !whole {
		t.Fatalf("it has not logged %s: %s", key, p.Stderr.String())
	}
	return value
}

// same asks both, holds that the service says what the source says, member by member, and returns
// it.
func (s served) same(t testing.TB, method string, params map[string]any) map[string]any {
	t.Helper()
	var got, want map[string]any
	ask(t, s.url, method, params, &got)
	ask(t, s.source.URL(), method, params, &want)
	for _, all := range []map[string]any{got, want} {
		delete(all, "request") // rippled adds the command to the repeated request, the simulator does not
		sorted(all)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s %v: it says\n%.2000v\nand the source\n%.2000v", method, params, got, want)
	}
	return got
}

// sorted sorts a ledger's transactions by id: the source sorts by hash, the service by application.
func sorted(result map[string]any) {
	inner, _ := result["ledger"].(map[string]any)
	if txs, ok := inner["transactions"].([]any); ok {
		slices.SortFunc(txs, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
}

// proves checks that an answer is consistent in itself (L1).
func proves(t testing.TB, result map[string]any) {
	t.Helper()
	inner, _ := result["ledger"].(map[string]any)
	l := xrpl.Ledger{Index: uint32(result["ledger_index"].(float64)), Header: unhex(t, inner["ledger_data"])}
	copy(l.Hash[:], unhex(t, result["ledger_hash"]))
	for _, tx := range inner["transactions"].([]any) {
		tx := tx.(map[string]any)
		meta := tx["meta"]
		if meta == nil {
			meta = tx["meta_blob"]
		}
		l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: unhex(t, tx["tx_blob"]), Meta: unhex(t, meta)})
	}
	if _, err := xrpl.NewVerifier().Ledger(&l); err != nil || len(l.Transactions) != transactions {
		t.Errorf("ledger %d with %d transactions: %v", l.Index, len(l.Transactions), err)
	}
}

func unhex(t testing.TB, text any) []byte {
	t.Helper()
	b, err := hex.DecodeString(fmt.Sprint(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// eachVersion runs a test with every version of the API.
func eachVersion(t *testing.T, f func(t *testing.T, with func(...any) map[string]any)) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			f(t, func(pairs ...any) map[string]any {
				params := map[string]any{"api_version": version}
				for i := 0; i < len(pairs); i += 2 {
					params[pairs[i].(string)] = pairs[i+1]
				}
				return params
			})
		})
	}
}

// Every answer equals that of the server that the ledgers came from, and is consistent in itself.
func TestAnswersAreTheSources(t *testing.T) {
	t.Parallel()
	s := serveHoled(t, small, holed)
	eachVersion(t, func(t *testing.T, with func(...any) map[string]any) {
		for _, r := range s.has {
			for index := r.From; index <= r.To; index++ {
				l := truth(t, s.source, index)
				proves(t, s.same(t, "ledger", with("ledger_index", index, "transactions", true, "expand", true, "binary", true)))
				proves(t, s.same(t, "ledger", with("ledger_hash", l.Hash.String(), "transactions", true, "expand", true, "binary", true)))
				s.same(t, "ledger", with("ledger_index", index, "binary", true))
				s.same(t, "ledger", with("ledger_index", index, "transactions", true))
				for _, tx := range l.Transactions {
					id := xrpl.TransactionID(tx.Blob)
					got := s.same(t, "tx", with("transaction", id.String(), "binary", true))
					blob := got["tx"]
					if blob == nil {
						blob = got["tx_blob"]
					}
					if xrpl.TransactionID(unhex(t, blob)) != id || got["ledger_index"] != float64(index) {
						t.Errorf("transaction %v: %v", id, got)
					}
				}
			}
		}
		s.same(t, "ledger", with("ledger_index", "validated", "transactions", true, "expand", true, "binary", true))
	})
	var got, want infoAnswer
	ask(t, s.url, "server_info", struct{}{}, &got)
	ask(t, s.source.URL(), "server_info", struct{}{}, &want)
	if got != want || got.Info.Complete != holed {
		t.Errorf("server_info: %+v, and the source says %+v", got, want)
	}
}

// A ledger that is not stored is reported as missing, in the source's words: below, in the hole,
// above, and by hash.
func TestMissingIsNotFound(t *testing.T) {
	t.Parallel()
	s := serveHoled(t, small, holed)
	eachVersion(t, func(t *testing.T, with func(...any) map[string]any) {
		for _, index := range []uint32{1, first - 1, 1008, 1010, last + 1, 4294967295} {
			got := s.same(t, "ledger", with("ledger_index", index, "transactions", true, "expand", true, "binary", true))
			want := map[string]any{"error": "lgrNotFound", "error_code": 21.0, "error_message": "ledgerNotFound", "status": "error"}
			if !maps.Equal(got, want) {
				t.Errorf("ledger %d: %v", index, got)
			}
		}
		hole := truth(t, s.source, 1009)
		s.same(t, "ledger", with("ledger_hash", hole.Hash.String()))
		got := s.same(t, "tx", with("transaction", xrpl.TransactionID(hole.Transactions[0].Blob).String(), "binary", true))
		if got["error"] != "txnNotFound" {
			t.Errorf("a transaction in the hole: %v", got)
		}
	})
	_, code := s.stream(t, 1, 1)
	if code != codes.OutOfRange {
		t.Errorf("a stream from below all that is stored ends with %v", code)
	}
}

// touching are the transactions of stored ledgers that name an account, newest first: found by the
// account's bytes, not by an index or a walk.
func (s served) touching(t testing.TB, account xrpl.AccountID, within history.Range) (all []accountTransaction) {
	t.Helper()
	for index := within.To; index >= within.From; index-- {
		l := truth(t, s.source, index)
		if err := xrpl.SortByIndex(l.Transactions); err != nil {
			t.Fatal(err)
		}
		for _, tx := range slices.Backward(l.Transactions) {
			if bytes.Contains(tx.Blob, account[:]) || bytes.Contains(tx.Meta, account[:]) {
				all = append(all, accountTransaction{index, xrpl.Hex(tx.Blob), xrpl.Hex(tx.Meta), true})
			}
		}
	}
	return all
}

type accountTransaction struct {
	Index     uint32 `json:"ledger_index"`
	Blob      string `json:"tx_blob"`
	Meta      string
	Validated bool
}

type accountAnswer struct {
	Account      string
	Min          uint32 `json:"ledger_index_min"`
	Max          uint32 `json:"ledger_index_max"`
	Marker       json.RawMessage
	Transactions []accountTransaction
}

// Paging returns each of an account's transactions once, in either order, for the ledgers around
// the range's end.
func TestAccountsHaveTheirTransactions(t *testing.T) {
	t.Parallel()
	repeated := small
	repeated.Distinct = 1 // the same accounts in all ledgers, so that they have more than a page
	repeated.Ledgers = 40
	s := serveHoled(t, repeated, "1000-1007,1011-1039")
	accounts := map[xrpl.AccountID]bool{}
	for index := uint32(1012); index < 1015; index++ {
		for _, tx := range truth(t, s.source, index).Transactions {
			if err := xrpl.Accounts(tx.Meta, func(a xrpl.AccountID) { accounts[a] = true }); err != nil {
				t.Fatal(err)
			}
		}
	}
	pages := 0
	for account := range accounts {
		for _, within := range s.has {
			for _, forward := range []bool{false, true} {
				want := s.touching(t, account, within)
				if forward {
					slices.Reverse(want)
				}
				var got []accountTransaction
				var marker any
				for more := true; more; pages++ {
					var a accountAnswer
					ask(t, s.url, "account_tx", map[string]any{"account": account.String(), "binary": true, "forward": forward, "limit": 10,
						"ledger_index_min": -1, "ledger_index_max": within.To, "marker": marker}, &a)
					if a.Account != account.String() || a.Min != within.From || a.Max != within.To || len(a.Transactions) > 10 {
						t.Fatalf("account_tx: %+v", a)
					}
					got = append(got, a.Transactions...)
					marker, more = a.Marker, a.Marker != nil
				}
				if !slices.Equal(got, want) {
					t.Errorf("%v within %v, forward=%t: %d transactions, want %d:\n%v\n%v", account, within, forward, len(got), len(want), got, want)
				}
			}
		}
	}
	if pages <= 4*len(accounts) {
		t.Errorf("%d pages of %d accounts: no account had more than one", pages, len(accounts))
	}
}

// stream follows the mirror from a ledger on, until it has count ledgers or the stream ends.
func (s served) stream(t testing.TB, from uint32, count int) (all []*xrpl.Ledger, ended codes.Code) {
	t.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, err := mirrorpb.NewMirrorClient(conn).StartSync(ctx, &mirrorpb.StartSyncRequest{Subscriber: t.Name(), From: from})
	if err != nil {
		t.Fatal(err)
	}
	for len(all) < count {
		m, err := in.Recv()
		if err != nil {
			return all, status.Code(err)
		}
		l := &xrpl.Ledger{Index: m.GetIndex(), Hash: xrpl.Hash(m.GetHash()), Header: m.GetHeader()}
		for _, tx := range m.GetTransactions() {
			l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: tx.GetBlob(), Meta: tx.GetMeta()})
		}
		all = append(all, l)
	}
	return all, codes.OK
}

// isWhole checks that ledgers are true, consistent in themselves (L1), and consecutive from an
// index on.
func isWhole(t testing.TB, source *sim.Sim, ledgers []*xrpl.Ledger, from uint32, count int) {
	t.Helper()
	if len(ledgers) != count {
		t.Fatalf("%d ledgers came from %d on, want %d", len(ledgers), from, count)
	}
	v := xrpl.NewVerifier()
	for i, l := range ledgers {
		want := truth(t, source, from+uint32(i))
		if err := xrpl.SortByIndex(want.Transactions); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(l, want) {
			t.Errorf("ledger %d came as %d with hash %v, or with other bytes", want.Index, l.Index, l.Hash)
		}
		if _, err := v.Ledger(l); err != nil {
			t.Error(err)
		}
	}
}

// The gRPC stream sends stored ledgers byte for byte, up to the hole, and from behind it on.
func TestStreamsAreTheSources(t *testing.T) {
	t.Parallel()
	s := serveHoled(t, small, holed)
	for _, r := range s.has {
		ledgers, code := s.stream(t, r.From, r.Len())
		if code != codes.OK {
			t.Errorf("from %d: %v", r.From, code)
		}
		isWhole(t, s.source, ledgers, r.From, r.Len())
	}
}
