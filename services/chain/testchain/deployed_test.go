package testchain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/genesis"
	"dyno/services/chain/testchain"
)

// deployed checks the address of a contract that an account deployed with its first transaction.
func (c *client) deployed(hash string, by common.Address) {
	c.t.Helper()
	want := `"contractAddress":"` + strings.ToLower(crypto.CreateAddress(by, 0).Hex()) + `"`
	receipt := c.ask("eth_getTransactionReceipt", `[`+hash+`]`)
	if !strings.Contains(receipt, want) {
		c.t.Errorf("the receipt is %s, want %s", receipt, want)
	}
	var in struct{ BlockNumber string }
	if err := json.Unmarshal([]byte(receipt), &in); err != nil {
		c.t.Fatal(err)
	}
	if all := c.ask("eth_getBlockReceipts", `["`+in.BlockNumber+`"]`); !strings.Contains(all, want) {
		c.t.Errorf("the block's receipts are %s, want %s", all, want)
	}
}

// The receipts of deployments have the address of the contract: also that of an impersonated account, and on a
// fork that of another chain's transaction.
func TestDeployed(t *testing.T) {
	text := bytes.Replace(genesis.Test(1).JSON(), []byte(`"chainId":31337`), []byte(`"chainId":1337`), 1)
	g, err := genesis.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	other, err := testchain.Open(t.Context(), t.TempDir(), g, testchain.Options{Fail: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	up := (&suite{other, t, other.Methods()}).client()
	defer up.close()
	deploy := func(c *client, by common.Address) string {
		t.Helper()
		return c.ask("eth_sendTransaction", `[{"from":"`+by.Hex()+`","data":"0x5f5ff3","gas":"0x186a0"}]`)
	}
	before := deploy(up, from)
	up.deployed(before, from)
	up.call("anvil_mine", 3)
	url, end := up.serve()
	defer end()

	s := open(t, t.TempDir()).client()
	defer s.close()
	impersonate := func() {
		t.Helper()
		s.want("null", "anvil_setBalance", to, "0xde0b6b3a7640000")
		s.want("null", "anvil_impersonateAccount", to)
		s.deployed(deploy(s, to), to)
	}
	impersonate()
	s.deployed(deploy(s, from), from)
	if got := s.ask("anvil_reset", `[{"forking":{"jsonRpcUrl":"`+url+`"}}]`); got != "null" {
		t.Fatal(got)
	}
	s.deployed(before, from)
	impersonate()
}
