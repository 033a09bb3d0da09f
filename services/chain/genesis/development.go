package genesis

import (
	"crypto/ecdsa"
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

// Mnemonic is the sentence from which the keys of the development chain's accounts are derived, as
// Hardhat and anvil have it: m/44'/60'/0'/0/0 and so on.
const Mnemonic = "test test test test test test test test test test test junk"

// Accounts are those of the development chain, with 10,000 ether each.
var Accounts = [...]common.Address{
	common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
	common.HexToAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
	common.HexToAddress("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
	common.HexToAddress("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
	common.HexToAddress("0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"),
	common.HexToAddress("0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"),
	common.HexToAddress("0x976EA74026E726554dB657fA54763abd0C3a0aa9"),
	common.HexToAddress("0x14dC79964da2C08b23698B3D3cc7Ca32193d9955"),
	common.HexToAddress("0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"),
	common.HexToAddress("0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"),
}

// Keys are the private keys of Accounts. Everybody has them: they are in the documentation of
// Hardhat and of anvil.
func Keys() []*ecdsa.PrivateKey {
	keys := make([]*ecdsa.PrivateKey, len(Accounts))
	for i, text := range [len(Accounts)]string{
		"ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
		"59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
		"5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
		"7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
		"47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
		"8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
		"92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
		"4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
		"dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
		"2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
	} {
		key, err := crypto.HexToECDSA(text)
		if err != nil {
			panic(err) // it is one of these
		}
		keys[i] = key
	}
	return keys
}

// wealth is what each account has, in wei.
var wealth = new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))

// Development is the genesis of the development chain: id 1337, Prague from the first block, blocks
// of 30 million gas.
func Development() *Genesis { return Funded(30_000_000, Accounts[:]) }

// TestID is the id of anvil's and Hardhat's chains.
const TestID = 31337

// Test is the genesis of a test chain that begins at a time, in seconds since 1970: that of the
// development chain with the id of anvil's and Hardhat's.
func Test(time uint64) *Genesis { return TestAs(time, TestID) }

// TestAs is Test with another id.
func TestAs(time, id uint64) *Genesis {
	g := funded(30_000_000, Accounts[:])
	g.Config.ChainID, g.Timestamp = new(big.Int).SetUint64(id), time
	return parsed(g)
}

// Funded is the genesis of the development chain with another gas limit and other accounts.
func Funded(gasLimit uint64, accounts []common.Address) *Genesis {
	return parsed(funded(gasLimit, accounts))
}

func funded(gasLimit uint64, accounts []common.Address) *core.Genesis {
	g := core.DeveloperGenesisBlock(gasLimit, nil)
	g.Config.OsakaTime, g.Config.BogotaTime = nil, nil
	for _, account := range accounts {
		g.Alloc[account] = types.Account{Balance: wealth}
	}
	return g
}

func parsed(g *core.Genesis) *Genesis {
	text, err := json.Marshal(g)
	if err != nil {
		panic(err) // all of it is made here
	}
	out, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return out
}
