package execution_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/execution"
)

// program is random code, most of which depends on what was accessed before.
func program(random *rand.Rand, any func() common.Address) (code []byte) {
	small := func() byte { return byte(random.IntN(4)) }
	to := func() []byte { return append([]byte{0x73}, any().Bytes()...) }
	for range 1 + random.IntN(12) {
		switch random.IntN(9) {
		case 0:
			code = append(code, 0x60, small(), 0x54, 0x50) // SLOAD
		case 1:
			code = append(code, 0x60, small(), 0x60, small(), 0x55) // SSTORE
		case 2:
			key := small()
			code = append(code, 0x60, 1+small(), 0x60, key, 0x5d, 0x60, key, 0x5c, 0x60, key, 0x55) // TSTORE, TLOAD, SSTORE
		case 3:
			code = append(code, 0x60, small(), 0x5c, 0x60, small(), 0x55) // TLOAD, SSTORE
		case 4:
			code = append(append(code, to()...), 0x31, 0x50) // BALANCE
		case 5:
			code = append(append(code, to()...), 0x3b, 0x50) // EXTCODESIZE
		case 6, 7: // CALL, of a value now and then
			code = append(append(code, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, small()/3), to()...)
			code = append(code, 0x61, 0x7f, 0xff, 0xf1, 0x50)
		case 8:
			code = append(code, 0x41, 0x31, 0x50, 0x32, 0x31, 0x50) // BALANCE of COINBASE, of ORIGIN
		}
	}
	switch random.IntN(5) {
	case 0:
		code = append(code, 0x60, 0, 0x60, 0, 0xfd) // REVERT
	case 1:
		code = append(append(code, to()...), 0xff) // SELFDESTRUCT
	}
	return code
}

// transaction is a random one, of which half are plain transfers.
func transaction(random *rand.Rand, config *params.ChainConfig, nonce uint64, any func() common.Address) types.TxData {
	to := any()
	tx := &types.DynamicFeeTx{ChainID: config.ChainID, Nonce: nonce, Gas: 400_000, GasTipCap: common.Big1, GasFeeCap: big.NewInt(2 * params.GWei), Value: big.NewInt(random.Int64N(2)), To: &to}
	switch random.IntN(8) {
	case 0:
		for range 1 + random.IntN(3) {
			tx.AccessList = append(tx.AccessList, types.AccessTuple{Address: any(), StorageKeys: []common.Hash{{31: byte(random.IntN(4))}}})
		}
	case 1:
		tx.To, tx.Data = nil, program(random, any)
	case 2:
		tx.To = &common.Address{0: 0xc0, 19: byte(random.IntN(5))}
	}
	return tx
}

// Blocks of random transactions between accounts, contracts, precompiled ones and new addresses are
// those that go-ethereum makes, gas and roots with them.
func TestBuildRandomly(t *testing.T) {
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	from := crypto.PubkeyToAddress(key.PublicKey)
	for i, name := range []string{"Paris", "Shanghai", "Cancun", "Prague", "Osaka", "Amsterdam"} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			known := []common.Address{from, {}, {19: 1}, {19: 2}, {19: 4}, {19: 9}, {19: 0x0b}, {1: 1, 19: 1}}
			for n := range byte(5) {
				known = append(known, common.Address{0: 0xc0, 19: n})
			}
			any := func() common.Address {
				if random.IntN(4) == 0 {
					return common.Address{2: 1, 19: byte(random.IntN(64))}
				}
				return known[random.IntN(len(known))]
			}
			g := core.DeveloperGenesisBlock(30_000_000, nil)
			if g.Config, err = execution.ForkConfig(name, big.NewInt(1337)); err != nil {
				t.Fatal(err)
			}
			g.Alloc[from] = types.Account{Balance: big.NewInt(params.Ether)}
			for n := range byte(5) {
				g.Alloc[common.Address{0: 0xc0, 19: n}] = types.Account{Balance: big.NewInt(100), Code: program(random, any)}
			}
			c := newChain(t, g, false)
			sealed := 0
			for number := range uint64(4) {
				var txs []*types.Transaction
				for range 12 {
					txs = append(txs, types.MustSignNewTx(key, types.LatestSigner(g.Config), transaction(random, g.Config, uint64(sealed+len(txs)), any)))
				}
				block, refused := c.build(t, 12*number+12, txs...)
				if len(refused) > 0 {
					t.Error(refused)
				}
				sealed += len(block.Transactions())
			}
			insert(t, g, c.blocks[1:])
		})
	}
}
