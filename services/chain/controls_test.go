package chain_test

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"dyno/services/chain"
)

const (
	rich, poor = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
	transfer   = `{"from":"` + rich + `","to":"` + poor + `","value":"0x1"}`
)

// word is a number of 32 bytes, of which these are the last digits.
func word(digits string) string { return strings.Repeat("0", 64-len(digits)) + digits }

// A balance and an allowance of a token are set by the slot that it reads for its answer.
func TestTokens(t *testing.T) {
	t.Parallel()
	n := serve(t, "--test", "--data", t.TempDir())
	const token = "0x0000000000000000000000000000000000001234"
	answers := func(want string) {
		t.Helper()
		if got := n.ask("eth_call", `[{"to":"`+token+`","data":"0x70a08231`+word(rich[2:])+`"},"latest"]`); got != `"0x`+word(want)+`"` {
			t.Errorf("the token answers %s, want %s", got, want)
		}
	}
	n.ask("anvil_setCode", `["`+token+`","0x5f5450600435545f5260205ff3"]`) // reads slot 0, and answers the one that the account is
	if got := n.ask("anvil_dealERC20", `["`+rich+`","`+token+`","0x1f4"]`); got != "null" {
		t.Error(got)
	}
	answers("1f4")
	if got := n.ask("anvil_setERC20Allowance", `["`+rich+`","`+poor+`","`+token+`",7]`); got != "null" {
		t.Error(got)
	}
	answers("7")
	n.ask("anvil_setCode", `["`+token+`","0x5f54506101f45f5260205ff3"]`) // reads slot 0, and answers 500 whatever it has
	if got := n.ask("anvil_dealERC20", `["`+rich+`","`+token+`","0x1f4"]`); !strings.Contains(got, "no slot found") {
		t.Error(got)
	}
	n.ask("anvil_setCode", `["`+token+`","0x5f545f5260015ff3"]`) // answers a byte
	if got := n.ask("hardhat_dealERC20", `["`+rich+`","`+token+`","0x1f4"]`); !strings.Contains(got, "no slot found") {
		t.Error(got)
	}
}

// What waits is in the fees of pending as it is in those of its block, and blocks and receipts are answered
// by the calls that make them.
func TestDetailed(t *testing.T) {
	t.Parallel()
	n := serve(t, "--test", "--data", t.TempDir())
	n.ask("evm_setAutomine", `[false]`)
	var first, second string
	for _, hash := range []*string{&first, &second} {
		if *hash = n.ask("eth_sendTransaction", `[`+transfer+`]`); len(*hash) != 68 {
			t.Fatal(*hash)
		}
	}
	waits := n.ask("eth_getTransactionBySenderAndNonce", `["`+rich+`","0x1"]`)
	if !strings.Contains(waits, second) || !strings.Contains(waits, `"blockHash":null`) {
		t.Error(waits)
	}
	pending := n.ask("eth_feeHistory", `["0x2","pending",[0,100]]`)
	var blocks []struct {
		Number       string
		Transactions []struct{ Hash string }
	}
	if got := n.ask("anvil_mine_detailed", `[{"blocks":2}]`); json.Unmarshal([]byte(got), &blocks) != nil || len(blocks) != 2 || len(blocks[0].Transactions) != 2 || blocks[1].Number != "0x2" {
		t.Fatal(got)
	}
	if sealed := n.ask("eth_feeHistory", `["0x2","0x1",[0,100]]`); sealed != pending {
		t.Errorf("the fees of pending were %s, and those of its block are %s", pending, sealed)
	}
	for nonce, want := range map[string]string{`"0x0"`: first, `1`: second} {
		if got := n.ask("eth_getTransactionBySenderAndNonce", `["`+rich+`",`+nonce+`]`); !strings.Contains(got, want) || !strings.Contains(got, `"blockNumber":"0x1"`) {
			t.Errorf("with the nonce %s: %s", nonce, got)
		}
	}
	if got := n.ask("eth_getTransactionBySenderAndNonce", `["`+rich+`","0x2"]`); got != "null" {
		t.Error(got)
	}
	n.ask("evm_setAutomine", `[true]`)
	if got := n.ask("eth_sendTransactionSync", `[`+transfer+`]`); !strings.Contains(got, `"status":"0x1"`) || !strings.Contains(got, `"blockNumber":"0x3"`) {
		t.Error(got)
	}
	n.ask("evm_snapshot", `[]`)
	if got := n.ask("anvil_metadata", `[]`); !strings.Contains(got, `"snapshots":{"0x0":[3,"0x`) {
		t.Error(got)
	}
	if got := n.ask("eth_coinbase", `[]`); got != `"0x0000000000000000000000000000000000000000"` {
		t.Error(got)
	}
}

// A fork of a chain with another id shows its transactions, and is checked without it.
func TestForkChecked(t *testing.T) {
	t.Parallel()
	up, dir := serve(t, "--data", t.TempDir()), t.TempDir()
	for range 2 {
		up.ask("eth_sendTransactionSync", `[`+transfer+`]`)
	}
	n := serve(t, "--test", "--data", dir)
	if got := n.ask("hardhat_reset", `[{"forking":{"jsonRpcUrl":"http://`+up.listen+`","blockNumber":"0x2"}}]`); got != "null" {
		t.Fatal(got)
	}
	const first = `["0x1","0x0"]`
	if got := n.ask("eth_getTransactionByBlockNumberAndIndex", first); got != up.ask("eth_getTransactionByBlockNumberAndIndex", first) || !strings.Contains(got, rich) {
		t.Error(got)
	}
	if got := n.ask("eth_sendTransactionSync", `[`+transfer+`]`); !strings.Contains(got, `"blockNumber":"0x3"`) {
		t.Error(got)
	}
	up.stop()
	n.stop()
	if r, err := chain.Check(t.Context(), dir, io.Discard); err != nil || !r.OK || r.Head != 3 || r.Blocks != 1 || r.Transactions != 1 {
		t.Errorf("check: %+v, %v", r, err)
	}
}

// The blocks of a reorganisation have transactions of the node's accounts, with the nonces that follow.
func TestReorgSigns(t *testing.T) {
	t.Parallel()
	n := serve(t, "--test", "--data", t.TempDir())
	for range 3 {
		n.ask("eth_sendTransaction", `[`+transfer+`]`)
	}
	const pairs = `[[{"from":"` + rich + `","to":"` + poor + `","value":"0x5"},1],[{"to":"` + poor + `"},"0x0"]]`
	if got := n.ask("anvil_reorg", `[2,`+pairs+`]`); got != "null" {
		t.Fatal(got)
	}
	if got := n.ask("eth_getTransactionByBlockNumberAndIndex", `["0x3","0x0"]`); !strings.Contains(got, `"nonce":"0x2"`) || !strings.Contains(got, `"value":"0x5"`) {
		t.Error(got)
	}
	if got := n.ask("eth_getTransactionCount", `["`+rich+`","latest"]`); got != `"0x3"` {
		t.Error(got)
	}
	if got := n.ask("anvil_reorg", `[1,[[{"from":"0x00000000000000000000000000000000000000dd","to":"`+poor+`"},0]]]`); !strings.Contains(got, "unknown account") {
		t.Error(got)
	}
}

// Calls and estimates have as much gas as the next block of a test chain, and no less than elsewhere.
func TestGasOfTheBlock(t *testing.T) {
	t.Parallel()
	n := serve(t, "--test", "--data", t.TempDir())
	n.ask("anvil_setCode", `["`+poor+`","0x63039387005a1015600e575f5ffd5b00"]`) // reverts with less than 60,000,000
	for _, method := range []string{"eth_estimateGas", "eth_call"} {
		if got := n.ask(method, `[{"from":"`+rich+`","to":"`+poor+`"}]`); !strings.Contains(got, "execution reverted") {
			t.Errorf("%s: %s", method, got)
		}
	}
	n.ask("evm_setBlockGasLimit", `["0x3b9aca00"]`)
	for _, method := range []string{"eth_estimateGas", "eth_call", "eth_createAccessList"} {
		if got := n.ask(method, `[{"from":"`+rich+`","to":"`+poor+`"}]`); strings.Contains(got, "error") || strings.Contains(got, "message") {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := n.ask("eth_sendTransactionSync", `[{"from":"`+rich+`","to":"`+poor+`"}]`); !strings.Contains(got, `"status":"0x1"`) {
		t.Error(got)
	}
	n.ask("evm_setBlockGasLimit", `["0x5208"]`)
	if got := n.ask("eth_call", `[{"to":"`+poor+`","gas":"0x2faf080"},"latest"]`); !strings.Contains(got, "execution reverted") {
		t.Error(got)
	}
}

// Transactions of one account without its key can be sent concurrently, and it is not impersonated after them.
func TestUnsignedTogether(t *testing.T) {
	t.Parallel()
	const of = "0x00000000000000000000000000000000000000dd"
	dir := t.TempDir()
	n := serve(t, "--test", "--data", dir)
	n.ask("anvil_setBalance", `["`+of+`","0xde0b6b3a7640000"]`)
	send := `[{"from":"` + of + `","to":"` + poor + `","value":"0x1"}]`
	var sends sync.WaitGroup
	for range 4 {
		sends.Go(func() {
			for range 10 {
				if got := n.ask("eth_sendUnsignedTransaction", send); len(got) != 68 {
					t.Error(got)
				}
			}
		})
	}
	sends.Wait()
	if got := n.ask("eth_getTransactionCount", `["`+of+`","latest"]`); got != `"0x28"` {
		t.Error(got)
	}
	if got := n.ask("eth_sendTransaction", send); !strings.Contains(got, "unknown account") {
		t.Errorf("the account is impersonated: %s", got)
	}
	before := n.ask("eth_getBlockByNumber", `["latest",true]`)
	n.stop()
	n = serve(t, "--test", "--data", dir)
	if again := n.ask("eth_getBlockByNumber", `["latest",true]`); again != before {
		t.Errorf("served again, the last block is %s, and it was %s", again, before)
	}
}

// A folder that begins as a fork has the other chain's id, unless another one is named, and stays the fork.
func TestForkFlags(t *testing.T) {
	t.Parallel()
	up, dir := serve(t, "--data", t.TempDir()), t.TempDir()
	for range 2 {
		up.ask("eth_sendTransactionSync", `[`+transfer+`]`)
	}
	flags := []string{"--test", "--data", dir, "--fork-url", "http://" + up.listen, "--fork-block-number", "1"}
	n := serve(t, flags...)
	is := func(method, params, want string) {
		t.Helper()
		if got := n.ask(method, params); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
	is("eth_chainId", `[]`, `"0x539"`)
	is("eth_blockNumber", `[]`, `"0x1"`)
	is("eth_sendTransactionSync", `[`+transfer+`]`, `"blockNumber":"0x2"`)
	is("eth_getTransactionByBlockNumberAndIndex", `["0x2","0x0"]`, `"chainId":"0x539"`)
	is("anvil_setChainId", `[1]`, "--chain-id")
	is("anvil_setChainId", `[1337]`, "null")
	n.stop()
	up.stop()
	n = serve(t, flags...) // without the other node
	is("eth_chainId", `[]`, `"0x539"`)
	is("eth_blockNumber", `[]`, `"0x2"`)
	n.stop()

	up, dir = serve(t, "--test", "--chain-id", "10", "--data", t.TempDir()), t.TempDir()
	n = serve(t, "--test", "--chain-id=77", "--data", dir, "--listen=0.0.0.0:0", "--dev-accounts=development", "--fork-url", "http://"+up.listen)
	is("eth_chainId", `[]`, `"0x4d"`)
	is("hardhat_metadata", `[]`, `"chainId":10`)
	n.stop()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"its id is 77", []string{"--test", "--chain-id=5", "--data", dir}},
		{"add --test", []string{"--fork-url", "http://127.0.0.1:1", "--data", t.TempDir()}},
		{"needs --fork-url", []string{"--test", "--fork-block-number=5", "--data", t.TempDir()}},
		{"does not answer", []string{"--test", "--fork-url", "http://127.0.0.1:1", "--data", t.TempDir()}},
	} {
		errors := new(lines)
		if code := run(t.Context(), io.Discard, errors, append([]string{"serve", "--listen=127.0.0.1:0"}, c.args...)...); code == 0 || !strings.Contains(errors.String(), c.says) {
			t.Errorf("%v: exit %d, %s", c.args, code, errors)
		}
	}
}

// On an address that other machines reach, calls name no port of this one that it would call.
func TestForkReachable(t *testing.T) {
	t.Parallel()
	up, dir := serve(t, "--data", t.TempDir()), t.TempDir()
	up.ask("eth_sendTransactionSync", `[`+transfer+`]`)
	forking := `[{"forking":{"jsonRpcUrl":"http://` + up.listen + `"}}]`
	n := serve(t, "--test", "--data", dir, "--listen=0.0.0.0:0", "--dev-accounts=development")
	for _, method := range []string{"anvil_reset", "hardhat_reset"} {
		if got := n.ask(method, forking); !strings.Contains(got, "--fork-url") {
			t.Error(got)
		}
	}
	n.stop()
	n = serve(t, "--test", "--data", dir)
	if got := n.ask("anvil_reset", forking); got != "null" {
		t.Error(got)
	}
	n.stop()
	n = serve(t, "--test", "--data", dir, "--listen=0.0.0.0:0", "--dev-accounts=development")
	if got := n.ask("anvil_setRpcUrl", `["http://127.0.0.1:1"]`); !strings.Contains(got, "--fork-url") {
		t.Error(got)
	}
	if got := n.ask("anvil_reset", strings.Replace(forking, `"}`, `","blockNumber":0}`, 1)); got != "null" { // of the same node
		t.Error(got)
	}
	if got := n.ask("eth_blockNumber", `[]`); got != `"0x0"` {
		t.Error(got)
	}
}

// Elsewhere the calls of a test chain say by which flag it is served.
func TestNoTestChain(t *testing.T) {
	t.Parallel()
	n := serve(t, "--data", t.TempDir())
	for _, method := range []string{"evm_snapshot", "anvil_reorg", "hardhat_mine", "anvil_mine_detailed", "anvil_dealERC20", "eth_sendUnsignedTransaction"} {
		if got := n.ask(method, `[]`); !strings.Contains(got, "-32601") || !strings.Contains(got, "--test") {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := n.ask("eth_sendTransactionSync", `[`+transfer+`]`); !strings.Contains(got, `"status":"0x1"`) {
		t.Error(got)
	}
}
