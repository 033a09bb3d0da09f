package sim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a test's waits; on a working machine no test depends on it.
const patience = 2 * time.Minute

func start(t testing.TB, c Config) *Sim {
	t.Helper()
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// small is a chain that is made in milliseconds.
func small(c Config) Config {
	if c.Chain == nil {
		c.Spec.Ledgers, c.Spec.Transactions = 6, 5
	}
	return c
}

// caller sends requests over one of the transports and returns the body.
type caller interface {
	// call returns the status (200 over WebSocket) and the body of the answer.
	call(method, params string) (status int, body []byte, err error)
}

type poster struct {
	t      testing.TB
	url    string
	client *http.Client
}

func (p poster) call(method, params string) (int, []byte, error) {
	body := fmt.Sprintf(`{"method":%q,"params":[{%s}]}`, method, params)
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", p.url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	a, err := p.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return a.StatusCode, b, err
}

func overHTTP(t testing.TB, s *Sim) poster {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: s.Trusted()}}
	t.Cleanup(transport.CloseIdleConnections)
	return poster{t, s.URL(), &http.Client{Transport: transport}}
}

type dialled struct {
	t    testing.TB
	conn *websocket.Conn
}

func (d dialled) call(method, params string) (int, []byte, error) {
	if params != "" {
		params = "," + params
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	message := fmt.Sprintf(`{"id":"a1","command":%q%s}`, method, params)
	if err := d.conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		return 0, nil, err
	}
	_, b, err := d.conn.Read(ctx)
	return 200, b, err
}

func overSocket(t testing.TB, s *Sim) dialled {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Trusted()}}
	t.Cleanup(transport.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.WS(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return dialled{t, conn}
}

// full are the parameters that history is asked for with.
func full(index uint32, version int) string {
	return fmt.Sprintf(`"ledger_index":%d,"transactions":true,"expand":true,"binary":true,"api_version":%d`, index, version)
}

// fetch requests a ledger and decodes it, twice.
func fetch(t testing.TB, from caller, params string) (*response.Answer, error) {
	t.Helper()
	_, body, err := from.call("ledger", params)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, body)
}

func decode(t testing.TB, body []byte) (*response.Answer, error) {
	t.Helper()
	if !json.Valid(body) {
		t.Fatalf("not JSON: %.300q", body)
	}
	var first *response.Answer
	var firstErr error
	for name, d := range response.Decoders() {
		into := &response.Answer{}
		err := d.Decode(body, into)
		if first == nil {
			first, firstErr = into, err
		} else if fmt.Sprint(err) != fmt.Sprint(firstErr) {
			t.Errorf("decoder %s says %v, another one %v", name, err, firstErr)
		}
	}
	return first, firstErr
}

func TestServesEveryShape(t *testing.T) {
	chain, err := chain.New(chain.Spec{Ledgers: 6, Transactions: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer chain.Close()
	for _, software := range []string{Rippled, Clio} {
		for _, secure := range []bool{false, true} {
			s := start(t, Config{Chain: chain, Software: software, SelfSigned: secure})
			for transport, from := range map[string]caller{"http": overHTTP(t, s), "ws": overSocket(t, s)} {
				for version := 1; version <= 2; version++ {
					t.Run(fmt.Sprint(software, "/", transport, "/tls=", secure, "/v", version), func(t *testing.T) {
						checkShapes(t, s, from, version, transport)
					})
				}
			}
		}
	}
}

func checkShapes(t *testing.T, s *Sim, from caller, version int, transport string) {
	v := xrpl.NewVerifier()
	for index := uint32(chain.DefaultFirst); index < chain.DefaultFirst+6; index++ {
		truth, err := s.Chain().Ledger(t.Context(), index)
		if err != nil {
			t.Fatal(err)
		}
		for _, params := range []string{
			full(index, version),
			strings.Replace(full(index, version), fmt.Sprintf(`"ledger_index":%d`, index), fmt.Sprintf(`"ledger_hash":"%v"`, truth.Hash), 1),
		} {
			a, err := fetch(t, from, params)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := v.Ledger(&a.Ledger); err != nil || a.Hash != truth.Hash || len(a.Transactions) != 5 || !a.Validated {
				t.Errorf("%s: %v, hash %v of %v, %d transactions", params, err, a.Hash, truth.Hash, len(a.Transactions))
			}
		}
	}
	_, body, err := from.call("ledger", full(chain.DefaultFirst, version))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`"meta_blob":"`: version == 2, `"meta":"`: version == 1, `"hash":"`: version == 2,
		`"id":"a1"`: transport == "ws", `"type":"response"`: transport == "ws",
		`"id":2001`: s.config.Software == Clio, `"status":"success"`: true, `"ledger_data":"`: true,
	} {
		if bytes.Contains(body, []byte(text)) != want {
			t.Errorf("%s in the answer: %v", text, !want)
		}
	}
	if transport == "http" && !bytes.HasPrefix(body, []byte(`{"result":{`)) {
		t.Errorf("answer begins with %.40q", body)
	}
}

// answered is the part of an answer that tests check, wherever the transport puts it.
type answered struct {
	Error   string `json:"error"`
	Code    int    `json:"error_code"`
	Message string `json:"error_message"`
	Status  string `json:"status"`
	Warning string `json:"warning"`
	Ledger  struct {
		Transactions []any  `json:"transactions"`
		Parent       string `json:"parent_hash"`
		Index        any    `json:"ledger_index"`
		Data         string `json:"ledger_data"`
	} `json:"ledger"`
	Index uint32 `json:"ledger_index"`
	Hash  string `json:"ledger_hash"`
	Meta  string `json:"meta"`
	Tx    string `json:"tx"`
	Info  struct {
		Complete string `json:"complete_ledgers"`
		State    string `json:"server_state"`
		Load     int    `json:"load_factor"`
		Last     struct {
			Seq  uint32 `json:"seq"`
			Hash string `json:"hash"`
		} `json:"validated_ledger"`
	} `json:"info"`
	Request json.RawMessage `json:"request"`
}

func parse(t testing.TB, body []byte) (a answered) {
	t.Helper()
	var result struct{ Result *answered }
	if err := json.Unmarshal(body, &result); err != nil {
		t.Fatalf("%v in %.300q", err, body)
	}
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatal(err)
	}
	if result.Result != nil {
		outer := a
		a = *result.Result
		a.Warning, a.Status = cmp.Or(a.Warning, outer.Warning), cmp.Or(a.Status, outer.Status)
	}
	return a
}

func TestErrorsAreTheServers(t *testing.T) {
	for _, software := range []string{Rippled, Clio} {
		s := start(t, small(Config{Software: software}))
		for transport, from := range map[string]caller{"http": overHTTP(t, s), "ws": overSocket(t, s)} {
			for _, c := range []struct {
				method, params, token string
				code                  int
				message               string
			}{
				{"ledger", full(5, 1), "lgrNotFound", 21, "ledgerNotFound"},
				{"ledger", full(chain.DefaultFirst+6, 2), "lgrNotFound", 21, "ledgerNotFound"},
				{"ledger", `"ledger_hash":"` + strings.Repeat("A", 64) + `"`, "lgrNotFound", 21, "ledgerNotFound"},
				{"ledger", `"ledger_hash":"x"`, "invalidParams", 31, "ledgerHashMalformed"},
				{"ledger", `"ledger_index":"soon"`, "invalidParams", 31, "ledgerIndexMalformed"},
				{"ledger", `"transactions":"yes"`, "invalidParams", 31, "Invalid parameters."},
				{"ledger", `"transactions":true,"expand":true`, "notSupported", 75, "Operation not supported."},
				{"getLedger", ``, "unknownCmd", 32, "Unknown method."},
				{"tx", `"binary":true,"transaction":"` + strings.Repeat("0", 64) + `"`, "txnNotFound", 29, "Transaction not found."},
				{"subscribe", `"streams":["weather"]`, map[string]string{"http": "invalidParams", "ws": "malformedStream"}[transport], 0, ""},
			} {
				status, body, err := from.call(c.method, c.params)
				if err != nil {
					t.Fatal(err)
				}
				a := parse(t, body)
				if status != 200 || a.Error != c.token || c.code != 0 && (a.Code != c.code || a.Message != c.message) || a.Status != "error" {
					t.Errorf("%s %s %s(%s): %d %+v", software, transport, c.method, c.params, status, a)
				}
				if !bytes.Contains(a.Request, []byte(c.params)) {
					t.Errorf("%s %s: the request is not repeated: %s", software, transport, body)
				}
			}
		}
	}
}

func TestHTTPRefusesNonRequests(t *testing.T) {
	s := start(t, small(Config{}))
	for body, want := range map[string]string{
		``:                               "Unable to parse request",
		`[1]`:                            "Unable to parse request",
		`{"params":[{}]}`:                "Null method",
		`{"method":3}`:                   "method is not string",
		`{"method":""}`:                  "method is empty",
		`{"method":"ping","params":{}}`:  "params unparsable",
		`{"method":"ping","params":[1]}`: "params unparsable",
		`{"method":"ping","params":[{"api_version":9}]}`: "invalid_API_version",
	} {
		a, err := overHTTP(t, s).client.Post(s.URL(), "", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != 400 || !bytes.HasPrefix(text, []byte(want)) {
			t.Errorf("%s: %d %s", body, a.StatusCode, text)
		}
	}
}

func TestHeadersAndHashesAlone(t *testing.T) {
	s := start(t, small(Config{}))
	from := overHTTP(t, s)
	_, body, _ := from.call("ledger", fmt.Sprintf(`"ledger_index":%d`, chain.DefaultFirst+1))
	a := parse(t, body)
	below, err := s.Chain().Ledger(t.Context(), chain.DefaultFirst)
	if err != nil {
		t.Fatal(err)
	}
	if a.Ledger.Parent != below.Hash.String() || a.Ledger.Index != fmt.Sprint(chain.DefaultFirst+1) || a.Ledger.Transactions != nil {
		t.Errorf("header: %s", body)
	}
	if _, body, _ = from.call("ledger", `"ledger_index":"validated","binary":true`); parse(t, body).Index != chain.DefaultFirst+5 || parse(t, body).Ledger.Data == "" {
		t.Errorf("last ledger in binary: %s", body)
	}
	_, body, _ = from.call("ledger", fmt.Sprintf(`"ledger_index":"%d","transactions":true`, chain.DefaultFirst))
	ids := parse(t, body).Ledger.Transactions
	if len(ids) != 5 || ids[3] != xrpl.TransactionID(below.Transactions[3].Blob).String() {
		t.Errorf("ids: %s", body)
	}
	_, body, _ = from.call("tx", fmt.Sprintf(`"binary":true,"transaction":"%v"`, ids[3]))
	if a := parse(t, body); a.Index != chain.DefaultFirst || a.Tx != xrpl.Hex(below.Transactions[3].Blob) || a.Meta != xrpl.Hex(below.Transactions[3].Meta) {
		t.Errorf("tx: %s", body)
	}
}

func TestServerInfo(t *testing.T) {
	c := small(Config{})
	c.Complete, _ = history.ParseSet("90000001-90000002,90000005,95000000")
	s := start(t, c)
	if err := s.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	from := overHTTP(t, s)
	_, body, _ := from.call("server_info", "")
	a := parse(t, body)
	if a.Info.Complete != "90000001-90000002,90000005" || a.Info.State != "full" || a.Info.Load != 1 || a.Info.Last.Seq != 90000005 {
		t.Errorf("server_info: %s", body)
	}
	if _, err := fetch(t, from, full(90000003, 1)); err == nil {
		t.Error("it serves a ledger in a gap")
	}
	if _, err := s.Chain().Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, body, _ = from.call("server_state", "")
	if !bytes.Contains(body, []byte(`"90000001-90000002,90000005,90000007"`)) || !bytes.Contains(body, []byte(`"load_factor":256`)) {
		t.Errorf("server_state after growing: %s", body)
	}
	s.SetSynced(false)
	_, body, _ = from.call("server_info", "")
	if a := parse(t, body); a.Info.Complete != "empty" || a.Info.State != "connected" || a.Info.Last.Seq != 0 {
		t.Errorf("server_info without network: %s", body)
	}
	for version, want := range map[int]string{1: "noNetwork", 2: "notSynced"} {
		_, body, _ = from.call("ledger", full(90000001, version))
		if a := parse(t, body); a.Error != want {
			t.Errorf("without network: %s", body)
		}
	}
}

func newChain(t testing.TB, c chain.Spec) *chain.Chain {
	t.Helper()
	made, err := chain.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	return made
}

func ledger(t testing.TB, c *chain.Chain, index uint32) *xrpl.Ledger {
	t.Helper()
	l, err := c.Ledger(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// realLedgers is the folder of real ledgers, if present.
func realLedgers(t testing.TB) string {
	file := filepath.Join("..", "..", "..", "..", "shared", "data", "xrpl", "ledgers-binary.jsonl")
	if _, err := os.Stat(file); err != nil {
		t.Skip("no real ledgers here: ", err)
	}
	return file
}

func TestReplayOfRealLedgers(t *testing.T) {
	s := start(t, Config{Spec: chain.Spec{Replay: realLedgers(t)}})
	from := overHTTP(t, s)
	v := xrpl.NewVerifier()
	n := 0
	for _, r := range s.Chain().All() {
		for index := r.From; index <= r.To; index++ {
			for version := 1; version <= 2; version++ {
				a, err := fetch(t, from, full(index, version))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := v.Ledger(&a.Ledger); err != nil {
					t.Errorf("ledger %d: %v", index, err)
				}
			}
			n++
		}
	}
	if n < 50 {
		t.Errorf("only %d ledgers", n)
	}
	_, body, _ := from.call("server_info", "")
	if a := parse(t, body); !strings.HasPrefix(a.Info.Complete, "38129,40000,309936-309937,") {
		t.Errorf("complete_ledgers %s", a.Info.Complete)
	}
	if _, err := s.Chain().Grow(t.Context()); err == nil {
		t.Error("a replay grows")
	}
	_, body, _ = from.call("ledger", full(39000, 1))
	if parse(t, body).Error != "lgrNotFound" {
		t.Errorf("a ledger in a gap: %.200s", body)
	}
}
