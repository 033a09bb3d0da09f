package genesis_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/chaintest"
	"dyno/services/chain/genesis"
)

func TestDevelopment(t *testing.T) {
	g := genesis.Development()
	for i, key := range chaintest.DevelopmentKeys() { // derived from the mnemonic
		if address := crypto.PubkeyToAddress(key.PublicKey); address != genesis.Accounts[i] {
			t.Errorf("account %d is %v, and its key is that of %v", i, genesis.Accounts[i], address)
		}
		if !genesis.Keys()[i].Equal(key) {
			t.Errorf("the key of account %d is another one", i)
		}
		if balance := g.Alloc[genesis.Accounts[i]].Balance; balance == nil || balance.String() != "1"+strings.Repeat("0", 22) {
			t.Errorf("account %d has %v wei", i, balance)
		}
	}
	if first := crypto.PubkeyToAddress(crypto.ToECDSAUnsafe(common.FromHex("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")).PublicKey); first != genesis.Accounts[0] {
		t.Errorf("the first account is not %v, which Hardhat and anvil have", first)
	}
	rules := g.Config.Rules(new(big.Int), true, 0)
	if g.Config.ChainID.Int64() != 1337 || g.GasLimit != 30_000_000 || !rules.IsPrague || rules.IsOsaka {
		t.Errorf("%v with %d gas", g.Config, g.GasLimit)
	}
	again, err := genesis.Parse(g.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if same, err := again.Same(g); err != nil || !same {
		t.Errorf("what is stored is another genesis: %v", err)
	}
	// A folder keeps its genesis: another one would make the chains of users unreadable.
	if hash := g.Block().Hash().Hex(); hash != "0x4c6564247b4458c24d6a35d36145512b07a65b8339020d0d155f0943a6277029" {
		t.Errorf("block 0 is %s", hash)
	}
}
