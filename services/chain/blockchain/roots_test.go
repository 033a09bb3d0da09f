package blockchain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
)

// seldom is a genesis whose blocks have a root every 5.
const seldom = `{"config":{"chainId":7,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,"constantinopleBlock":0,
	"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0,"shanghaiTime":0,"cancunTime":0,"terminalTotalDifficulty":0,
	"blobSchedule":{"cancun":{"target":3,"max":6,"baseFeeUpdateFraction":3338477}}},
	"chaind":{"rootEvery":5},"gasLimit":"0x1c9c380","difficulty":"0x0","alloc":{"0x0100000000000000000000000000000000000000":{"balance":"0x1"}}}`

// next makes the next block, which changes the state by withdrawals.
func next(t *testing.T, c *blockchain.Chain) *types.Block {
	t.Helper()
	parent := c.Head()
	db, err := c.StateAt(parent)
	if err != nil {
		t.Fatal(err)
	}
	number := new(big.Int).Add(parent.Number, common.Big1)
	withdrawals := types.Withdrawals{}
	for i := range uint64(3) {
		w := &types.Withdrawal{Index: i, Address: common.Address{1, byte(number.Uint64() * i)}, Amount: 1 + i}
		withdrawals = append(withdrawals, w)
		db.AddBalance(w.Address, new(uint256.Int).Mul(uint256.NewInt(w.Amount), uint256.NewInt(1e9)), tracing.BalanceIncreaseWithdrawal)
	}
	hash := types.DeriveSha(withdrawals, trie.NewStackTrie(nil))
	header := &types.Header{
		ParentHash: parent.Hash(), UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash, Number: number,
		Time: parent.Time + 1, Difficulty: new(big.Int), GasLimit: parent.GasLimit, BaseFee: eip1559.CalcBaseFee(c.Genesis.Config, parent),
		WithdrawalsHash: &hash, BlobGasUsed: new(uint64), ExcessBlobGas: new(uint64), ParentBeaconRoot: new(common.Hash), Root: parent.Root,
	}
	if number.Uint64()%5 == 0 {
		header.Root = db.IntermediateRoot(c.Genesis.Config.Rules(number, true, header.Time))
	}
	return types.NewBlockWithHeader(header).WithBody(types.Body{Withdrawals: withdrawals})
}

// Under the rule rootEvery a block without a root has its parent's, and nothing else; the chain is
// the same whichever way its states are kept, and opens again after any of its blocks.
func TestRootEvery(t *testing.T) {
	g, err := genesis.Parse([]byte(seldom))
	if err != nil {
		t.Fatal(err)
	}
	var hashes []common.Hash
	for _, states := range blockchain.StateKinds() {
		dir := filepath.Join(t.TempDir(), states)
		again := 0
		reopen := func() *blockchain.Chain {
			c, err := blockchain.Open(t.Context(), dir, g, blockchain.Options{States: states, Recovered: func(uint64, uint64) { again++ }})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := reopen()
		for n := 1; n <= 23; n++ {
			block := next(t, c)
			wrong := block.Header()
			wrong.Root[0]++
			if err := c.Append(t.Context(), block.WithSeal(wrong)); err == nil || !strings.Contains(err.Error(), "invalid merkle root") {
				t.Fatalf("%s: block %d with another root: %v", states, n, err)
			}
			if err := c.Append(t.Context(), block); err != nil {
				t.Fatalf("%s: block %d: %v", states, n, err)
			}
		}
		for range 2 { // at 23, which has no root
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if c = reopen(); again != 0 {
				t.Fatalf("%s: %d blocks are executed again after a clean stop", states, again)
			}
		}
		hashes = append(hashes, c.Head().Hash())
		if c.Head().Hash() != hashes[0] {
			t.Errorf("%s: the chain is another", states)
		}
		rooted := c.Head().Root
		if root, err := c.States().Root(c.Head()); err != nil || root == rooted {
			t.Errorf("%s: the root of the state is %x, that of the header, %v", states, root, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := blockchain.Check(t.Context(), dir, blockchain.Tail{}, func(uint64, uint64) {})
		if err != nil || !r.OK || r.Blocks != 23 || r.RecomputedRoot != rooted {
			t.Errorf("%s: %+v, %v", states, r, err)
		}
	}
}

// The rule needs what it can hold.
func TestRootEveryNeedsCancun(t *testing.T) {
	for text, says := range map[string]string{
		strings.Replace(seldom, `"cancunTime":0,`, "", 1):                                 "Cancun",
		strings.Replace(seldom, `"rootEvery":5`, fmt.Sprintf(`"rootEvery":%d`, 1<<20), 1): "1000",
	} {
		if _, err := genesis.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// A node makes such blocks, and every other node takes them.
func TestRootEveryMade(t *testing.T) {
	g, err := genesis.Parse([]byte(strings.Replace(seldom, `"alloc":{`, // the contract of EIP-4788 changes the state in each block
		`"alloc":{"000F3df6D732807Ef1319fB7B8bB8522d0Beac02":{"balance":"0x0","nonce":"0x1","code":"0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500"},`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	open := func(states string) *blockchain.Chain {
		c, err := blockchain.Open(t.Context(), filepath.Join(t.TempDir(), states), g, blockchain.Options{States: states})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, states := range blockchain.StateKinds() {
		c, others := open(states), []*blockchain.Chain{}
		for _, states := range blockchain.StateKinds() {
			others = append(others, open(states))
		}
		for n := uint64(1); n <= 12; n++ {
			parent := c.Head()
			draft, err := c.Begin(parent.Time + 1)
			if err == nil {
				err = draft.Finish()
			}
			if err == nil {
				err = c.Put(draft)
			}
			if err != nil {
				t.Fatal(err)
			}
			if own := c.Head().Root != parent.Root; own != (n%5 == 0) {
				t.Errorf("%s: block %d has a root of its own: %t", states, n, own)
			}
			for i, other := range others {
				if err := other.Append(t.Context(), draft.Block()); err != nil {
					t.Fatalf("%s refuses block %d of %s: %v", blockchain.StateKinds()[i], n, states, err)
				}
			}
		}
		for _, c := range append(others, c) {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// States in an arrangement that is no longer read are removed, and made again as flat ones.
func TestFormerStates(t *testing.T) {
	dir, g := t.TempDir(), genesis.Development()
	c, err := blockchain.Open(t.Context(), dir, g, blockchain.Options{States: "statedb"})
	if err == nil {
		err = c.Close()
	}
	former := filepath.Join(dir, "flat-scattered")
	if err = errors.Join(err, os.Mkdir(former, 0o700), os.WriteFile(filepath.Join(former, "000001.sst"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if c, err = blockchain.Open(t.Context(), dir, nil, blockchain.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(former); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former states are there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "flat")); err != nil {
		t.Error(err)
	}
	if _, err := c.StateAt(c.Head()); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
