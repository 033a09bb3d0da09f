package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"dyno/parts/guard/guardtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// asker asks a service, without connections that outlive a test.
var asker = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask calls a method by JSON-RPC and decodes the result.
func ask(t testing.TB, url, method string, params, result any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"method": method, "params": []any{params}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := asker.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &struct{ Result any }{result})
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v: %.300s", method, resp.StatusCode, err, text)
	}
}

// ledgerAnswer is of ledger.
type ledgerAnswer struct {
	Error  string
	Hash   string `json:"ledger_hash"`
	Index  uint32 `json:"ledger_index"`
	Ledger struct {
		Data         string `json:"ledger_data"`
		Transactions []struct {
			Blob string `json:"tx_blob"`
			Meta string
		}
	}
}

type infoAnswer struct {
	Info struct {
		Complete  string `json:"complete_ledgers"`
		State     string `json:"server_state"`
		Validated struct {
			Hash string
			Seq  uint32
		} `json:"validated_ledger"`
	}
}

// isTrue checks that a service has the true ledger.
func isTrue(t testing.TB, url string, s *sim.Sim, index uint32) {
	t.Helper()
	var a ledgerAnswer
	ask(t, url, "ledger", map[string]any{"ledger_index": index, "transactions": true, "expand": true, "binary": true}, &a)
	l := truth(t, s, index)
	if a.Error != "" || a.Index != index || a.Hash != l.Hash.String() || a.Ledger.Data != fmt.Sprintf("%X", l.Header) || len(a.Ledger.Transactions) != len(l.Transactions) {
		t.Fatalf("ledger %d: %+v", index, a)
	}
	said := map[string]string{}
	for _, tx := range a.Ledger.Transactions {
		said[tx.Blob] = tx.Meta
	}
	for _, tx := range l.Transactions {
		if said[fmt.Sprintf("%X", tx.Blob)] != fmt.Sprintf("%X", tx.Meta) {
			t.Errorf("ledger %d lacks transaction %v", index, xrpl.TransactionID(tx.Blob))
		}
	}
}

// ends stops a program and checks its exit code.
func ends(t testing.TB, p *program.Process) {
	t.Helper()
	p.Stop()
	if code := p.Wait(t); code != 0 {
		t.Errorf("stopped, it exits with %d: %s", code, p.Stderr.String())
	}
}

func serving(dir string, more ...string) []string {
	return append([]string{"serve", "--data", dir, "--lame-duck=0s", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0"}, more...)
}

// Neither address of serve answers pages of other sites, unless they are listed.
func TestRefusesOtherSitesPages(t *testing.T) {
	dir := t.TempDir()
	s := serveChain(t, sim.Config{})
	run(t, 0, syncing(dir, first, first+1, s.URL())...)
	const listed = "https://explorer.example"
	p := ledgersync(t, serving(dir, "--allow-origin", listed)...)
	url, debug := ready(t, p)
	guardtest.Refuses(t, asker, "POST", url, `{"method":"ping"}`)
	guardtest.Allows(t, asker, "POST", url, `{"method":"ping"}`, listed)
	guardtest.Refuses(t, asker, "GET", url+"/api/ledger/validated", "")
	guardtest.Refuses(t, asker, "GET", url+"/", "") // the WebSocket handshake
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/cmdline", "/debug/vars"} {
		guardtest.Refuses(t, asker, "GET", debug+path, "")
	}
	ends(t, p)
}

// The network is the one that the servers said when the ledgers were fetched, or the flag's.
func TestNetworkID(t *testing.T) {
	dir := t.TempDir()
	s := serveChain(t, sim.Config{})
	run(t, 0, syncing(dir, first, first+1, s.URL())...)
	for want, args := range map[uint32][]string{0: nil, 21338: {"--network-id=21338"}} {
		p := ledgersync(t, serving(dir, args...)...)
		url, _ := ready(t, p)
		var a struct {
			Info struct {
				Network *uint32 `json:"network_id"`
			}
		}
		if ask(t, url, "server_info", map[string]any{}, &a); a.Info.Network == nil || *a.Info.Network != want {
			t.Errorf("%v: %v", args, a.Info.Network)
		}
		ends(t, p)
	}
}

// A store without an index by account gets one when serve is started with it, even if serve is
// killed meanwhile.
func TestAccountsAreIndexedLater(t *testing.T) {
	quicktest.Skip(t, "builds the program")
	dir := t.TempDir()
	s := serveChain(t, sim.Config{})
	run(t, 0, syncing(dir, first, last, s.URL())...)
	p := program.Binary(builds.Program(t, "dyno/services/ledger/cmd/ledgersync"))(t, serving(dir, "--set", "accounts=true")...)
	ready(t, p)
	p.Kill()
	<-p.Ended()
	p = ledgersync(t, serving(dir)...)
	url, _ := ready(t, p)
	account := payer(t, s)
	type answer struct {
		Error        string
		Min          uint32 `json:"ledger_index_min"`
		Max          uint32 `json:"ledger_index_max"`
		Transactions []any
	}
	var a answer
	for begin := time.Now(); a.Min != first && time.Since(begin) < 3*time.Minute; time.Sleep(10 * time.Millisecond) {
		a = answer{} // an error until a ledger is indexed
		ask(t, url, "account_tx", map[string]any{"account": account}, &a)
	}
	if a.Error != "" || a.Min != first || a.Max != last || len(a.Transactions) == 0 {
		t.Errorf("%s, ledgers %d to %d, %d transactions", a.Error, a.Min, a.Max, len(a.Transactions))
	}
	ends(t, p)
	checked(t, dir)
}

// payer is an account that has sent a transaction.
func payer(t testing.TB, s *sim.Sim) (account string) {
	t.Helper()
	tx := truth(t, s, first).Transactions[0]
	if err := xrpl.Accounts(tx.Meta, func(a xrpl.AccountID) { account = a.String() }); err != nil {
		t.Fatal(err)
	}
	return account
}

// A WebSocket client is answered, and receives a close frame when serve stops.
func TestServesOverWebSocket(t *testing.T) {
	dir := t.TempDir()
	s := serveChain(t, sim.Config{})
	run(t, 0, syncing(dir, first, first+1, s.URL())...)
	p := ledgersync(t, serving(dir)...)
	url, _ := ready(t, p)
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	var a struct {
		ID     string
		Status string
		Result ledgerAnswer
	}
	err = errors.Join(wsjson.Write(t.Context(), conn, map[string]any{"id": "x", "command": "ledger", "ledger_index": "validated"}), wsjson.Read(t.Context(), conn, &a))
	if err != nil || a.ID != "x" || a.Status != "success" || a.Result.Index != first+1 {
		t.Errorf("%+v, %v", a, err)
	}
	p.Stop()
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("when serve stops: %v", err)
	}
	ends(t, p)
}

func TestServesWhatIsStored(t *testing.T) {
	s := serveChain(t, sim.Config{})
	dir := t.TempDir()
	run(t, 0, syncing(dir, first, last, s.URL())...)
	p := ledgersync(t, serving(dir)...)
	url, debug := ready(t, p)
	for _, index := range []uint32{first, first + 7, last} {
		isTrue(t, url, s, index)
	}
	var info infoAnswer
	ask(t, url, "server_info", struct{}{}, &info)
	if is := info.Info; is.Complete != fmt.Sprintf("%d-%d", first, last) || is.State != "full" || is.Validated.Seq != last || is.Validated.Hash != truth(t, s, last).Hash.String() {
		t.Errorf("%+v", is)
	}
	id := xrpl.TransactionID(truth(t, s, first).Transactions[1].Blob).String()
	var tx struct {
		Hash, Error string
		Index       uint32 `json:"ledger_index"`
	}
	if ask(t, url, "tx", map[string]any{"transaction": id, "binary": true}, &tx); tx.Hash != id || tx.Index != first {
		t.Errorf("tx: %+v", tx)
	}
	var none ledgerAnswer
	if ask(t, url, "ledger", map[string]any{"ledger_index": last + 1}, &none); none.Error != "lgrNotFound" {
		t.Errorf("a ledger that is not stored: %+v", none)
	}
	if resp, err := asker.Get(debug + "/readyz"); err != nil {
		t.Error(err)
	} else if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("readyz: %d", resp.StatusCode)
	}
	ends(t, p)
	if _, err := asker.Get(url); err == nil {
		t.Error("it serves although it has ended")
	}
}

// growing starts a server whose chain grows, and returns the file with its validators.
func growing(t *testing.T) (s *sim.Sim, unl string) {
	t.Helper()
	s = serveChain(t, sim.Config{Spec: small, TipEvery: 200 * time.Millisecond})
	return s, unlOf(t, s)
}

// unlOf writes a server's validators to a file.
func unlOf(t *testing.T, s *sim.Sim) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "vl.json")
	if err := os.WriteFile(path, s.Chain().UNL(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ways are the ways in which the tip is believed.
func ways(s *sim.Sim, unl string) map[string][]string {
	return map[string][]string{
		"the server's word": nil,
		"a quorum":          {"--level", "L3", "--anchor", quorum, "--unl", unl, "--unl-key", fmt.Sprintf("%X", s.Chain().Publisher())},
	}
}

func TestServeFollows(t *testing.T) {
	s, unl := growing(t)
	for name, flags := range ways(s, unl) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, 0, syncing(dir, last-3, last, s.URL())...)
			p := ledgersync(t, serving(dir, append(flags, "--follow", "--server", s.WS())...)...)
			url, _ := ready(t, p)
			const grown = last + 4
			until(t, p, "all up to the tip", func() bool { // it arrives before the ledgers below it
				var info infoAnswer
				ask(t, url, "server_info", struct{}{}, &info)
				has, err := history.ParseSet(info.Info.Complete)
				return err == nil && len(has.Missing(history.Range{From: last - 3, To: grown})) == 0
			})
			for index := uint32(last - 3); index <= grown; index++ {
				isTrue(t, url, s, index)
			}
			ends(t, p)
			checked(t, dir)
		})
	}
}

// proved is the number of ledgers that a job has proved, from its debug address, which it logs.
func proved(t testing.TB, p *program.Process) float64 {
	t.Helper()
	_, rest, ok := strings.Cut(p.Stderr.String(), `"debug":"`)
	address, _, whole := strings.Cut(rest, `"`)
	if !ok || !whole {
		return 0
	}
	resp, err := asker.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ = strings.Cut(string(text), "\nripple_sync_ledgers_total ")
	value, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseFloat(value, 64) // it is registered a moment after the address is logged
	return n
}

func TestFollows(t *testing.T) {
	s, unl := growing(t)
	for name, flags := range ways(s, unl) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, 0, syncing(dir, last-3, last, s.URL())...)
			args := append([]string{"follow", "--data", dir, "--server", s.URL(), "--debug", "127.0.0.1:0", "--log-level", "info"}, flags...)
			p := ledgersync(t, args...)
			until(t, p, "three ledgers to be proved", func() bool { return proved(t, p) >= 3 })
			ends(t, p)
			has, asked := stored(t, dir)
			set, err := history.ParseSet(has)
			if err != nil {
				t.Fatal(err)
			}
			// It may have been stopped in the middle of a stretch, which is stored from its top
			// down.
			top := set[len(set)-1].To
			if len(set) > 2 || set[0].From != last-3 || set[0].To < last || top <= last {
				t.Errorf("stored: %s", has)
			}
			if asked.From != last-3 {
				t.Errorf("the folder forgot where it begins: %+v", asked)
			}
			run(t, 0, "sync", "--data", dir, "--to", index(top), "--debug", "127.0.0.1:0")
			if has, _ := stored(t, dir); has != fmt.Sprintf("%d-%d", last-3, top) {
				t.Errorf("stored: %s, want all up to %d", has, top)
			}
			checked(t, dir)
		})
	}
}

// Without servers, or without trusted validators, follow fails immediately.
func TestFollowIsRefused(t *testing.T) {
	for says, args := range map[string][]string{
		"no server: name one with --server": {},
		"--unl FILE":                        {"--server", url, "--anchor", quorum},
		"add --anchor quorum":               {"--server", url, "--level", "L3"},
	} {
		for _, command := range [][]string{{"follow"}, {"serve", "--follow", "--listen", "127.0.0.1:0"}} {
			all := append(command, "--data", t.TempDir(), "--debug", "127.0.0.1:0")
			if _, said := run(t, 2, append(all, args...)...); !strings.Contains(said, says) {
				t.Errorf("%v: %s", command, said)
			}
		}
	}
}
