package full

import (
	"encoding/json"
	"fmt"
	"math/big"
	"sync"

	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// spender is a development account that no other test uses.
const spender = 9

// hasAccounts checks that the node signs and sends for the development accounts.
func hasAccounts(c *chaintest.Client) {
	keys := chaintest.DevelopmentKeys()
	from, to := crypto.PubkeyToAddress(keys[spender].PublicKey), c.NewAccount(0).Address()
	if all := chaintest.Get[[]common.Address](c, "eth_accounts"); len(all) != len(keys) || all[spender] != from {
		c.T.Fatalf("the accounts are %v", all)
	}
	const many = 50
	var all sync.WaitGroup
	hashes := make([]common.Hash, many)
	errs := make([]error, many)
	for i := range many {
		all.Go(func() {
			errs[i] = c.Try(&hashes[i], "eth_sendTransaction", map[string]any{"from": from, "to": to, "value": "0x1"})
		})
	}
	all.Wait()
	for i, hash := range hashes {
		if errs[i] != nil {
			c.T.Fatal(errs[i])
		}
		if r := c.Receipt(hash); r.Status != 1 || r.From != from {
			c.T.Fatalf("%+v", r)
		}
	}
	if wei := c.Balance(to); wei.Int64() != many {
		c.T.Errorf("%v wei arrived, want %d", wei, many)
	}
	signs(c, from)
	fills(c, from, to)
	c.Refused(c.Try(nil, "eth_sendTransaction", map[string]any{"from": to, "to": to}), -32000, "unknown account")
	c.Refused(c.Try(nil, "eth_sign", to, "0x00"), -32000, "unknown account")
	c.Refused(c.Try(nil, "eth_sendTransaction", map[string]any{"from": from}), -32000, "contract creation without any data")
}

// signs recovers the signer of texts and of typed data.
func signs(c *chaintest.Client, from common.Address) {
	by := func(hash []byte, signature hexutil.Bytes) {
		c.T.Helper()
		if len(signature) == crypto.SignatureLength {
			signature[crypto.RecoveryIDOffset] -= 27
		}
		key, err := crypto.SigToPub(hash, signature)
		if err != nil || crypto.PubkeyToAddress(*key) != from {
			c.T.Errorf("the signature %v is another one's: %v", signature, err)
		}
	}
	text := accounts.TextHash([]byte("hi"))
	by(text, chaintest.Get[hexutil.Bytes](c, "eth_sign", from, "0x6869"))
	by(text, chaintest.Get[hexutil.Bytes](c, "personal_sign", "0x6869", from))
	// The example of EIP-712, whose hash is known.
	const mail = `{"types":{"Person":[{"name":"name","type":"string"},{"name":"wallet","type":"address"}],
		"Mail":[{"name":"from","type":"Person"},{"name":"to","type":"Person"},{"name":"contents","type":"string"}]},"primaryType":"Mail",
		"domain":{"name":"Ether Mail","version":"1","chainId":1,"verifyingContract":"0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"},
		"message":{"from":{"name":"Cow","wallet":"0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
			"to":{"name":"Bob","wallet":"0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},"contents":"Hello, Bob!"}}`
	hash := common.FromHex("0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2")
	by(hash, chaintest.Get[hexutil.Bytes](c, "eth_signTypedData_v4", from, json.RawMessage(mail)))
	by(hash, chaintest.Get[hexutil.Bytes](c, "eth_signTypedData_v3", from, mail)) // as text
	empty := crypto.Keccak256([]byte("\x19\x01"), crypto.Keccak256(crypto.Keccak256([]byte("EIP712Domain()"))),
		crypto.Keccak256(crypto.Keccak256([]byte("X(uint256 a)")), common.LeftPadBytes([]byte{1}, 32)))
	by(empty, chaintest.Get[hexutil.Bytes](c, "eth_signTypedData_v4", from, json.RawMessage(`{"types":{"X":[{"name":"a","type":"uint256"}]},"primaryType":"X","domain":{},"message":{"a":"1"}}`)))
}

// fills checks that what is filled in is what is sent, and that a signed transaction is one.
func fills(c *chaintest.Client, from, to common.Address) {
	call := map[string]any{"from": from, "to": to, "value": "0x5"}
	var filled struct {
		Raw hexutil.Bytes
		Tx  *types.Transaction
	}
	if err := c.Try(&filled, "eth_fillTransaction", call); err != nil {
		c.T.Fatal(err)
	}
	c.Receipt(chaintest.Get[common.Hash](c, "eth_sendTransaction", call))
	tx := filled.Tx
	call["nonce"], call["gas"], call["gasPrice"] = hexutil.Uint64(tx.Nonce()+1), hexutil.Uint64(tx.Gas()), (*hexutil.Big)(big.NewInt(3e9))
	if tx.Gas() != chaintest.Transfer || tx.Type() != types.DynamicFeeTxType || c.Nonce(from, "latest") != tx.Nonce()+1 {
		c.T.Errorf("filled in: %+v", fmt.Sprintln(tx.Gas(), tx.Type(), tx.Nonce()))
	}
	if err := c.Try(&filled, "eth_signTransaction", call); err != nil {
		c.T.Fatal(err)
	}
	if sender, err := types.Sender(chaintest.Signer, filled.Tx); err != nil || sender != from || filled.Tx.Type() != types.LegacyTxType {
		c.T.Errorf("signed by %v: %v", sender, err)
	}
	c.Mine(filled.Tx)
}

// seesPending checks that a transaction and all that follows from it are seen after its hash.
func seesPending(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	tx := from.Send(to, 7)
	back := map[string]any{"from": to, "to": from.Address(), "value": "0x7", "gasPrice": "0x0"}
	answers := c.Array(chaintest.Call(0, "eth_sendRawTransaction", chaintest.Raw(tx)), chaintest.Call(1, "eth_getTransactionCount", from.Address(), "pending"),
		chaintest.Call(2, "eth_getBalance", to, "pending"), chaintest.Call(3, "eth_estimateGas", back, "pending"), chaintest.Call(4, "eth_getBlockByNumber", "pending", false))
	for i, want := range []string{`"` + tx.Hash().Hex() + `"`, `"0x1"`, `"0x7"`, `"0x5208"`} {
		if got := string(answers[i].Result); got != want || answers[i].Error != nil {
			c.T.Errorf("answer %d is %s (%v), want %s", i, got, answers[i].Error, want)
		}
	}
	var block struct {
		Number hexutil.Uint64
		Hash   *common.Hash
	}
	if err := answers[4].Into(&block); err != nil || block.Hash != nil || block.Number == 0 {
		c.T.Errorf("the pending block is %+v: %v", block, err)
	}
	if r := chaintest.Get[*chaintest.Receipt](c, "eth_sendRawTransactionSync", chaintest.Raw(from.Send(to, 1)), 60_000); r == nil || r.Status != 1 {
		c.T.Errorf("the receipt is %+v", r)
	}
	late := from.At(100, to, 1)
	defer inPool(c, from.Address(), late.Hash())
	var refused *chaintest.Error
	err := c.Try(nil, "eth_sendRawTransactionSync", chaintest.Raw(late), 1)
	if refused, _ = err.(*chaintest.Error); refused == nil || refused.Code != 4 || string(refused.Data) != `"`+late.Hash().Hex()+`"` {
		c.T.Errorf("a transaction behind a gap: %v", err)
	}
}

// inPool checks that a transaction with the nonce 100 waits behind a gap.
func inPool(c *chaintest.Client, from common.Address, hash common.Hash) {
	type byNonce map[string]struct{ Hash common.Hash }
	own := chaintest.Get[struct{ Pending, Queued byNonce }](c, "txpool_contentFrom", from)
	all := chaintest.Get[struct{ Pending, Queued map[string]byNonce }](c, "txpool_content")
	if own.Queued["100"].Hash != hash || all.Queued[from.Hex()]["100"].Hash != hash || len(own.Pending) > 0 {
		c.T.Errorf("the pool has %+v of the sender", own)
	}
}
