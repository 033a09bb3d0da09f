package testchain_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/api"
	"dyno/services/chain/api/filter"
	"dyno/services/chain/genesis"
)

// answer is one of a node that is forked, which a test changes.
type answer = map[string]any

// failing answers a method with an error.
func failing(method string, code int) func(string, answer) {
	return func(m string, a answer) {
		if m == method {
			delete(a, "result")
			a["error"] = answer{"code": code, "message": "not now"}
		}
	}
}

// other answers a method with something else.
func other(method string, result any) func(string, answer) {
	return func(m string, a answer) {
		if m == method {
			a["result"] = result
		}
	}
}

// each makes several changes.
func each(all ...func(string, answer)) func(string, answer) {
	return func(m string, a answer) {
		for _, change := range all {
			change(m, a)
		}
	}
}

// unknownTypes answers transactions and receipts as those of a type that Ethereum does not have.
func unknownTypes(_ string, a answer) {
	if text, err := json.Marshal(a["result"]); err == nil && a["result"] != nil {
		a["result"] = json.RawMessage(strings.ReplaceAll(string(text), `"type":"0x2"`, `"type":"0x7e"`))
	}
}

// forkOf begins s as a fork of what is at a URL, and returns the answer.
func (c *client) forkOf(url string) string {
	c.t.Helper()
	return c.ask("anvil_reset", `[{"forking":{"jsonRpcUrl":"`+url+`"}}]`)
}

// contains checks that an answer has a text.
func (c *client) contains(got, want string) {
	c.t.Helper()
	if !strings.Contains(got, want) {
		c.t.Errorf("%s, want %s", got, want)
	}
}

// A node that refuses what only some have gives the same block by what all have, and one that is not known here
// without its transactions; every other failure is an error, and so is what does not belong together.
func TestForkAnswers(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	up.send(1)
	up.send(2)
	var block json.RawMessage
	if err := json.Unmarshal([]byte(up.ask("eth_getBlockByNumber", `["0x1",false]`)), &block); err != nil {
		t.Fatal(err)
	}
	first := up.ask("debug_getRawBlock", `["0x1"]`)
	s := open(t, t.TempDir()).client()
	defer s.close()
	for _, test := range []struct {
		change func(string, answer)
		says   string
		whole  bool
	}{
		{failing("", 0), "null", true},
		{failing("debug_getRawBlock", -32601), "null", true},
		{failing("debug_getRawReceipts", -32004), "null", true},
		{failing("debug_getRawBlock", -32000), "null", true},
		{failing("debug_getRawReceipts", -32005), "null", true},
		{each(failing("debug_getRawBlock", 403), failing("eth_getBlockReceipts", -32601)), "null", true},
		{each(failing("debug_getRawBlock", 403), failing("eth_getBlockReceipts", -32601), failing("eth_getTransactionReceipt", -32601)), "null", false},
		{each(failing("debug_getRawBlock", 403), other("eth_getBlockReceipts", []string{})), "null", false},
		{each(failing("debug_getRawBlock", 403), unknownTypes), "null", false},
		{failing("eth_getBlockByNumber", -32601), "not now", false},
		{other("debug_getRawReceipts", []string{}), "1 transactions and 0 receipts", false},
		{other("debug_getRawReceipts", []string{"0xf9010801"}), "cannot be read", false},
		{other("debug_getRawBlock", json.RawMessage(first)), "answers block 1 for 2", false},
		{other("eth_getBlockByNumber", block), "answers block 1 for 2", false},
		{other("eth_getBlockByNumber", nil), "no block 2", false},
		{other("eth_getBalance", nil), "does not know the balance", false},
	} {
		s.want("null", "anvil_reset")
		before := s.image()
		url, end := up.serve(test.change)
		got := s.forkOf(url)
		s.contains(got, test.says)
		if got == "null" {
			block, err := s.Block(2)
			if err != nil || len(block.Transactions()) > 0 != test.whole {
				t.Errorf("the forked block has %d transactions, want some: %t (%v)", len(block.Transactions()), test.whole, err)
			}
		} else if after := s.image(); after != before {
			t.Errorf("%s: it was %swhich is now %s", got, before, after)
		}
		end()
	}
}

// A fork to which no other node is named stays one of the same, and goes to the block that is named.
func TestForkAgain(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	up.call("anvil_mine", 7)
	url, end := up.serve()
	defer end()
	s := open(t, t.TempDir()).client()
	defer s.close()
	at := func(params, number string) {
		t.Helper()
		if got := s.ask("anvil_reset", params); got != "null" {
			t.Errorf("%s: %s", params, got)
		}
		if got := s.ask("eth_blockNumber", `[]`); got != `"`+number+`"` {
			t.Errorf("%s: at block %s, want %s", params, got, number)
		}
	}
	s.call("evm_mine")
	s.contains(s.ask("anvil_reset", `[{"forking":{"blockNumber":5}}]`), "Forking not enabled and RPC URL not provided")
	s.contains(s.ask("eth_blockNumber", `[]`), "0x1")
	at(`[{"forking":{"blockNumber":null}}]`, "0x0")
	at(`[{"jsonRpcUrl":"`+url+`","blockNumber":5}]`, "0x5")
	at(`[{"forking":{"blockNumber":3}}]`, "0x3")
	at(`[{"forking":{}}]`, "0x7")
	at(`[{"blockNumber":"0x4"}]`, "0x4")
	at(`[]`, "0x0")

	own, stop := s.serve()
	defer stop()
	s.contains(s.forkOf(own), "itself")
	first, next := s.Records()
	s.want("null", "anvil_setRpcUrl", url)
	if f, n := s.Records(); f != first || n != next {
		t.Errorf("a call that does nothing is in the journal: records %d to %d, then %d to %d", first, next, f, n)
	}
	s.contains(s.forkOf(url), "null")
	s.contains(s.call("anvil_setRpcUrl", own), "itself")
}

// What another node is needed for is an error without it, what is not needed of it is answered, and no error
// shows the path of its URL.
func TestForkAlone(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	up.call("anvil_mine", 7)
	up.want("null", "anvil_setNonce", to, 1)
	up.want("true", "anvil_setStorageAt", to, "0x0", common.BytesToHash([]byte{9}))
	url, end := up.serve()
	s := open(t, t.TempDir()).client()
	defer s.close()
	if got := s.forkOf(url + "/v3/secret"); got != "null" {
		t.Fatal(got)
	}
	s.contains(s.ask("eth_getStorageAt", `["`+to.Hex()+`","0x0","latest"]`), "9")
	s.contains(s.ask("eth_getProof", `["`+to.Hex()+`",[],"latest"]`), "no proofs")
	const hashOf = `[{"data":"0x600443034060005260206000f3"},"latest"]` // of the block 4 before
	var block struct{ Hash string }
	if err := json.Unmarshal([]byte(up.ask("eth_getBlockByNumber", `["0x3",false]`)), &block); err != nil {
		t.Fatal(err)
	}
	s.contains(s.ask("eth_call", hashOf), block.Hash)
	s.want("null", "evm_setAutomine", false)
	waits := s.send(1).Hex()
	image := s.image()
	end()
	if now := s.image(); now != image {
		t.Errorf("it was %swhich is now %s", image, now)
	}
	s.contains(s.ask("eth_getTransactionByHash", `["`+waits+`"]`), `"blockHash":null`)
	if got := s.ask("eth_getTransactionReceipt", `["`+waits+`"]`); got != "null" {
		t.Error(got)
	}
	s.contains(s.ask("eth_call", hashOf), block.Hash) // which is known
	for method, params := range map[string]string{
		"eth_call":                 strings.Replace(hashOf, "6004", "6006", 1),
		"eth_estimateGas":          `[{"data":"0x600643034060005260206000f3","value":"0x0"},"latest"]`,
		"eth_getTransactionByHash": `["` + block.Hash + `"]`,
		"eth_getBalance":           `["0x00000000000000000000000000000000000000dd","latest"]`,
	} {
		got := s.ask(method, params)
		s.contains(got, "does not answer")
		if strings.Contains(got, "secret") {
			t.Error(got)
		}
	}
}

// A call that waits for another node ends with its client, and a look at a nonce lets others go on meanwhile.
func TestForkWaits(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	up.call("anvil_mine", 2)
	unknown := common.HexToAddress("0xdd")
	reached := make(chan struct{})
	url, end := up.serve()
	hung := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then the server sees that the client has gone
		reached <- struct{}{}
		<-r.Context().Done()
	}))
	defer hung.Close()
	s := open(t, t.TempDir()).client()
	defer s.close()
	s.contains(s.forkOf(url), "null")
	end()
	move := func(to string) {
		t.Helper()
		if err := s.Before("anvil_setRpcUrl", `["`+to+`"]`); err != nil {
			t.Fatal(err)
		}
	}
	move(hung.URL)
	for method, params := range map[string]string{
		"anvil_addBalance": `["` + unknown.Hex() + `","0x1"]`, "eth_getBalance": `["` + unknown.Hex() + `","latest"]`,
		"eth_call": `[{"to":"` + unknown.Hex() + `"},"latest"]`, "eth_estimateGas": `[{"to":"` + unknown.Hex() + `","data":"0x01"},"pending"]`,
		"eth_getBlockByNumber": `["0x0",false]`, "eth_getTransactionReceipt": `["` + common.MaxHash.Hex() + `"]`,
		"eth_createAccessList": `[{"data":"0x600643034060005260206000f3"},"latest"]`, "eth_getBlockByHash": `["` + common.MaxHash.Hex() + `",false]`,
		"eth_feeHistory": `["0x3","latest",[20]]`, "trace_filter": `[{"fromBlock":"0x1","toBlock":"0x1"}]`, "eth_getTransactionBySenderAndNonce": `["` + unknown.Hex() + `","0x0"]`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := s.node[method](ctx, []byte(params))
			done <- err
		}()
		select {
		case <-reached:
		case err := <-done:
			t.Errorf("%s ends without a question to the other node: %v", method, err)
			cancel()
			continue
		}
		cancel()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("%s: %v", method, err)
		}
	}
	// A look at a nonce takes no lock.
	looked := make(chan bool, 1)
	go func() {
		_, ok := s.Nonce(unknown)
		looked <- ok
	}()
	<-reached
	s.want("null", "anvil_setBalance", genesis.Accounts[3], 1)
	hung.CloseClientConnections()
	if <-looked {
		t.Error("a nonce that was not read is answered")
	}
}

// Of a node whose blocks are not known here, what they have is its own answer, and never that there is nothing.
func TestForkPassedOn(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	logs := filter.New(api.Backend{Genesis: up.Genesis(), Blocks: up, States: up, Pool: up, Feed: up}).Methods()
	maps.Copy(up.node, logs)
	up.want("null", "anvil_setCode", logging, "0x5f5fa0") // one without topics
	hash := up.sendTo(logging).Hex()
	up.sendTo(logging)
	var asked atomic.Int64
	url, end := up.serve(failing("debug_getRawBlock", -32601), failing("debug_traceTransaction", -32601), unknownTypes, func(string, answer) { asked.Add(1) })
	defer end()
	s := open(t, t.TempDir()).client()
	defer s.close()
	maps.Copy(s.node, filter.New(api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s}).Methods())
	s.contains(s.forkOf(url), "null")
	up.sendTo(logging) // which is not of the fork
	last := blockHash(up, "0x2")
	for _, of := range [][2]string{
		{"eth_getBlockByNumber", `["0x1",true]`}, {"eth_getBlockByNumber", `["0x2",false]`}, {"eth_getBlockByHash", `["` + last + `",true]`},
		{"eth_getBlockByHash", `["` + blockHash(up, "0x1") + `",false]`}, {"eth_getBlockReceipts", `["0x1"]`}, {"eth_getBlockReceipts", `["` + last + `"]`},
		{"eth_getBlockTransactionCountByNumber", `["0x1"]`}, {"eth_getBlockTransactionCountByHash", `["` + last + `"]`},
		{"eth_getTransactionByBlockNumberAndIndex", `["0x2","0x0"]`}, {"eth_getTransactionByHash", `["` + hash + `"]`},
		{"eth_getTransactionReceipt", `["` + hash + `"]`}, {"eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x2"}]`},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x1","address":"` + logging.Hex() + `"}]`}, {"eth_getLogs", `[{"blockHash":"` + last + `"}]`},
	} {
		want := strings.ReplaceAll(up.ask(of[0], of[1]), `"type":"0x2"`, `"type":"0x7e"`)
		if got := s.ask(of[0], of[1]); got != want || len(want) < 5 {
			t.Errorf("%v: %s, want %s", of, got, want)
		}
	}
	if got, want := s.ask("eth_getBlockByNumber", `["latest",false]`), up.ask("eth_getBlockByNumber", `["0x2",false]`); got != want {
		t.Errorf("the last block: %s, want %s", got, want)
	}
	s.contains(s.ask("debug_traceTransaction", `["`+hash+`"]`), "debug_traceTransaction with the error -32601: not now")
	s.contains(s.ask("debug_getRawBlock", `["0x1"]`), "debug_getRawBlock with the error -32601: not now")
	s.contains(s.ask("trace_filter", `[{"fromBlock":"0x1","toBlock":"0x1"}]`), "transactions and receipts of block 1")
	s.contains(s.ask("eth_getHeaderByNumber", `["latest"]`), last)
	s.contains(s.ask("eth_feeHistory", `["0x3","latest",[20]]`), `"oldestBlock":"0x0","reward":[["0x0"],["0x0"],["0x0"]],`)
	if got := s.ask("eth_getTransactionByHash", `["`+last+`"]`); got != "null" {
		t.Error(got)
	}

	// What was made since is here, and logs of both are joined.
	s.sendTo(logging)
	before := asked.Load()
	var found []struct{ BlockNumber string }
	got := s.ask("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"latest","topics":[]}]`)
	if err := json.Unmarshal([]byte(got), &found); err != nil || len(found) != 3 || found[0].BlockNumber != "0x1" || found[2].BlockNumber != "0x3" {
		t.Error(got)
	}
	if n := asked.Load() - before; n != 1 {
		t.Errorf("%d questions for logs, want 1", n)
	}
	s.contains(s.ask("eth_getBlockByNumber", `["latest",true]`), `"number":"0x3"`)
	end()
	s.contains(s.ask("eth_getLogs", `[{"fromBlock":"0x0"}]`), "does not answer")
	s.contains(s.ask("eth_getLogs", `[{"fromBlock":"0x3"}]`), "0x3")
}

func blockHash(c *client, number string) string {
	c.t.Helper()
	var block struct{ Hash string }
	if err := json.Unmarshal([]byte(c.ask("eth_getBlockByNumber", `["`+number+`",false]`)), &block); err != nil {
		c.t.Fatal(err)
	}
	return block.Hash
}

// A node that has a bound of its own for arrays, or takes none, or refuses by the status of HTTP, is forked, too.
func TestForkGateways(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	up.send(1)
	url, end := up.serve(failing("debug_getRawBlock", -32601))
	defer end()
	for what, takes := range map[string]func(calls []json.RawMessage) (status int, answer string){
		"arrays of 10": func(c []json.RawMessage) (int, string) { return map[bool]int{true: 413, false: 200}[len(c) > 10], "" },
		"an object in return": func(c []json.RawMessage) (int, string) {
			return 200, map[bool]string{true: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"too many"}}`}[len(c) > 2]
		},
		"no arrays": func(c []json.RawMessage) (int, string) { return map[bool]int{true: 400, false: 200}[c != nil], "" },
	} {
		gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			var calls []json.RawMessage
			single := json.Unmarshal(text, &calls) != nil
			status, answer := takes(calls)
			if status != 200 || answer != "" {
				w.WriteHeader(status)
				io.WriteString(w, answer)
				return
			}
			if single {
				text = []byte("[" + string(text) + "]")
			}
			if strings.Contains(string(text), "debug_getRawReceipts") {
				w.WriteHeader(map[bool]int{true: http.StatusForbidden, false: http.StatusNotImplemented}[single])
				return
			}
			resp, err := http.Post(url, "application/json", strings.NewReader(string(text)))
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer resp.Body.Close()
			text, _ = io.ReadAll(resp.Body)
			if single {
				text = []byte(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(text)), "["), "]"))
			}
			w.Write(text)
		}))
		s := open(t, t.TempDir()).client()
		if got := s.forkOf(gateway.URL); got != "null" {
			t.Errorf("%s: %s", what, got)
		} else if got, want := s.ask("eth_getBlockByNumber", `["latest",true]`), up.ask("eth_getBlockByNumber", `["latest",true]`); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
		s.close()
		gateway.Close()
	}
}
