package full

import (
	"math/big"
	"strings"

	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// transactions are attacks by eth_sendRawTransaction.
var transactions = []attack{
	// Replays, and nonces.
	{"the bytes of a transaction that waits", sent(func(a *target) *types.Transaction { return a.waiting }), "-32000 already known"},
	{"the bytes of a mined transaction", sent(func(a *target) *types.Transaction { return a.mined }), "-32000 already known"},
	{"another transaction with a mined nonce", sent(func(a *target) *types.Transaction { return a.from.At(0, a.to, 7) }), "-32000 nonce too low"},
	{"a replacement that pays no more", sent(func(a *target) *types.Transaction { return a.from.At(5, a.to, 7) }), "-32000 replacement transaction underpriced"},
	{"a nonce beyond the limit", changed(func(tx *types.DynamicFeeTx) { tx.Nonce = 1026 }), "-32000 nonce too high...which may be at most 1024 ahead"},
	{"a nonce of 2^64-1", changed(func(tx *types.DynamicFeeTx) { tx.Nonce = 1<<64 - 1 }), "-32000 nonce has max value"},
	{"more than the queue of a sender", fillQueue, "-32000 nonce too high...which may be at most 1024 ahead"},

	// Of another chain, or of every one.
	{"another chain", signedFor(1, func(a *target) types.TxData { return a.dynamic(1) }), "-32000 invalid chain id"},
	{"another chain, legacy", signedFor(1, func(a *target) types.TxData { return a.legacy() }), "-32000 invalid chain id"},
	{"a replay of before EIP-155", func(a *target) string {
		return a.raw(chaintest.Raw(types.MustSignNewTx(a.from.Key, types.HomesteadSigner{}, a.legacy())))
	}, "-32000 only replay-protected (EIP-155) transactions allowed over RPC"},

	// Signatures.
	{"a high s", forged(func(v, r, s *big.Int) { v.Xor(v, common.Big1); s.Sub(order, s) }), badSignature},
	{"a high s, legacy", func(a *target) string {
		tx := a.from.Sign(a.legacy())
		v, r, s := tx.RawSignatureValues()
		other := new(big.Int).Add(v, big.NewInt(1-2*int64((v.Bit(0)+1)%2)))
		return a.raw(chaintest.Raw(types.NewTx(&types.LegacyTx{Nonce: tx.Nonce(), GasPrice: tx.GasPrice(), Gas: tx.Gas(), To: tx.To(), V: other, R: r, S: new(big.Int).Sub(order, s)})))
	}, badSignature},
	{"r of zero", forged(func(_, r, _ *big.Int) { r.SetInt64(0) }), badSignature},
	{"s of zero", forged(func(_, _, s *big.Int) { s.SetInt64(0) }), badSignature},
	{"r of the curve's order", forged(func(_, r, _ *big.Int) { r.Set(order) }), badSignature},
	{"s of the curve's order", forged(func(_, _, s *big.Int) { s.Set(order) }), badSignature},
	{"r of 2^256-1", forged(func(_, r, _ *big.Int) { r.Set(top) }), badSignature},
	{"a parity of 2", forged(func(v, _, _ *big.Int) { v.SetInt64(2) }), badSignature},
	{"a parity of 2^64", forged(func(v, _, _ *big.Int) { v.Lsh(common.Big1, 64) }), badSignature},
	{"r that is no point of the curve", forged(func(_, r, _ *big.Int) { r.SetInt64(5) }), "-32000 recovery failed"},
	{"no signature", func(a *target) string { return a.raw(chaintest.Raw(types.NewTx(a.dynamic(chaintest.ChainID)))) }, badSignature},

	// Forms.
	{"nothing", call(send, `["0x"]`), "-32000 no bytes"},
	{"trailing bytes", bent(func(raw string) string { return raw + "00" }), "-32000 rlp: input contains more than one value"},
	{"two transactions", bent(func(raw string) string { return raw + raw[2:] }), "-32000 rlp: input contains more than one value"},
	{"half of a transaction", bent(func(raw string) string { return raw[:len(raw)/4*2] }), "-32000 rlp: value size exceeds available input length"},
	{"a list of 4 GB", call(send, `["0x02fbffffffff01"]`), "-32000 rlp: value size exceeds available input length"},
	{"a number with a leading zero", bent(func(raw string) string { return strings.Replace(raw, "82053901", "8205390001", 1) }), "-32000 rlp: "},
	{"an unknown type", bent(func(raw string) string { return "0x7f" + raw[4:] }), "-32000 transaction type not supported"},
	{"blobs", func(a *target) string {
		return a.raw(chaintest.Raw(a.from.Sign(&types.BlobTx{
			ChainID: uint256.NewInt(chaintest.ChainID), Nonce: 1, GasTipCap: uint256.NewInt(1), GasFeeCap: uint256.NewInt(2e9), Gas: chaintest.Transfer, To: a.to,
			BlobFeeCap: uint256.NewInt(1e9), BlobHashes: []common.Hash{{1}},
		})))
	}, "-32000 transaction type not supported"},
	{"code for no account", func(a *target) string {
		return a.raw(chaintest.Raw(a.from.Sign(&types.SetCodeTx{
			ChainID: uint256.NewInt(chaintest.ChainID), Nonce: 1, GasTipCap: uint256.NewInt(1), GasFeeCap: uint256.NewInt(2e9), Gas: 100_000, To: a.to,
		})))
	}, "-32000 ...empty auth"},
	{"more than 128 KB", changed(func(tx *types.DynamicFeeTx) { tx.Gas, tx.Data = 20_000_000, make([]byte, 128<<10) }), "-32000 oversized data"},
	{"init code of 49,153 bytes", changed(func(tx *types.DynamicFeeTx) {
		tx.To, tx.Gas, tx.Data = nil, 20_000_000, make([]byte, params.MaxInitCodeSize+1)
	}), "-32000 max initcode size exceeded"},
	{"hexadecimal of half a byte", call(send, `["0x02f"]`), "-32602 invalid argument 0: ...odd length"},
	{"hexadecimal without 0x", call(send, `["02f8"]`), "-32602 invalid argument 0: ...without 0x prefix"},

	// Gas and ether.
	{"gas above a block's", changed(func(tx *types.DynamicFeeTx) { tx.Gas = 1 << 40 }), "-32000 exceeds block gas limit"},
	{"gas below the intrinsic", changed(func(tx *types.DynamicFeeTx) { tx.Gas = chaintest.Transfer - 1 }), "-32000 intrinsic gas too low"},
	{"gas below that of its data", changed(func(tx *types.DynamicFeeTx) {
		tx.Gas, tx.Data = 22_500, []byte(strings.Repeat("x", 50))
	}), "-32000 insufficient gas for floor data gas cost"},
	{"a fee below the base fee", changed(func(tx *types.DynamicFeeTx) { tx.GasFeeCap = big.NewInt(1) }), "-32000 max fee per gas less than block base fee"},
	{"a tip above the fee", changed(func(tx *types.DynamicFeeTx) { tx.GasTipCap = big.NewInt(3e9) }), "-32000 max priority fee per gas higher than max fee per gas"},
	{"a fee of 257 bits", changed(func(tx *types.DynamicFeeTx) { tx.GasFeeCap = new(big.Int).Lsh(common.Big1, 256) }), "-32000 ...256"},
	{"a value of 257 bits", changed(func(tx *types.DynamicFeeTx) { tx.Value = new(big.Int).Lsh(common.Big1, 256) }), "-32000 ...256"},
	{"gas times its price above 256 bits", changed(func(tx *types.DynamicFeeTx) { tx.GasFeeCap = top }), "-32000 ...256"},
	{"a value that with its gas is above 256 bits", changed(func(tx *types.DynamicFeeTx) { tx.Value = top }), "-32000 insufficient funds for gas * price + value"},
	{"more than the sender has", changed(func(tx *types.DynamicFeeTx) {
		tx.Value = new(big.Int).Mul(big.NewInt(1000), big.NewInt(params.Ether))
	}), "-32000 insufficient funds for gas * price + value"},
	{"a sender without ether", func(a *target) string { return a.raw(chaintest.Raw(a.NewAccount(0).Send(a.to, 0))) }, "-32000 insufficient funds for gas * price + value"},
}

const (
	send         = "eth_sendRawTransaction"
	badSignature = "-32000 invalid transaction v, r, s values"
)

var (
	order = crypto.S256().Params().N
	top   = new(big.Int).Sub(new(big.Int).Lsh(common.Big1, 256), common.Big1)
)

func (a *target) raw(raw string) string { return a.call(send, `["`+raw+`"]`) }

// dynamic is a transfer with the next nonce, which would be accepted.
func (a *target) dynamic(chain int64) *types.DynamicFeeTx {
	return &types.DynamicFeeTx{
		ChainID: big.NewInt(chain), Nonce: a.from.Nonce, GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap, Gas: chaintest.Transfer, To: &a.to, Value: new(big.Int),
	}
}

func (a *target) legacy() *types.LegacyTx {
	return &types.LegacyTx{Nonce: a.from.Nonce, GasPrice: chaintest.FeeCap, Gas: chaintest.Transfer, To: &a.to}
}

func sent(tx func(*target) *types.Transaction) func(*target) string {
	return func(a *target) string { return a.raw(chaintest.Raw(tx(a))) }
}

// changed sends a transfer of which something was changed before it was signed.
func changed(change func(*types.DynamicFeeTx)) func(*target) string {
	return sent(func(a *target) *types.Transaction {
		tx := a.dynamic(chaintest.ChainID)
		change(tx)
		return a.from.Sign(tx)
	})
}

// forged sends a transfer whose signature was changed.
func forged(change func(v, r, s *big.Int)) func(*target) string {
	return sent(func(a *target) *types.Transaction {
		tx := a.dynamic(chaintest.ChainID)
		v, r, s := a.from.Sign(tx).RawSignatureValues()
		tx.V, tx.R, tx.S = new(big.Int).Set(v), new(big.Int).Set(r), new(big.Int).Set(s)
		change(tx.V, tx.R, tx.S)
		return types.NewTx(tx)
	})
}

// bent sends the text of a transfer that was changed.
func bent(change func(string) string) func(*target) string {
	return func(a *target) string { return a.raw(change(chaintest.Raw(a.from.Sign(a.dynamic(chaintest.ChainID))))) }
}

func signedFor(chain int64, tx func(*target) types.TxData) func(*target) string {
	return func(a *target) string {
		return a.raw(chaintest.Raw(types.MustSignNewTx(a.from.Key, types.LatestSignerForChainID(big.NewInt(chain)), tx(a))))
	}
}

// fillQueue sends all that a sender may have waiting behind a gap, and then one more. Nothing of it
// is mined.
func fillQueue(a *target) string {
	from := a.NewAccount(1)
	var body strings.Builder
	for nonce := uint64(1); nonce <= 1024; nonce++ {
		body.Write(hexutil.MustDecode(chaintest.Raw(from.At(nonce, a.to, 0))))
	}
	if got := a.submit(body.String()); !strings.Contains(got, `"refused":[]`) {
		return "the queue is refused: " + got
	}
	return a.raw(chaintest.Raw(from.At(1025, a.to, 0)))
}
