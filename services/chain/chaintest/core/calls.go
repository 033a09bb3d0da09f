package core

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// refusesWhatIsNoCall: each error has the code of JSON-RPC 2.0.
func refusesWhatIsNoCall(c *chaintest.Client) {
	for body, code := range map[string]int{
		`{`:    -32700,
		`nope`: -32700,
		`[]`:   -32600,
		`{"jsonrpc":"2.0","id":1,"method":"eth_nope","params":[]}`:                                        -32601,
		`{"jsonrpc":"2.0","id":1,"method":"nope","params":[]}`:                                            -32601,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[]}`:                                  -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x12","latest"]}`:                   -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["never",false]}`:               -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":["0x01"]}`:                 -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["02f8"]}`:                    -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x0"]}`:                     -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":["too","many"]}`:                         -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":{"raw":"0x"}}`:                -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":[{"address":1},"latest"]}`:   -32602,
		`{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":[` + strings.Repeat("[", 900): -32700,
	} {
		r := c.Post(body)
		var a chaintest.Answer
		if err := json.Unmarshal(r.Body, &a); err != nil || a.Error == nil || a.Error.Code != code || a.Error.Message == "" {
			c.T.Errorf("%.200s is answered by %s, want error %d", body, r, code)
		}
		if kind := r.Header.Get("Content-Type"); kind != "application/json" {
			c.T.Errorf("%.200s: an answer of type %q", body, kind)
		}
	}
	for kind, body := range map[string]string{"text/plain": `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`, "application/x-www-form-urlencoded": "a=b", "": "{}"} {
		if r, err := c.TryPost(body, map[string]string{"Content-Type": kind}); err != nil || r.Status != http.StatusUnsupportedMediaType {
			c.T.Errorf("type %q: %s, %v", kind, r, err)
		}
	}
}

// keepsOrder: the answers of an array have the order and the ids of its calls, whatever they are.
func keepsOrder(c *chaintest.Client) {
	account := c.NewAccount(1).Address()
	ids := []any{7, "seven", -1, 7, 1.5, "", "\u00fc\"\\"} // ids may repeat
	var calls []chaintest.Request
	for i := range 3 * len(ids) {
		call := chaintest.Call(ids[i%len(ids)], "eth_getBalance", account, "latest")
		switch i % 3 {
		case 1:
			call = chaintest.Call(ids[i%len(ids)], "eth_nope")
		case 2:
			call = chaintest.Call(ids[i%len(ids)], "eth_getBalance", "0x", "latest")
		}
		calls = append(calls, call)
	}
	for i, a := range c.Array(calls...) {
		switch {
		case i%3 == 0 && string(a.Result) != `"0xde0b6b3a7640000"`, i%3 == 1 && (a.Error == nil || a.Error.Code != -32601), i%3 == 2 && (a.Error == nil || a.Error.Code != -32602):
			c.T.Errorf("answer %d: %s, %v", i, a.Result, a.Error)
		}
	}
	if r := c.Post(`[{"jsonrpc":"2.0","method":"eth_chainId","params":[]},{"jsonrpc":"2.0","id":9,"method":"eth_chainId","params":[]}]`); string(r.Body) != `[{"jsonrpc":"2.0","id":9,"result":"0x539"}]` && string(r.Body) != `[{"jsonrpc":"2.0","id":9,"result":"0x539"}]`+"\n" {
		c.T.Errorf("a notification and a call are answered by %s", r)
	}
}

// boundsArrays: 1,000 calls are served; more, or more than 5 MB, are refused without being served.
func boundsArrays(c *chaintest.Client) {
	calls := func(n int) (all []chaintest.Request) {
		for i := range n {
			all = append(all, chaintest.Call(i, "eth_chainId"))
		}
		return all
	}
	for _, a := range c.Array(calls(1000)...) {
		if string(a.Result) != `"0x539"` {
			c.T.Fatalf("%s, %v", a.Result, a.Error)
		}
	}
	for _, n := range []int{1001, 50_000} {
		body, _ := json.Marshal(calls(n)) // of strings and numbers
		r := c.Post(string(body))
		if !strings.Contains(string(r.Body), "-32600") || strings.Contains(string(r.Body), "0x539") {
			c.T.Errorf("%d calls are answered by %s", n, r)
		}
	}
	if r := c.Post(strings.Repeat(" ", 5<<20) + `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`); r.Status != http.StatusRequestEntityTooLarge {
		c.T.Errorf("more than 5 MB: %s", r)
	}
}

// refusesPages: a page of another site, or one whose name was rebound, is not served.
func refusesPages(c *chaintest.Client) {
	call := `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`
	if r, err := c.TryPost(call, map[string]string{"Origin": "https://evil.example"}); err != nil || r.Status != http.StatusForbidden {
		c.T.Errorf("a foreign origin: %s, %v", r, err)
	}
	for _, origin := range []string{"https://evil.example", "null"} {
		if err := c.TryDial(map[string]string{"Origin": origin}, ""); err == nil {
			c.T.Errorf("a WebSocket of a page of %s is served", origin)
		}
	}
	if err := c.TryDial(nil, "evil.example"); err == nil {
		c.T.Error("a WebSocket of a rebound name is served")
	}
	if err := c.TryDial(nil, ""); err != nil {
		c.T.Error(err)
	}
}

func speaksOverWebSocket(c *chaintest.Client) {
	s := c.Dial()
	var id hexutil.Uint64
	if err := s.Try(&id, "eth_chainId"); err != nil || id != chaintest.ChainID {
		c.T.Fatalf("%d, %v", id, err)
	}
	err := s.Try(nil, "eth_nope")
	c.Refused(err, -32601, "eth_nope")
	for i, a := range s.Array(chaintest.Call("a", "eth_chainId"), chaintest.Call("b", "eth_nope"), chaintest.Call("c", "eth_chainId")) {
		if want := fmt.Sprintf("%q", "abc"[i:i+1]); string(a.ID) != want || (a.Error == nil) != (i != 1) {
			c.T.Errorf("answer %d: %s %s %v", i, a.ID, a.Result, a.Error)
		}
	}
	s.Write("{")
	if m := string(s.Read()); !strings.Contains(m, "-32700") {
		c.T.Errorf("half a message is answered by %s", m)
	}
}

// knowsNone: what does not exist is null.
func knowsNone(c *chaintest.Client) {
	for _, a := range c.Array(
		chaintest.Call(1, "eth_getTransactionReceipt", common.Hash{1}), chaintest.Call(2, "eth_getTransactionByHash", common.Hash{1}),
		chaintest.Call(3, "eth_getBlockByHash", common.Hash{1}, false), chaintest.Call(4, "eth_getBlockByNumber", "0xffffffff", false),
	) {
		if string(a.Result) != "null" || a.Error != nil {
			c.T.Errorf("answer %s: %s, %v", a.ID, a.Result, a.Error)
		}
	}
	stranger := c.NewAccount(0).Address()
	if c.Nonce(stranger, "latest") != 0 || c.Nonce(stranger, "pending") != 0 || c.Balance(stranger).Sign() != 0 {
		c.T.Error("an unused address has a nonce or a balance")
	}
}
