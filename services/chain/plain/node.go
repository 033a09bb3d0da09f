package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"
)

// node is the chain and what waits to get into it. It starts no goroutines. The locks are taken in
// the order of the fields.
type node struct {
	config *params.ChainConfig
	signer types.Signer
	states state.Database

	sealing sync.Mutex // held while a transaction is accepted and sealed
	log     *logFile
	failed  error // the disk may lack what memory has: nothing more is accepted

	pool *pool

	mu      sync.RWMutex // guards what is below: only what is on the disk
	blocks  []sealed
	numbers map[common.Hash]uint64 // of blocks by their hashes and those of their transactions
	grown   chan struct{}          // closed by the next block
}

// sealed is a block and the receipts of its transactions, of which there is one.
type sealed struct {
	*types.Block
	receipts types.Receipts
}

// openNode executes what the folder's log has.
func openNode(dir string) (*node, error) {
	genesis := development()
	db := triedb.NewDatabase(rawdb.NewMemoryDatabase(), &triedb.Config{PathDB: pathdb.Defaults})
	first, err := genesis.Commit(rawdb.NewMemoryDatabase(), db, nil)
	if err != nil {
		return nil, err
	}
	n := &node{
		config: genesis.Config, signer: types.LatestSigner(genesis.Config), states: state.NewDatabase(db, nil), pool: newPool(),
		numbers: map[common.Hash]uint64{}, grown: make(chan struct{}),
	}
	n.publish(sealed{Block: first})
	if n.log, err = openLog(dir, n.accepted, n.again); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if len(n.blocks) == 1 {
		slog.Info("the development chain: each of its accounts has 10,000 ether", "accounts", accounts)
	}
	if err := n.sealDue(); err != nil { // what the last process accepted and did not seal
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) close() error { return errors.Join(n.log.file.Close(), n.states.TrieDB().Close()) }

// accepted takes up a transaction of the log.
func (n *node) accepted(tx *types.Transaction) error {
	from, err := types.Sender(n.signer, tx)
	n.pool.put(from, tx)
	return err
}

// again executes a block of the log.
func (n *node) again(block *types.Block) error {
	for _, tx := range block.Transactions() {
		made, err := n.seal(n.head(), tx, block.Time())
		if err != nil || made.Hash() != block.Hash() {
			return errors.Join(err, fmt.Errorf("block %d does not follow from the block before it", block.NumberU64()))
		}
		n.publish(made)
	}
	return nil
}

// send accepts a transaction and its bytes. When it returns, the transaction is on the disk, and in
// a block if its turn has come.
func (n *node) send(tx *types.Transaction, raw []byte) error {
	n.sealing.Lock()
	defer n.sealing.Unlock()
	if n.failed != nil {
		return n.failed
	}
	from, err := n.judge(tx)
	if err != nil {
		return err
	}
	if err := n.log.add(raw); err != nil {
		return err
	}
	n.pool.put(from, tx)
	return n.sealDue()
}

// judge decides whether a transaction may wait, and returns its sender.
func (n *node) judge(tx *types.Transaction) (from common.Address, err error) {
	switch {
	case n.named(tx.Hash()) != nil || n.pool.get(tx.Hash()) != nil:
		return from, txpool.ErrAlreadyKnown
	case !tx.Protected():
		return from, errors.New("only replay-protected (EIP-155) transactions allowed over RPC")
	}
	head := n.head()
	err = txpool.ValidateTransaction(tx, head.Header(), n.signer, &txpool.ValidationOptions{
		Config: n.config, MaxSize: 128 << 10, MinTip: new(big.Int),
		Accept: 1<<types.LegacyTxType | 1<<types.AccessListTxType | 1<<types.DynamicFeeTxType | 1<<types.SetCodeTxType,
	})
	if err != nil {
		return from, err
	}
	from, _ = types.Sender(n.signer, tx) // which has been recovered
	if base := n.nextBaseFee(head); tx.GasFeeCapIntCmp(base) < 0 {
		return from, fmt.Errorf("%w: address %v, maxFeePerGas: %v, baseFee: %v", core.ErrFeeCapTooLow, from, tx.GasFeeCap(), base)
	}
	db, err := n.state(head)
	if err != nil {
		return from, err
	}
	count, cost := n.pool.of(from)
	due := db.GetNonce(from) == tx.Nonce()
	err = txpool.ValidateTransactionWithState(tx, n.signer, &txpool.ValidationOptionsWithState{
		State:               db,
		ExistingExpenditure: func(common.Address) *big.Int { return cost },
		ExistingCost:        func(common.Address, uint64) *big.Int { return nil },
	})
	switch {
	case err != nil:
		return from, err
	case n.pool.at(from, tx.Nonce()) != nil:
		return from, fmt.Errorf("%w: what was accepted is never replaced", txpool.ErrReplaceUnderpriced)
	case !due && count >= maxOfSender:
		return from, fmt.Errorf("%w: pooled %d txs", txpool.ErrAccountLimitExceeded, count)
	case !due && n.pool.size() >= maxWaiting:
		return from, errors.New("txpool is full")
	}
	return from, nil
}

// sealDue writes what the log was given, and makes a block of each transaction whose turn has come.
func (n *node) sealDue() error {
	for {
		head := n.head()
		db, err := n.state(head)
		if err != nil {
			return err
		}
		from, tx := n.due(db, n.nextBaseFee(head))
		if tx == nil {
			return n.sync()
		}
		s, err := n.seal(head, tx, max(head.Time(), uint64(time.Now().Unix())))
		if err != nil { // judge would have to be wrong
			slog.Error("a transaction was dropped", "hash", tx.Hash(), "error", err)
			n.pool.remove(from, tx)
			continue
		}
		if err := errors.Join(n.log.add(s.Block), n.sync()); err != nil {
			return err
		}
		n.publish(s)
	}
}

func (n *node) sync() error {
	if err := n.log.sync(); err != nil {
		n.failed = fmt.Errorf("the log cannot be written: %w; make the data folder writable, then start again", err)
	}
	return n.failed
}

// due returns a waiting transaction that can be executed now, or nil.
func (n *node) due(db *state.StateDB, base *big.Int) (common.Address, *types.Transaction) {
	for _, from := range n.pool.senders() {
		tx := n.pool.at(from, db.GetNonce(from))
		if tx != nil && tx.GasFeeCapIntCmp(base) >= 0 && db.GetBalance(from).CmpBig(tx.Cost()) >= 0 {
			return from, tx
		}
	}
	return common.Address{}, nil
}

// publish shows a block, which is on the disk, to those that ask.
func (n *node) publish(s sealed) {
	n.mu.Lock()
	n.numbers[s.Hash()] = s.NumberU64()
	for _, tx := range s.Transactions() {
		n.numbers[tx.Hash()] = s.NumberU64()
	}
	n.blocks = append(n.blocks, s)
	close(n.grown)
	n.grown = make(chan struct{})
	n.mu.Unlock()
	for _, tx := range s.Transactions() {
		from, _ := types.Sender(n.signer, tx) // which was executed
		n.pool.remove(from, tx)
	}
}

func (n *node) head() *types.Block {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.blocks[len(n.blocks)-1].Block
}

// block returns a block, or nil and a channel that is closed by the next one.
func (n *node) block(number uint64) (*sealed, <-chan struct{}) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if number >= uint64(len(n.blocks)) {
		return nil, n.grown
	}
	return &n.blocks[number], nil
}

// named returns the block that has a hash, or whose transaction has it; nil if there is none.
func (n *node) named(hash common.Hash) *sealed {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if number, ok := n.numbers[hash]; ok {
		return &n.blocks[number]
	}
	return nil
}

// state is the state after a block, which is kept for 128 blocks.
func (n *node) state(b *types.Block) (*state.StateDB, error) { return state.New(b.Root(), n.states) }

func (n *node) nextBaseFee(b *types.Block) *big.Int { return eip1559.CalcBaseFee(n.config, b.Header()) }

// accounts are the ten first of the mnemonic "test test test test test test test test test test
// test junk".
var accounts = strings.Fields(`
	0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
	0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC 0x90F79bf6EB2c4f870365E785982E1f101E93b906
	0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65 0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc
	0x976EA74026E726554dB657fA54763abd0C3a0aa9 0x14dC79964da2C08b23698B3D3cc7Ca32193d9955
	0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f 0xa0Ee7A142d267C1f36714E4a8F75612F20a79720
`)

// development is the chain of development: id 1337, Prague from the first block.
func development() *core.Genesis {
	genesis := core.DeveloperGenesisBlock(30_000_000, nil)
	genesis.Config.OsakaTime, genesis.Config.BogotaTime = nil, nil
	wealth := new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))
	for _, address := range accounts {
		genesis.Alloc[common.HexToAddress(address)] = types.Account{Balance: wealth}
	}
	return genesis
}
