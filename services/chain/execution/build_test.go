package execution_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/pathdb"

	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
)

// chain is blocks from block 0 on, over states in memory.
type chain struct {
	g      *genesis.Genesis
	e      *execution.Executor
	states state.Database
	blocks []*types.Block
}

func (c *chain) Header(n uint64) *types.Header { return c.Block(n).Header() }

func (c *chain) Block(n uint64) *types.Block {
	if n >= uint64(len(c.blocks)) {
		return nil
	}
	return c.blocks[n]
}

func (c *chain) head() *types.Header { return c.blocks[len(c.blocks)-1].Header() }

// newChain begins a chain whose genesis has the system contracts.
func newChain(t *testing.T, g *core.Genesis, free bool) *chain {
	t.Helper()
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text[:len(text)-1], `,"chaind":{"zeroBaseFee":%t}}`, free)
	c := new(chain)
	if c.g, err = genesis.Parse(text); err != nil {
		t.Fatal(err)
	}
	tries := triedb.NewDatabase(rawdb.NewMemoryDatabase(), &triedb.Config{PathDB: pathdb.Defaults})
	t.Cleanup(func() { tries.Close() })
	first, err := c.g.Commit(rawdb.NewMemoryDatabase(), tries, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.e, c.states, c.blocks = execution.New(c.g), state.NewDatabase(tries, nil), []*types.Block{first}
	return c
}

// build adds a block of those of the transactions that can be in it, and returns it with the errors
// of the others.
func (c *chain) build(t *testing.T, time uint64, txs ...*types.Transaction) (*types.Block, []error) {
	t.Helper()
	db, err := state.New(c.head().Root, c.states)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.e.Build(c.head(), time, db, c)
	if err != nil {
		t.Fatal(err)
	}
	var refused []error
	for _, tx := range txs {
		if err := b.Add(tx); err != nil {
			refused = append(refused, err)
		}
	}
	block, receipts, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	c.judge(t, block, receipts)
	if root, err := db.Commit(c.e.Rules(block.Header()), block.NumberU64()); err != nil || root != block.Root() {
		t.Fatalf("root %x, %v", root, err)
	}
	c.blocks = append(c.blocks, block)
	return block, refused
}

// judge executes the block as another node's.
func (c *chain) judge(t *testing.T, block *types.Block, receipts types.Receipts) {
	t.Helper()
	db, err := state.New(c.head().Root, c.states)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.e.Execute(t.Context(), block, c.head(), db, c)
	if err != nil {
		t.Fatalf("block %d is refused: %v", block.Number(), err)
	}
	for i, r := range again {
		if r.GasUsed != receipts[i].GasUsed || r.Status != receipts[i].Status || r.Bloom != receipts[i].Bloom || len(r.Logs) != len(receipts[i].Logs) {
			t.Errorf("receipt %d of block %d is %+v, was %+v", i, block.Number(), r, receipts[i])
		}
	}
}

// Blocks of every fork of proof of stake are those that go-ethereum makes of their transactions,
// and a transaction that cannot be executed leaves no trace.
func TestBuild(t *testing.T) {
	for _, name := range []string{"Paris", "Shanghai", "Cancun", "Prague", "Osaka", "BPO2", "Amsterdam"} {
		t.Run(name, func(t *testing.T) {
			key, err := crypto.GenerateKey()
			if err != nil {
				t.Fatal(err)
			}
			g := core.DeveloperGenesisBlock(30_000_000, nil)
			if g.Config, err = execution.ForkConfig(name, big.NewInt(1337)); err != nil {
				t.Fatal(err)
			}
			from := crypto.PubkeyToAddress(key.PublicKey)
			g.Alloc[from] = types.Account{Balance: big.NewInt(params.Ether)}
			c := newChain(t, g, false)
			signer := types.LatestSigner(g.Config)
			sign := func(nonce, gas uint64, wei int64, to *common.Address, data ...byte) *types.Transaction {
				return types.MustSignNewTx(key, signer, &types.DynamicFeeTx{ChainID: g.Config.ChainID, Nonce: nonce, Gas: gas, GasTipCap: common.Big1,
					GasFeeCap: big.NewInt(2 * params.GWei), Value: big.NewInt(wei), To: to, Data: data})
			}
			to := common.Address{19: 0xaa}
			code := common.FromHex("6001430340600055600160006000a1") // SSTORE(0, BLOCKHASH(NUMBER-1)), LOG1
			first, refused := c.build(t, 12,
				sign(1, 300_000, 1, &to), // before its turn
				sign(0, 300_000, 1, &to),
				sign(1, 300_000, 2*params.Ether, &to), // more than there is
				sign(1, 1000, 1, &to),                 // less gas than it needs
				sign(1, 600_000, 0, nil, code...),
				sign(0, 300_000, 1, &to),       // once more
				sign(2, 29_999_999, 1, &to),    // more gas than is left
				sign(2, 300_000, 0, nil, 0xfe), // fails, and is in the block
				types.NewTx(&types.LegacyTx{}), // of no sender
				sign(3, 600_000, 0, nil, code...),
			)
			want := []error{core.ErrNonceTooHigh, core.ErrInsufficientFundsForTransfer, core.ErrIntrinsicGas, core.ErrNonceTooLow, core.ErrGasLimitReached, types.ErrInvalidSig}
			if len(first.Transactions()) != 4 || len(refused) != len(want) {
				t.Fatalf("%d transactions, refused: %v", len(first.Transactions()), refused)
			}
			for i, err := range refused {
				if !errors.Is(err, want[i]) && !(i == 1 && errors.Is(err, core.ErrInsufficientFunds)) && !(i == 4 && errors.Is(err, core.ErrGasLimitTooHigh)) {
					t.Errorf("refused: %v, want %v", err, want[i])
				}
			}
			c.build(t, 24)
			if last, refused := c.build(t, 36, sign(4, 600_000, 0, nil, code...)); len(refused) > 0 || last.GasUsed() == 0 {
				t.Error(refused)
			}
			insert(t, g, c.blocks[1:])
			c.build(t, 36, sign(5, 300_000, 1, &to)) // chaind's own: a block may have its parent's time
		})
	}
}

// insert has go-ethereum judge and execute blocks.
func insert(t *testing.T, g *core.Genesis, blocks types.Blocks) {
	t.Helper()
	theirs, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), g, beacon.New(ethash.NewFaker()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Stop()
	if n, err := theirs.InsertChain(blocks); err != nil {
		t.Fatalf("go-ethereum refuses block %d: %v", n+1, err)
	}
	if head := theirs.CurrentBlock(); head.Hash() != blocks[len(blocks)-1].Hash() {
		t.Fatalf("go-ethereum has the head %d", head.Number)
	}
}

// What a block cannot be is an error.
func TestBuildRefuses(t *testing.T) {
	g := core.DeveloperGenesisBlock(30_000_000, nil)
	g.Timestamp, g.BaseFee = 100, new(big.Int)
	c := newChain(t, g, true)
	db, err := state.New(c.head().Root, c.states)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.e.Build(c.head(), 99, db, c); err == nil {
		t.Error("a block before its parent")
	}
	if block, _ := c.build(t, 100); block.BaseFee().Sign() != 0 {
		t.Errorf("gas is free, and the base fee %d", block.BaseFee())
	}
	work, err := execution.ForkConfig("London", big.NewInt(1337))
	if err != nil {
		t.Fatal(err)
	}
	g.Config = work
	c = newChain(t, g, true)
	if _, err := c.e.Build(c.head(), 100, db, c); err == nil {
		t.Error("a block of proof of work")
	}
}
