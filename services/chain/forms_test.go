package chain_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

const (
	account  = "0x00000000000000000000000000000000000000AA"
	reverts  = "0x00000000000000000000000000000000000000AB"
	printer  = "0x365f5f375f5f365f6a636f6e736f6c652e6c6f675afa00" // calls console.log with its input
	recovers = "0x365f5f3760205f365f60015afa505f515f5500"         // keeps what ecrecover answers to its input
	hello    = "0x41304fac0000000000000000000000000000000000000000000000000000000000000020" +
		"000000000000000000000000000000000000000000000000000000000000000568656c6c6f000000000000000000000000000000000000000000000000000000"
)

// Controls take the forms in which anvil's, Hardhat's and viem's clients send them, and answer as these expect.
func TestForms(t *testing.T) {
	t.Parallel()
	n := serve(t, "--test", "--data", t.TempDir())
	none := `"0x` + word("") + `"`
	for _, c := range []struct{ method, params, want string }{
		{"anvil_setBalance", `["` + account + `","0x3e8"]`, "null"},
		{"hardhat_setBalance", `["` + strings.ToLower(account) + `","1000"]`, "null"},
		{"tenderly_setBalance", `["` + account + `",1000]`, "null"},
		{"eth_getBalance", `["` + account + `","latest"]`, `"0x3e8"`},
		{"anvil_addBalance", `["` + account + `","0x` + strings.Repeat("f", 64) + `"]`, "null"},
		{"eth_getBalance", `["` + account + `","latest"]`, `"0x` + strings.Repeat("f", 64) + `"`},
		{"hardhat_setNonce", `["` + account + `",7]`, "null"},
		{"evm_setAccountCode", `["` + account + `","0x00"]`, "null"},
		{"eth_getCode", `["` + account + `","latest"]`, `"0x00"`},
		{"anvil_setStorageAt", `["` + account + `",3,"0x` + word("9") + `"]`, "true"},
		{"hardhat_setStorageAt", `["` + account + `","0x` + word("3") + `","0x` + word("9") + `"]`, "true"},

		{"anvil_dropTransaction", `[` + none + `]`, "null"},
		{"hardhat_dropTransaction", `[` + none + `]`, "false"},
		{"debug_clearTxpool", `[]`, "null"},
		{"anvil_getBlobByHash", `[` + none + `]`, "null"},
		{"anvil_getBlobsByTransactionHash", `[` + none + `]`, "null"},
		{"hardhat_setRpcUrl", `["http://127.0.0.1:1"]`, "null"},
		{"anvil_setLoggingEnabled", `[true]`, "null"},

		{"anvil_setNextBlockPrevRandao", `["0x` + word("5") + `"]`, "null"},
		{"evm_mine", `[null]`, `"0x0"`},
		{"evm_mine", `[{"timestamp":null,"blocks":1}]`, `"0x0"`},
		{"hardhat_mine", `["0x2",null]`, "null"},
		{"anvil_mine", `[null,"0x1"]`, "null"},
		{"hardhat_setBlockTimestampInterval", `[2500]`, "null"},
		{"anvil_removeBlockTimestampInterval", `[]`, "true"},
		{"hardhat_removeBlockTimestampInterval", `[]`, "false"},

		{"anvil_reorg", `{"depth":2,"tx_block_pairs":[[` + transfer + `,1]]}`, "null"},
		{"anvil_reorg", `[{"depth":"0x1","tx_block_pairs":[]}]`, "null"},
		{"anvil_rollback", `[null]`, "null"},
		{"eth_blockNumber", `[]`, `"0x4"`},
		{"anvil_reset", `[null]`, "null"},
		{"anvil_reset", `[{"forking":{"blockNumber":null}}]`, "null"},
		{"eth_blockNumber", `[]`, `"0x0"`},
	} {
		if got := n.ask(c.method, c.params); got != c.want {
			t.Errorf("%s %s is %s, want %s", c.method, c.params, got, c.want)
		}
	}
}

// Hardhat's step is one of milliseconds, a transaction that waits is dropped with its answer, and what the next
// block has is set by anvil's later name, too.
func TestHardhatForms(t *testing.T) {
	t.Parallel()
	n := serve(t, "--test", "--data", t.TempDir())
	n.ask("hardhat_setBlockTimestampInterval", `[2500]`)
	n.ask("anvil_setNextBlockPrevRandao", `["0x`+word("5")+`"]`)
	var blocks []struct {
		Timestamp hexutil.Uint64
		MixHash   common.Hash
	}
	if err := json.Unmarshal([]byte(n.ask("evm_mine_detailed", `[{"blocks":2}]`)), &blocks); err != nil || len(blocks) != 2 {
		t.Fatalf("%v, %v", blocks, err)
	}
	if blocks[1].Timestamp-blocks[0].Timestamp != 3 || blocks[0].MixHash != (common.Hash{31: 5}) {
		t.Errorf("the blocks are %+v", blocks)
	}
	n.ask("evm_setAutomine", `[false]`)
	hash := n.ask("eth_sendTransaction", `[`+transfer+`]`)
	if got := n.ask("hardhat_dropTransaction", `[`+hash+`]`); got != "true" {
		t.Error(got)
	}
	if got := n.ask("eth_getTransactionByHash", `[`+hash+`]`); got != "null" {
		t.Error(got)
	}
}

// A chain that begins again is another instance, and knows when its last block was made, also when it was
// opened again.
func TestInstance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, "--test", "--data", dir)
	instance := func() string {
		var m struct{ InstanceID string }
		if err := json.Unmarshal([]byte(n.ask("hardhat_metadata", `[]`)), &m); err != nil || m.InstanceID == "" {
			t.Fatal(m, err)
		}
		return m.InstanceID
	}
	first := instance()
	n.ask("evm_mine", `[]`)
	if got := instance(); got != first {
		t.Error("a block makes the chain another instance")
	}
	n.ask("anvil_reset", `[]`)
	if got := instance(); got == first {
		t.Error("a chain that begins again is the same instance")
	}
	before := time.Now().UnixMilli()
	n.ask("evm_mine", `[4102444800]`)
	made := n.ask("anvil_getLastBlockWallTime", `[]`)
	if at, err := strconv.ParseInt(made, 10, 64); err != nil || at < before || at >= 4102444800000 {
		t.Errorf("the block was made at %s, after %d", made, before)
	}
	n.stop()
	n = serve(t, "--test", "--data", dir)
	if got := n.ask("anvil_getLastBlockWallTime", `[]`); got != made {
		t.Errorf("the block was made at %s; opened again, at %s", made, got)
	}
}

// What contracts print is in the log: of calls, of estimates, and of transactions when they are in a block. What is
// only looked at, or was in a block before the start, is not.
func TestPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, "--test", "--data", dir)
	call := `{"from":"` + rich + `","to":"` + account + `","data":"` + hello + `"}`
	printed := func(of string, want int) {
		t.Helper()
		line := `"msg":"console.log","of":` + of + `,"text":"hello"`
		if got := strings.Count(n.stderr.String(), line); got != want {
			t.Errorf("%s is %d times in the log, want %d:\n%s", line, got, want, n.stderr)
		}
	}
	n.ask("anvil_setCode", `["`+account+`","`+printer+`"]`)
	n.ask("eth_call", `[`+call+`,"latest"]`)
	printed(`"eth_call"`, 1)
	n.ask("eth_estimateGas", `[`+call+`]`)
	printed(`"eth_estimateGas"`, 1)
	n.ask("evm_setAutomine", `[false]`)
	hash := n.ask("eth_sendTransaction", `[`+strings.Replace(call, `"to"`, `"gas":"0x186a0","to"`, 1)+`]`)
	n.ask("eth_getBlockByNumber", `["pending",true]`)
	printed(hash, 0)
	n.ask("evm_mine", `[]`)
	printed(hash, 1)
	n.ask("debug_traceTransaction", `[`+hash+`]`)
	n.ask("anvil_setLoggingEnabled", `[false]`)
	n.ask("eth_call", `[`+call+`,"latest"]`)
	if got := strings.Count(n.stderr.String(), "console.log"); got != 3 {
		t.Errorf("%d lines, want 3:\n%s", got, n.stderr)
	}
	n.stop()
	n = serve(t, "--test", "--data", dir)
	if got := n.ask("eth_getTransactionReceipt", `[`+hash+`]`); !strings.Contains(got, `"status":"0x1"`) {
		t.Error(got)
	}
	printed(hash, 0)

	n = serve(t, "--data", t.TempDir()) // no test chain
	if got := n.ask("eth_call", `[`+call+`,"latest",{"`+account+`":{"code":"`+printer+`"}}]`); got != `"0x"` {
		t.Error(got)
	}
	printed(`"eth_call"`, 0)
}

// Ecrecover answers an account that was named for a signature, in calls, estimates, blocks and traces, also when
// the chain was opened again; of other signatures it answers what it did.
func TestSignatures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, "--test", "--data", dir)
	signature := word("1") + word("2") + "1b"
	input := "0x" + word("ab") + word("1b") + word("1") + word("2")
	recovered := func(want string) {
		t.Helper()
		if got := n.ask("eth_call", `[{"to":"0x0000000000000000000000000000000000000001","data":"`+input+`"},"latest"]`); got != want {
			t.Errorf("ecrecover answers %s, want %s", got, want)
		}
	}
	usual := n.ask("eth_call", `[{"to":"0x0000000000000000000000000000000000000001","data":"`+input+`"},"latest"]`)
	n.ask("anvil_setCode", `["`+account+`","`+recovers+`"]`)
	n.ask("anvil_setCode", `["`+reverts+`","0x5f5ffd"]`)
	estimates := func() (all []string) {
		for _, call := range []string{transfer, `{"from":"` + rich + `","to":"` + account + `","data":"0x"}`, `{"to":"` + reverts + `"}`, `{"from":"` + reverts + `","to":"` + poor + `","value":"0x1","gasPrice":"0x77359400"}`} {
			all = append(all, n.ask("eth_estimateGas", `[`+call+`]`))
		}
		return all
	}
	before := estimates()
	for _, params := range []string{`["0x` + signature + `","` + rich + `"]`, `[["0x` + signature + `","` + poor + `"]]`} {
		if got := n.ask("anvil_impersonateSignature", params); got != "null" {
			t.Error(got)
		}
	}
	named := `"0x` + word(poor[2:]) + `"`
	recovered(named)
	if got := estimates(); !slices.Equal(got, before) || got[0] != `"0x5208"` {
		t.Errorf("the estimates are %v, and were %v", got, before)
	}
	if got := n.ask("anvil_impersonateSignature", `["0x01","`+rich+`"]`); !strings.Contains(got, "has 65 bytes") {
		t.Error(got)
	}
	receipt := n.ask("eth_sendTransactionSync", `[{"from":"`+rich+`","to":"`+account+`","data":"`+input+`"}]`) // with gas as it is estimated
	var r struct{ Status, TransactionHash string }
	if err := json.Unmarshal([]byte(receipt), &r); err != nil || r.Status != "0x1" {
		t.Fatal(receipt)
	}
	if got := n.ask("eth_getStorageAt", `["`+account+`","0x0","latest"]`); got != named {
		t.Error(got)
	}
	if got := n.ask("debug_traceTransaction", `["`+r.TransactionHash+`",{"tracer":"callTracer"}]`); !strings.Contains(got, `"output":`+named) {
		t.Error(got)
	}
	n.stop()
	n = serve(t, "--test", "--data", dir)
	recovered(named)
	n.ask("anvil_reset", `[]`)
	recovered(usual)
}

// The slots of an account are listed in the order of their hashes, as they were before a block: on a test chain
// with their keys, on others by their hashes.
func TestStorageRange(t *testing.T) {
	t.Parallel()
	const (
		zero, three = `"0x290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563"`, `"0xc2575a0e9e593c00f959f8c92f12db2869c3395a3b0502d05e2516446f71f85b"`
		creates     = "0x60075f5560096003555f5ff3" // keeps 7 in slot 0, and 9 in slot 3
	)
	slot := func(hash, key, value string) string {
		return hash + `:{"key":` + key + `,"value":"0x` + word(value) + `"}`
	}
	for _, c := range []struct {
		args        []string
		first, last string // keys of the slots
	}{
		{[]string{"--test"}, `"0x` + word("") + `"`, `"0x` + word("3") + `"`},
		{nil, "null", "null"},
		{[]string{"--set", "state=statedb"}, "null", "null"},
	} {
		n := serve(t, append([]string{"--data", t.TempDir()}, c.args...)...)
		var created struct{ ContractAddress string }
		if err := json.Unmarshal([]byte(n.ask("eth_sendTransactionSync", `[{"from":"`+rich+`","data":"`+creates+`"}]`)), &created); err != nil {
			t.Fatal(err)
		}
		of := `"` + created.ContractAddress + `"`
		all := `{"storage":{` + slot(zero, c.first, "7") + `,` + slot(three, c.last, "9") + `},"nextKey":null}`
		ask := func(params, want string) {
			t.Helper()
			if got := n.ask("debug_storageRangeAt", params); got != want && !strings.Contains(got, `"message":"`+want) {
				t.Errorf("%v: %s is %s, want %s", c.args, params, got, want)
			}
		}
		ask(`["0x1",0,`+of+`,"0x",10]`, `{"storage":null,"nextKey":null}`)
		n.ask("eth_sendTransactionSync", `[`+transfer+`]`)
		ask(`["0x2",0,`+of+`,"0x",10]`, all)
		ask(`["latest",0,`+of+`,"0x00",1]`, `{"storage":{`+slot(zero, c.first, "7")+`},"nextKey":`+three+`}`)
		ask(`["latest",0,`+of+`,`+three+`,1]`, `{"storage":{`+slot(three, c.last, "9")+`},"nextKey":null}`)
		ask(`["latest",0,"`+account+`","0x",10]`, `{"storage":null,"nextKey":null}`)
		ask(`["latest",1,`+of+`,"0x",10]`, "transaction index 1 out of range for block")
		ask(`["0x0",0,`+of+`,"0x",10]`, "no transaction in genesis")
		ask(`["0x9",0,`+of+`,"0x",10]`, "block 0x9 not found")
		ask(`["pending",0,`+of+`,"0x",10]`, "tracing on top of pending")
	}
}
