package testchain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/api"
	"dyno/services/chain/api/accounts"
	"dyno/services/chain/api/evm"
	"dyno/services/chain/genesis"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/testchain"
)

// client is a test chain with the methods of a node.
type client struct {
	*suite
	node map[string]jsonrpc.Method
}

func (s *suite) client() *client {
	b := api.Backend{Genesis: s.Genesis(), Blocks: s, States: s, Pool: s, Feed: s, Impersonated: s.Impersonated, Named: s.Named}
	b.Within = func(ctx context.Context) (api.Blocks, api.States) { v := s.Within(ctx); return v, v }
	all := api.Methods(b, "test")
	maps.Copy(all, evm.Methods(b, evm.Options{Gas: 1 << 24, Timeout: time.Minute, MaxTrace: 1 << 20}))
	s.PassOn(all)
	maps.Copy(all, accounts.Methods(b, genesis.Keys(), all))
	maps.Copy(all, s.all)
	return &client{s, all}
}

// ask calls a method with parameters as JSON, and returns the result, or the error.
func (c *client) ask(method, params string) string {
	c.t.Helper()
	result, err := c.node[method](c.t.Context(), []byte(params))
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(result)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// serve serves arrays of calls over HTTP until the function that it returns is called. Its answers can be
// changed.
func (c *client) serve(changes ...func(method string, answer map[string]any)) (url string, end func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var calls []struct {
			ID     int
			Method string
			Params json.RawMessage
		}
		if text, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(text, &calls) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answers := []map[string]any{}
		for _, call := range calls {
			answer := map[string]any{"jsonrpc": "2.0", "id": call.ID}
			if result, err := c.node[call.Method](r.Context(), call.Params); err != nil {
				answer["error"] = map[string]any{"code": -32000, "message": err.Error()}
			} else {
				answer["result"] = result
			}
			for _, change := range changes {
				change(call.Method, answer)
			}
			answers = append(answers, answer)
		}
		json.NewEncoder(w).Encode(answers)
	}))
	return server.URL, server.Close
}

// counter is a contract that adds 1 to slot 0.
const counter = "0x5f546001018060005500"

// slot is slot 0 of a contract after a block.
func (c *client) slot(at string) string {
	c.t.Helper()
	return strings.TrimLeft(strings.Trim(c.ask("eth_getStorageAt", `["`+logging.Hex()+`","0x0","`+at+`"]`), `"`)[2:], "0")
}

// count calls the contract, and returns the hash of the transaction.
func (c *client) count() string {
	c.t.Helper()
	receipt := c.ask("eth_sendTransactionSync", `[{"from":"`+from.Hex()+`","to":"`+logging.Hex()+`","gas":"0x186a0"}]`)
	var r struct{ TransactionHash, Status string }
	if err := json.Unmarshal([]byte(receipt), &r); err != nil || r.Status != "0x1" {
		c.t.Fatal(receipt)
	}
	return r.TransactionHash
}

// A fork has what the origin has, until it is written to, and takes it back; and when it is opened again it is
// the same, whether the origin is there or not.
func TestFork(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	up.want("null", "anvil_setCode", logging, counter)
	up.call("anvil_mine", 4)
	first := up.count()
	up.count() // block 6
	url, end := up.serve()
	defer end()

	dir, o := t.TempDir(), testchain.Options{Checkpoint: 1 << 30, Fail: func(err error) { t.Error(err) }}
	s := openAs(t, dir, o).client()
	defer func() { s.close() }()
	s.call("anvil_mine", 9)
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	want("the fork", s.ask("anvil_reset", `[{"forking":{"jsonRpcUrl":"`+url+`"}}]`), "null")
	for method, params := range map[string]string{
		"eth_blockNumber": `[]`, "eth_getBlockByNumber": `["0x6",true]`, "eth_getBlockReceipts": `["0x5"]`, "eth_getTransactionReceipt": `["` + first + `"]`,
		"eth_getTransactionCount": `["` + from.Hex() + `","latest"]`, "eth_getBalance": `["` + from.Hex() + `","0x5"]`, "eth_getCode": `["` + logging.Hex() + `","latest"]`,
	} {
		want(method, s.ask(method, params), up.ask(method, params))
	}
	want("an older state", s.slot("0x5"), "1")
	want("the last state", s.slot("latest"), "2")
	s.count()
	want("a count", s.slot("latest"), "3")
	want("the origin's count", up.slot("latest"), "2")

	// What is removed is not the origin's again, and is when that is taken back.
	want("a snapshot", s.ask("evm_snapshot", `[]`), `"0x0"`)
	s.want("true", "anvil_setStorageAt", logging, "0x0", common.Hash{})
	want("a slot that is removed", s.slot("latest"), "")
	want("the next block", s.slot("pending"), "")
	s.count()
	want("a count after it", s.slot("latest"), "1")
	want("a revert", s.ask("evm_revert", `["0x0"]`), "true")
	want("a slot that is taken back", s.slot("latest"), "3")
	s.want("null", "anvil_setBalance", genesis.Accounts[5], 0)
	want("an account of nothing", s.ask("eth_getBalance", `["`+genesis.Accounts[5].Hex()+`","latest"]`), `"0x0"`)

	// The hash of a block of the origin, in a contract: slot 0 is the hash of the block 4 before.
	other := common.HexToAddress("0x2020")
	s.want("null", "anvil_setCode", other, "0x60044303405f5500")
	s.sendTo(other)
	n := s.Head().Number.Uint64() - 4
	var block struct{ Hash string }
	if err := json.Unmarshal([]byte(up.ask("eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, n))), &block); err != nil {
		t.Fatal(err)
	}
	want("an older hash", s.ask("eth_getStorageAt", `["`+other.Hex()+`","0x0","latest"]`), `"`+block.Hash+`"`)
	if info := s.ask("anvil_nodeInfo", `[]`); !strings.Contains(info, url) || !strings.Contains(info, `"forkBlockNumber":6`) {
		t.Error(info)
	}

	s.image() // reads what it shows
	end()
	for _, checkpoint := range []int{1 << 30, 1, 1 << 30} { // the calls, then a checkpoint, then what that has
		before, head := s.image(), s.ask("eth_getBlockByNumber", `["latest",true]`)
		s.close()
		o.Checkpoint = checkpoint
		s = openAs(t, dir, o).client()
		want("opened again", s.image(), before)
		want("its head", s.ask("eth_getBlockByNumber", `["latest",true]`), head)
		want("its count", s.slot("latest"), "3")
		want("its account of nothing", s.ask("eth_getBalance", `["`+genesis.Accounts[5].Hex()+`","latest"]`), `"0x0"`)
		s.count()
		s.want("true", "anvil_setStorageAt", logging, "0x0", common.BytesToHash([]byte{3}))
	}
	if got := s.ask("eth_getBalance", `["0x00000000000000000000000000000000000000dd","latest"]`); !strings.Contains(got, "does not answer") {
		t.Errorf("an account that was not read: %s", got)
	}
	url, again := up.serve()
	defer again()
	want("another place", s.ask("anvil_setRpcUrl", `["`+url+`"]`), "null")
	want("an account", s.ask("eth_getBalance", `["0x00000000000000000000000000000000000000dd","latest"]`), `"0x0"`)
	want("a reset", s.ask("anvil_reset", `[]`), "null")
	want("the first block", s.ask("eth_blockNumber", `[]`), `"0x0"`)
	want("without a contract", s.ask("eth_getCode", `["`+logging.Hex()+`","latest"]`), `"0x"`)
}

// What cannot be forked is refused, and the chain stays as it is.
func TestForkRefused(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	url, end := up.serve()
	defer end()
	s := open(t, t.TempDir()).client()
	defer s.close()
	s.send(1)
	before := s.image()
	for forking, says := range map[string]string{
		`{"jsonRpcUrl":"http://192.0.2.1:8545"}`:            "not on this machine",
		`{"jsonRpcUrl":"http://localhost.example"}`:         "not on this machine",
		`{"jsonRpcUrl":"ftp://127.0.0.1"}`:                  "no URL",
		`{"jsonRpcUrl":"http://me:secret@127.0.0.1"}`:       "no URL",
		`{"jsonRpcUrl":"` + url + `","blockNumber":7}`:      "no block 7",
		`{"jsonRpcUrl":"` + url + `","blockNumber":"soon"}`: "blockNumber",
	} {
		if got := s.ask("anvil_reset", `[{"forking":`+forking+`}]`); !strings.Contains(got, says) {
			t.Errorf("%s: %s", forking, got)
		}
	}
	end()
	if got := s.ask("hardhat_reset", `[{"forking":{"jsonRpcUrl":"`+url+`"}}]`); !strings.Contains(got, "does not answer") {
		t.Error(got)
	}
	if after := s.image(); after != before {
		t.Errorf("it was %swhich is now %s", before, after)
	}
}

// Whatever another node answers, a chain that would be its fork gets an error, or what it asked for.
func FuzzAnswers(f *testing.F) {
	f.Add(`[{"id":0,"result":"0x5"}]`)
	f.Add(`[{"id":0,"error":{"message":"no"}}]`)
	f.Add(`{"error":{}}`)
	var answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) }))
	f.Cleanup(server.Close)
	c, err := testchain.Open(f.Context(), f.TempDir(), nil, testchain.Options{Log: slog.New(slog.DiscardHandler), Fail: func(err error) { f.Error(err) }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	reset := c.Methods()["anvil_reset"]
	f.Fuzz(func(t *testing.T, text string) {
		answer = text
		if _, err := reset(t.Context(), []byte(`[{"forking":{"jsonRpcUrl":"`+server.URL+`"}}]`)); err == nil || err.Error() == "" {
			t.Errorf("%q is taken for a node", text)
		}
	})
}

// Whatever a block of another node is, it is read or refused.
func FuzzForkPoint(f *testing.F) {
	f.Add([]byte{0xc0}, []byte{0xc0}, false)
	for _, change := range []func(*types.Header){
		func(*types.Header) {},
		func(h *types.Header) { h.GasLimit = 1 },
		func(h *types.Header) { h.GasUsed = h.GasLimit + 1 },
		func(h *types.Header) { h.Number.SetUint64(math.MaxUint64) },
		func(h *types.Header) { h.Time = math.MaxUint64 },
		func(h *types.Header) { h.BaseFee.Lsh(h.BaseFee, 200) },
		func(h *types.Header) { *h.ExcessBlobGas = math.MaxUint64 },
		func(h *types.Header) { *h.BlobGasUsed = math.MaxUint64 },
		func(h *types.Header) { h.BlobGasUsed = nil },
	} {
		h := genesis.Test(0).Block().Header()
		change(h)
		raw, err := rlp.EncodeToBytes(types.NewBlockWithHeader(h))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, []byte{}, true)
	}
	f.Fuzz(func(t *testing.T, block, receipt []byte, bare bool) { testchain.DecodePoint(block, receipt, bare) })
}

// Whatever another node's methods answer for a block and a receipt, it is read or refused.
func FuzzAssemble(f *testing.F) {
	f.Add([]byte(`{"transactions":[null],"uncles":[],"withdrawals":[null]}`), []byte(`null`))
	f.Add([]byte(`{"transactions":[{"type":"0x0","nonce":"0x0","gasPrice":"0x1","gas":"0x5208","to":null,"value":"0x0","input":"0x","v":"0x0","r":"0x0","s":"0x0"}]}`),
		[]byte(`{"type":"0x7e","status":"0x1","cumulativeGasUsed":"0x1","logsBloom":"0x`+strings.Repeat("0", 512)+`","logs":[null],"gasUsed":"0x1","transactionHash":"0x`+strings.Repeat("0", 64)+`"}`))
	f.Fuzz(func(t *testing.T, block, receipt []byte) { testchain.Assemble(block, receipt) })
}
