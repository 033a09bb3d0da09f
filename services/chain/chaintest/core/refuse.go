package core

import (
	"math/big"

	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// waitsForGap: what comes before its turn waits, and is mined when the nonces before it are.
func waitsForGap(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	first, second, third := from.Send(to, 1), from.Send(to, 2), from.Send(to, 4)
	c.Send(third)
	c.Send(second)
	c.Refused(c.TrySend(second), -32000, "already known")
	for _, tx := range []*types.Transaction{second, third} {
		if r := c.TryReceipt(tx.Hash()); r != nil {
			c.T.Fatalf("mined before its turn: %+v", r)
		}
		if shown := chaintest.Get[map[string]any](c, "eth_getTransactionByHash", tx.Hash()); shown["hash"] != tx.Hash().Hex() || shown["blockHash"] != nil {
			c.T.Fatalf("a waiting transaction is shown as %v", shown)
		}
	}
	if n := c.Nonce(from.Address(), "pending"); n != 0 {
		c.T.Fatalf("the pending nonce is %d before the gap is closed", n)
	}
	c.Send(first)
	minedTogether(c, []*types.Transaction{first, second, third}, nil)
	if n := c.Nonce(from.Address(), "pending"); n != 3 || c.Balance(to).Int64() != 7 {
		c.T.Fatalf("the pending nonce is %d, the receiver has %d wei", n, c.Balance(to))
	}
	c.Send(from.At(4, to, 1))
	c.Refused(c.TrySend(from.At(4, to, 2)), -32000, "replacement transaction underpriced")
}

// boundsWaiting: one sender has at most 1,024 transactions that wait.
func boundsWaiting(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	accepted, refused := 0, 0
	for i := range 6 {
		var txs []*types.Transaction
		for j := range 200 {
			txs = append(txs, from.At(uint64(1+i*200+j), to, 0))
		}
		for _, a := range c.Array(sends(txs)...) {
			if a.Error == nil {
				accepted++
				continue
			}
			refused++
			c.Refused(a.Into(nil), -32000, "limit", "full", "nonce too high")
		}
	}
	if accepted > 1024 || accepted == 0 {
		c.T.Fatalf("%d wait, %d were refused", accepted, refused)
	}
}

func refusesUsedNonces(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	c.Mine(from.Send(to, 1))
	c.Mine(from.Send(to, 1))
	for nonce := range uint64(2) {
		c.Refused(c.TrySend(from.At(nonce, to, 3)), -32000, "nonce too low")
	}
	if c.Nonce(from.Address(), "latest") != 2 {
		c.T.Fatal("what was refused was counted")
	}
}

func refusesUnpaid(c *chaintest.Client) {
	poor, rich, to := c.NewAccount(0), c.NewAccount(1), c.NewAccount(0).Address()
	c.Refused(c.TrySend(poor.Send(to, 0)), -32000, "insufficient funds")
	c.Refused(c.TrySend(rich.At(0, to, 1e18)), -32000, "insufficient funds")
	// what waits has been promised the ether: two times 0.6 are more than there is
	c.Send(rich.At(1, to, 6e17))
	c.Refused(c.TrySend(rich.At(2, to, 6e17)), -32000, "insufficient funds")
	large := rich.Sign(&types.LegacyTx{Nonce: 0, GasPrice: new(big.Int).Lsh(big.NewInt(1), 255), Gas: chaintest.Transfer, To: &to})
	c.Refused(c.TrySend(large), -32000, "insufficient funds", "overflow", "256")
}

// refusesSignatures: of another chain, of none, unsigned, malleable or made up.
func refusesSignatures(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	legacy := &types.LegacyTx{GasPrice: chaintest.FeeCap, Gas: chaintest.Transfer, To: &to}
	dynamic := &types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap, Gas: chaintest.Transfer, To: &to}
	foreign := *dynamic
	foreign.ChainID = big.NewInt(1)
	other := types.LatestSignerForChainID(big.NewInt(1))
	for name, tx := range map[string]*types.Transaction{
		"another chain":          types.MustSignNewTx(from.Key, other, &foreign),
		"another chain, legacy":  types.MustSignNewTx(from.Key, other, legacy),
		"no chain (before 155)":  types.MustSignNewTx(from.Key, types.HomesteadSigner{}, legacy),
		"unsigned":               types.NewTx(dynamic),
		"unsigned, legacy":       types.NewTx(legacy),
		"high s":                 highS(from.Sign(dynamic)),
		"high s, legacy":         highS(from.Sign(legacy)),
		"r of zero":              with(types.NewTx(dynamic), new(big.Int), big.NewInt(1)),
		"s of zero":              with(types.NewTx(dynamic), big.NewInt(1), new(big.Int)),
		"r of the curve's order": with(types.NewTx(dynamic), crypto.S256().Params().N, big.NewInt(1)),
		"made up":                with(types.NewTx(dynamic), big.NewInt(1), big.NewInt(1)),
	} {
		c.T.Log(name)
		words := []string{"invalid sender", "invalid chain id", "invalid transaction v, r, s values", "replay-protected"}
		if name == "made up" { // it is another sender's, or no point of the curve
			words = append(words, "insufficient funds")
		}
		c.Refused(c.TrySend(tx), -32000, words...)
	}
	if c.Nonce(from.Address(), "pending") != 0 {
		c.T.Fatal("what was refused was counted")
	}
}

// highS is the other signature of the same key, which EIP-2 forbids.
func highS(tx *types.Transaction) *types.Transaction {
	v, r, s := tx.RawSignatureValues()
	flipped := new(big.Int).Xor(v, common.Big1)
	if tx.Type() == types.LegacyTxType { // 35 + 2*chain id + y: it is odd for a y of 0
		flipped = new(big.Int).Add(v, big.NewInt(1-2*int64((v.Bit(0)+1)%2)))
	}
	return withV(tx, flipped, r, new(big.Int).Sub(crypto.S256().Params().N, s))
}

func with(tx *types.Transaction, r, s *big.Int) *types.Transaction {
	return withV(tx, new(big.Int), r, s)
}

// withV is a transaction with any values for its signature.
func withV(tx *types.Transaction, v, r, s *big.Int) *types.Transaction {
	if tx.Type() == types.LegacyTxType {
		return types.NewTx(&types.LegacyTx{Nonce: tx.Nonce(), GasPrice: tx.GasPrice(), Gas: tx.Gas(), To: tx.To(), Value: tx.Value(), V: v, R: r, S: s})
	}
	return types.NewTx(&types.DynamicFeeTx{
		ChainID: tx.ChainId(), Nonce: tx.Nonce(), GasTipCap: tx.GasTipCap(), GasFeeCap: tx.GasFeeCap(), Gas: tx.Gas(), To: tx.To(), Value: tx.Value(), V: v, R: r, S: s,
	})
}

// refusesForms: what is no transaction, more than one, too long, or of a type that is not served.
func refusesForms(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	good := chaintest.Raw(from.At(0, to, 1))
	blob := from.Sign(&types.BlobTx{
		ChainID: uint256.NewInt(chaintest.ChainID), GasTipCap: uint256.NewInt(1), GasFeeCap: uint256.NewInt(2e9), Gas: chaintest.Transfer, To: to,
		BlobFeeCap: uint256.NewInt(1e9), BlobHashes: []common.Hash{{1}},
	})
	long := from.Sign(&types.DynamicFeeTx{
		ChainID: big.NewInt(chaintest.ChainID), GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap, Gas: 20_000_000, To: &to, Data: make([]byte, 128<<10),
	})
	for name, raw := range map[string]string{
		"nothing": "0x", "a byte": "0x00", "a type alone": "0x02", "an unknown type": "0x7f" + good[4:], "half": good[:len(good)/2*1&^1],
		"trailing bytes": good + "00", "twice": good + good[2:], "a list": "0xc0", "a string": "0x83646f67", "blobs": chaintest.Raw(blob), "128 KB": chaintest.Raw(long),
	} {
		var hash common.Hash
		err := c.Try(&hash, "eth_sendRawTransaction", raw)
		refused, ok := err.(*chaintest.Error)
		if !ok || refused.Code != -32000 && refused.Code != -32602 || refused.Message == "" {
			c.T.Errorf("%s: %v, %v", name, hash, err)
		}
	}
	if c.Nonce(from.Address(), "pending") != 0 {
		c.T.Fatal("what was refused was counted")
	}
	if n := chaintest.Get[hexutil.Uint64](c, "eth_blockNumber"); n == 0 {
		c.T.Fatal("there is no block, though accounts were paid")
	}
}

func refusesGas(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	sign := func(gas uint64, tip int64, data []byte) *types.Transaction {
		return from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), GasTipCap: big.NewInt(tip), GasFeeCap: chaintest.FeeCap, Gas: gas, To: &to, Data: data})
	}
	c.Refused(c.TrySend(sign(chaintest.Transfer-1, 1, nil)), -32000, "intrinsic gas too low")
	c.Refused(c.TrySend(sign(chaintest.Transfer, 1, []byte("data"))), -32000, "intrinsic gas too low")
	c.Refused(c.TrySend(sign(1<<40, 1, nil)), -32000, "exceeds block gas limit")
	c.Refused(c.TrySend(sign(chaintest.Transfer, 3e9, nil)), -32000, "max priority fee per gas higher than max fee per gas")
	last := from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 1<<64 - 1, GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap, Gas: chaintest.Transfer, To: &to})
	c.Refused(c.TrySend(last), -32000, "nonce has max value", "2^64-1")
}
