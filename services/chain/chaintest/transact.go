package chaintest

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"math/big"

	"dyno/parts/servicetest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

// Signer signs for the development chain.
var Signer = types.LatestSignerForChainID(big.NewInt(ChainID))

// Fees of the suite's transactions, in wei for a unit of gas: twice what the first block asks.
var (
	FeeCap = big.NewInt(2 * params.GWei)
	TipCap = big.NewInt(1)
)

// Transfer is the gas of a transfer.
const Transfer = 21_000

// Account is a key and the nonce of its next transaction. Goroutines must not share one.
type Account struct {
	Key   *ecdsa.PrivateKey
	Nonce uint64
}

func (a *Account) Address() common.Address { return crypto.PubkeyToAddress(a.Key.PublicKey) }

// Send signs a transfer with the next nonce.
func (a *Account) Send(to common.Address, wei int64) *types.Transaction {
	a.Nonce++
	return a.At(a.Nonce-1, to, wei)
}

// At signs a transfer with a nonce.
func (a *Account) At(nonce uint64, to common.Address, wei int64) *types.Transaction {
	return a.Sign(&types.DynamicFeeTx{
		ChainID: big.NewInt(ChainID), Nonce: nonce, GasTipCap: TipCap, GasFeeCap: FeeCap, Gas: Transfer, To: &to, Value: big.NewInt(wei),
	})
}

// Sign signs any transaction.
func (a *Account) Sign(tx types.TxData) *types.Transaction {
	return types.MustSignNewTx(a.Key, Signer, tx)
}

// NewAccount makes an account with that much ether, which no other test has.
func (c *Client) NewAccount(ether int64) *Account {
	c.T.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		c.T.Fatal(err)
	}
	a := &Account{Key: key}
	if ether == 0 {
		return a
	}
	c.purse.mu.Lock()
	defer c.purse.mu.Unlock()
	to := a.Address()
	tx := c.purse.from.Sign(&types.DynamicFeeTx{
		ChainID: big.NewInt(ChainID), Nonce: c.purse.from.Nonce, GasTipCap: TipCap, GasFeeCap: FeeCap, Gas: Transfer, To: &to,
		Value: new(big.Int).Mul(big.NewInt(ether), big.NewInt(params.Ether)),
	})
	c.purse.from.Nonce++
	c.Mine(tx)
	return a
}

// Raw is a transaction as it is sent.
func Raw(tx *types.Transaction) string {
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err) // a test made what is no transaction
	}
	return hexutil.Encode(raw)
}

// TrySend sends a transaction; an *Error when it is refused.
func (c *Client) TrySend(tx *types.Transaction) error {
	c.T.Helper()
	return c.TryRaw(tx, Raw(tx))
}

// TryRaw sends bytes, whose hash must be the transaction's.
func (c *Client) TryRaw(tx *types.Transaction, raw string) error {
	c.T.Helper()
	var hash common.Hash
	err := c.Try(&hash, "eth_sendRawTransaction", raw)
	if err == nil && hash != tx.Hash() {
		c.T.Fatalf("the transaction %v was answered by %v", tx.Hash(), hash)
	}
	return err
}

// Send sends a transaction that must be accepted.
func (c *Client) Send(tx *types.Transaction) {
	c.T.Helper()
	if err := c.TrySend(tx); err != nil {
		c.T.Fatalf("nonce %d: %v", tx.Nonce(), err)
	}
}

// Receipt is a receipt as the API has it.
type Receipt struct {
	TransactionHash   common.Hash     `json:"transactionHash"`
	TransactionIndex  hexutil.Uint64  `json:"transactionIndex"`
	BlockHash         common.Hash     `json:"blockHash"`
	BlockNumber       hexutil.Uint64  `json:"blockNumber"`
	From              common.Address  `json:"from"`
	To                *common.Address `json:"to"`
	ContractAddress   *common.Address `json:"contractAddress"`
	GasUsed           hexutil.Uint64  `json:"gasUsed"`
	CumulativeGasUsed hexutil.Uint64  `json:"cumulativeGasUsed"`
	EffectiveGasPrice *hexutil.Big    `json:"effectiveGasPrice"`
	Status            hexutil.Uint64  `json:"status"`
	Type              hexutil.Uint64  `json:"type"`
	LogsBloom         types.Bloom     `json:"logsBloom"`
	Logs              []types.Log     `json:"logs"`
}

// TryReceipt returns a transaction's receipt; nil while there is none.
func (c *Client) TryReceipt(hash common.Hash) *Receipt {
	c.T.Helper()
	return Get[*Receipt](c, "eth_getTransactionReceipt", hash)
}

// Receipt waits for a transaction's receipt.
func (c *Client) Receipt(hash common.Hash) (r *Receipt) {
	c.T.Helper()
	servicetest.Await(c.T, func() string { return "the receipt of " + hash.Hex() }, func() bool {
		r = c.TryReceipt(hash)
		return r != nil
	})
	return r
}

// Mine sends a transaction that must succeed, and waits for its receipt.
func (c *Client) Mine(tx *types.Transaction) *Receipt {
	c.T.Helper()
	c.Send(tx)
	r := c.Receipt(tx.Hash())
	if r.Status != 1 {
		c.T.Fatalf("the transaction failed: %+v", r)
	}
	return r
}

// Nonce returns an account's next nonce, at "latest" or "pending".
func (c *Client) Nonce(of common.Address, at string) uint64 {
	c.T.Helper()
	return uint64(Get[hexutil.Uint64](c, "eth_getTransactionCount", of, at))
}

// Balance returns an account's wei.
func (c *Client) Balance(of common.Address) *big.Int {
	c.T.Helper()
	return Get[*hexutil.Big](c, "eth_getBalance", of, "latest").ToInt()
}

// Block is a block as the API has it.
type Block struct {
	Header       types.Header
	Hash         common.Hash
	Transactions []common.Hash
	Whole        []*types.Transaction // instead of the hashes, when they were asked for
}

func (b *Block) UnmarshalJSON(data []byte) error {
	rest := struct {
		Hash         common.Hash
		Transactions json.RawMessage
	}{}
	if err := errors.Join(json.Unmarshal(data, &b.Header), json.Unmarshal(data, &rest)); err != nil {
		return err
	}
	b.Hash = rest.Hash
	if bytes.Contains(rest.Transactions, []byte("{")) {
		return json.Unmarshal(rest.Transactions, &b.Whole)
	}
	return json.Unmarshal(rest.Transactions, &b.Transactions)
}
