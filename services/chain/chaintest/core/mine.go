package core

import (
	"fmt"
	"math/big"
	"sync"

	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
)

// beginsWithAccounts: block 0, and ten accounts of which each key can spend.
func beginsWithAccounts(c *chaintest.Client) {
	c.Run()
	if n := chaintest.Get[hexutil.Uint64](c, "eth_blockNumber"); n != 0 {
		c.T.Errorf("a new chain has block %d", n)
	}
	want := new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))
	for i, key := range chaintest.DevelopmentKeys() {
		a := chaintest.Account{Key: key}
		if got := c.Balance(a.Address()); got.Cmp(want) != 0 {
			c.T.Errorf("account %d, %v, has %d wei", i, a.Address(), got)
		}
		c.Mine(a.Send(common.Address{1}, 1))
	}
	genesis := chaintest.Get[*chaintest.Block](c, "eth_getBlockByNumber", "earliest", false)
	if genesis.Header.Number.Sign() != 0 || genesis.Header.ParentHash != (common.Hash{}) || genesis.Header.Hash() != genesis.Hash || len(genesis.Transactions) != 0 {
		c.T.Errorf("the first block is %+v", genesis)
	}
}

// minesTransfer: receipt, balances, nonces and block agree.
func minesTransfer(c *chaintest.Client) {
	from, to := c.NewAccount(2), c.NewAccount(0).Address()
	before := c.Balance(from.Address())
	tx := from.Send(to, 12345)
	r := c.Mine(tx)
	switch {
	case r.TransactionHash != tx.Hash(), r.From != from.Address(), r.To == nil || *r.To != to, r.ContractAddress != nil,
		r.GasUsed != chaintest.Transfer, r.Type != types.DynamicFeeTxType, len(r.Logs) != 0, r.LogsBloom != (types.Bloom{}):
		c.T.Fatalf("the receipt is %+v", r)
	}
	paid := new(big.Int).Mul(r.EffectiveGasPrice.ToInt(), big.NewInt(chaintest.Transfer))
	left := new(big.Int).Sub(before, paid.Add(paid, big.NewInt(12345)))
	if got := c.Balance(from.Address()); got.Cmp(left) != 0 || c.Balance(to).Int64() != 12345 {
		c.T.Fatalf("the sender has %d, want %d; the receiver %d", got, left, c.Balance(to))
	}
	if c.Nonce(from.Address(), "latest") != 1 || c.Nonce(from.Address(), "pending") != 1 {
		c.T.Fatal("the nonce is not 1")
	}
	shown := chaintest.Get[map[string]any](c, "eth_getTransactionByHash", tx.Hash())
	if shown["blockHash"] != r.BlockHash.Hex() || common.HexToAddress(fmt.Sprint(shown["from"])) != from.Address() || shown["nonce"] != "0x0" || shown["hash"] != tx.Hash().Hex() {
		c.T.Fatalf("the transaction is %v", shown)
	}
}

func minesTypes(c *chaintest.Client) {
	from, to := c.NewAccount(2), c.NewAccount(0).Address()
	txs := []types.TxData{
		&types.LegacyTx{Nonce: 0, GasPrice: chaintest.FeeCap, Gas: chaintest.Transfer, To: &to, Value: big.NewInt(1)},
		&types.AccessListTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 1, GasPrice: chaintest.FeeCap, Gas: 30_000, To: &to, Value: big.NewInt(1),
			AccessList: types.AccessList{{Address: to, StorageKeys: []common.Hash{{1}}}}},
		&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 2, GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap, Gas: 50_000, To: &to, Value: big.NewInt(1), Data: []byte("data")},
		// a contract of one byte of code, STOP
		&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 3, GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap, Gas: 100_000, Data: common.FromHex("600160005360016000f3")},
	}
	for _, data := range txs {
		tx := from.Sign(data)
		r := c.Mine(tx)
		if r.Type != hexutil.Uint64(tx.Type()) || (r.ContractAddress != nil) != (tx.To() == nil) || (r.To == nil) != (tx.To() == nil) {
			c.T.Errorf("type %d: %+v", tx.Type(), r)
		}
		if shown := chaintest.Get[*types.Transaction](c, "eth_getTransactionByHash", tx.Hash()); shown.Hash() != tx.Hash() {
			c.T.Errorf("type %d is shown as %+v", tx.Type(), shown)
		}
	}
	// a transaction that fails is mined all the same: INVALID
	r := func() *chaintest.Receipt {
		tx := from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 4, GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap, Gas: 100_000, Data: []byte{0xfe}})
		c.Send(tx)
		return c.Receipt(tx.Hash())
	}()
	if r.Status != 0 || r.GasUsed != 100_000 {
		c.T.Errorf("what fails: %+v", r)
	}
	if n := c.Nonce(from.Address(), "latest"); n != 5 {
		c.T.Errorf("nonce %d", n)
	}
}

// minesArrays: an array of transactions of one sender, in the order of their nonces.
func minesArrays(c *chaintest.Client) {
	from, to := c.NewAccount(2), c.NewAccount(0).Address()
	for range 3 {
		var txs []*types.Transaction
		for range 20 {
			txs = append(txs, from.Send(to, 1))
		}
		minedTogether(c, txs, c.Array(sends(txs)...))
	}
	if n, got := c.Nonce(from.Address(), "latest"), c.Balance(to); n != 60 || got.Int64() != 60 {
		c.T.Fatalf("nonce %d, %d wei", n, got)
	}
}

func minesOverWebSocket(c *chaintest.Client) {
	from, to := c.NewAccount(2), c.NewAccount(0).Address()
	s := c.Dial()
	tx := from.Send(to, 1)
	var hash common.Hash
	if err := s.Try(&hash, "eth_sendRawTransaction", chaintest.Raw(tx)); err != nil || hash != tx.Hash() {
		c.T.Fatalf("%v, %v", hash, err)
	}
	txs := []*types.Transaction{from.Send(to, 1), from.Send(to, 1), from.Send(to, 1)}
	minedTogether(c, append(txs, tx), s.Array(sends(txs)...))
}

// sends are the calls that send transactions.
func sends(txs []*types.Transaction) (calls []chaintest.Request) {
	for i, tx := range txs {
		calls = append(calls, chaintest.Call(i, "eth_sendRawTransaction", chaintest.Raw(tx)))
	}
	return calls
}

// minedTogether checks that transactions were accepted, and are mined each in one place, in the
// order of their nonces.
func minedTogether(c *chaintest.Client, txs []*types.Transaction, answers []chaintest.Answer) {
	c.T.Helper()
	for i, a := range answers {
		if a.Error != nil || string(a.Result) != fmt.Sprintf("%q", txs[i].Hash().Hex()) {
			c.T.Fatalf("transaction %d is answered by %s, %v", i, a.Result, a.Error)
		}
	}
	places := map[string]bool{}
	for i, tx := range txs {
		r := c.Receipt(tx.Hash())
		place := fmt.Sprintf("%s %d", r.BlockHash, r.TransactionIndex)
		if r.Status != 1 || places[place] {
			c.T.Fatalf("transaction %d: %+v", i, r)
		}
		places[place] = true
	}
}

// blocksAreWhatTheySay: the hash is the header's, the header has the roots of what the block holds,
// and the parent is the block before it.
func blocksAreWhatTheySay(c *chaintest.Client) {
	from, to := c.NewAccount(2), c.NewAccount(0).Address()
	r := c.Mine(from.Send(to, 7))
	whole := chaintest.Get[*chaintest.Block](c, "eth_getBlockByNumber", r.BlockNumber, true)
	block := chaintest.Get[*chaintest.Block](c, "eth_getBlockByHash", r.BlockHash, false)
	parent := chaintest.Get[*chaintest.Block](c, "eth_getBlockByNumber", r.BlockNumber-1, false)
	h := block.Header
	switch {
	case whole.Hash != r.BlockHash, block.Hash != r.BlockHash, h.Hash() != r.BlockHash:
		c.T.Fatalf("block %d has the hashes %v and %v, its header has %v; the receipt has %v", r.BlockNumber, whole.Hash, block.Hash, h.Hash(), r.BlockHash)
	case h.ParentHash != parent.Hash, h.Time < parent.Header.Time, h.Number.Uint64() != uint64(r.BlockNumber):
		c.T.Fatalf("%+v does not follow %+v", h, parent.Header)
	case types.DeriveSha(types.Transactions(whole.Whole), trie.NewStackTrie(nil)) != h.TxHash:
		c.T.Fatal("the root of the transactions is another")
	case block.Transactions[r.TransactionIndex] != r.TransactionHash:
		c.T.Fatalf("the block has %v at the place of %v", block.Transactions, r.TransactionHash)
	}
	var receipts types.Receipts
	for _, hash := range block.Transactions {
		r := c.TryReceipt(hash)
		receipt := &types.Receipt{Type: uint8(r.Type), Status: uint64(r.Status), CumulativeGasUsed: uint64(r.CumulativeGasUsed), Bloom: r.LogsBloom}
		for i := range r.Logs {
			receipt.Logs = append(receipt.Logs, &r.Logs[i])
		}
		receipts = append(receipts, receipt)
	}
	if types.DeriveSha(receipts, trie.NewStackTrie(nil)) != h.ReceiptHash || h.GasUsed != receipts[len(receipts)-1].CumulativeGasUsed {
		c.T.Fatal("the root of the receipts, or the gas, is another")
	}
	if head := chaintest.Get[hexutil.Uint64](c, "eth_blockNumber"); head < r.BlockNumber {
		c.T.Fatalf("the head is %d after block %d", head, r.BlockNumber)
	}
}

func takesOnce(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	tx := from.Send(to, 5)
	c.Send(tx)
	c.Refused(c.TrySend(tx), -32000, "already known")
	r := c.Receipt(tx.Hash())
	c.Refused(c.TrySend(tx), -32000, "already known")
	if again := c.Receipt(tx.Hash()); again.BlockHash != r.BlockHash || c.Balance(to).Int64() != 5 {
		c.T.Fatalf("%+v, then %+v", r, again)
	}
}

// takesOnceFromMany: of the same bytes sent by many concurrently, one is accepted.
func takesOnceFromMany(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	const senders, rounds = 8, 5
	for range rounds {
		tx := from.Send(to, 1)
		errs := make([]error, senders)
		var all sync.WaitGroup
		for i := range senders {
			all.Go(func() { errs[i] = c.Try(nil, "eth_sendRawTransaction", chaintest.Raw(tx)) })
		}
		all.Wait()
		taken := 0
		for _, err := range errs {
			if err == nil {
				taken++
				continue
			}
			c.Refused(err, -32000, "already known")
		}
		if taken != 1 {
			c.T.Fatalf("accepted %d times", taken)
		}
		c.Receipt(tx.Hash())
	}
	if got := c.Balance(to); got.Int64() != rounds {
		c.T.Fatalf("%d wei", got)
	}
}

// servesSenders: many senders concurrently, over HTTP, arrays and WebSocket; all is mined once.
func servesSenders(c *chaintest.Client) {
	const senders, each = 9, 20
	to := c.NewAccount(0).Address()
	txs := make([][]*types.Transaction, senders)
	for i := range senders {
		from := c.NewAccount(1)
		for range each {
			txs[i] = append(txs[i], from.Send(to, 1))
		}
	}
	errs := make([]error, senders)
	sockets := map[int]*chaintest.Socket{}
	for i := 2; i < senders; i += 3 {
		sockets[i] = c.Dial()
	}
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for _, tx := range txs[i] {
				var err error
				if s := sockets[i]; s != nil {
					err = s.Try(nil, "eth_sendRawTransaction", chaintest.Raw(tx))
				} else {
					err = c.Try(nil, "eth_sendRawTransaction", chaintest.Raw(tx))
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			c.T.Fatalf("sender %d: %v", i, err)
		}
		minedTogether(c, txs[i], nil)
	}
	if got := c.Balance(to); got.Int64() != senders*each {
		c.T.Fatalf("%d wei", got)
	}
}
