package blockchain_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	gethmath "github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/tests"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
)

// vector is a test of ethereum/tests, BlockchainTests.
type vector struct {
	Network string                `json:"network"`
	Pre     types.GenesisAlloc    `json:"pre"`
	First   first                 `json:"genesisBlockHeader"`
	Last    common.UnprefixedHash `json:"lastblockhash"`
	Blocks  []struct {
		RLP    string          `json:"rlp"`
		Header json.RawMessage `json:"blockHeader"` // only a valid block has it
		Reason string          `json:"expectException"`
	} `json:"blocks"`
}

// first is the header of block 0.
type first struct {
	Hash          common.Hash               `json:"hash"`
	Coinbase      common.Address            `json:"coinbase"`
	Difficulty    gethmath.HexOrDecimal256  `json:"difficulty"`
	ExtraData     hexutil.Bytes             `json:"extraData"`
	GasLimit      gethmath.HexOrDecimal64   `json:"gasLimit"`
	Timestamp     gethmath.HexOrDecimal64   `json:"timestamp"`
	MixHash       common.Hash               `json:"mixHash"`
	Nonce         types.BlockNonce          `json:"nonce"`
	BaseFee       *gethmath.HexOrDecimal256 `json:"baseFeePerGas"`
	BlobGasUsed   *gethmath.HexOrDecimal64  `json:"blobGasUsed"`
	ExcessBlobGas *gethmath.HexOrDecimal64  `json:"excessBlobGas"`
}

// Valid blocks are imported, and invalid ones refused. The files of testdata are copies from
// ethereum/tests. CHAIN_VECTORS names a folder with more of them, which has BlockchainTests in it.
func TestVectors(t *testing.T) {
	vectors(t, "testdata/blocks")
	if dir := os.Getenv("CHAIN_VECTORS"); dir != "" {
		vectors(t, filepath.Join(dir, "BlockchainTests"))
	}
}

func vectors(t *testing.T, dir string) {
	var passed, failed, refused, aside int
	kinds := []string{"statedb", "flat"}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var all map[string]vector
		if err := json.Unmarshal(text, &all); err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		for name, v := range all {
			ok := t.Run(filepath.Base(path)+"/"+name, func(t *testing.T) {
				for _, states := range kinds {
					r, a := v.run(t, states)
					refused, aside = refused+r, aside+a
				}
			})
			if ok {
				passed++
			} else {
				failed++
			}
		}
		return nil
	})
	if err != nil || passed == 0 {
		t.Fatalf("%d tests pass in %s: %v", passed, dir, err)
	}
	t.Logf("%s: %d tests passed, %d failed; %d invalid blocks refused, %d blocks of other branches left aside", dir, passed, failed, refused, aside)
}

// run imports the blocks that lead to the last one. Before each, the invalid blocks over the same
// parent are tried. Blocks of branches that do not lead there are left aside: chaind has one. So
// are blocks with their parent's time, which chaind permits.
func (v vector) run(t *testing.T, states string) (refused, aside int) {
	c := v.open(t, states)
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	branch := v.branch(t)
	for _, b := range v.Blocks {
		raw, err := hexutil.Decode(b.RLP)
		if err != nil {
			raw = []byte(b.RLP) // some invalid blocks are not even hexadecimal
		}
		var block types.Block
		decoded := rlp.DecodeBytes(raw, &block) == nil
		onBranch := decoded && slices.Contains(branch, block.Hash())
		if decoded && !onBranch && block.ParentHash() != c.Head().Hash() {
			aside++
			continue
		}
		valid := len(b.Header) > 0 && b.Reason == ""
		if valid && !onBranch || !valid && decoded && block.Time() == c.Head().Time {
			aside++
			continue
		}
		before := c.Head().Hash()
		err = blockchain.Import(t.Context(), c, bytes.NewReader(raw), func() {})
		switch {
		case valid && err != nil:
			t.Errorf("%s: block %d, which is valid, is refused: %v", states, block.NumberU64(), err)
			return refused, aside
		case !valid && (err == nil || c.Head().Hash() != before):
			t.Errorf("%s: block %d is accepted; it should be refused for %s", states, block.NumberU64(), b.Reason)
		case !valid:
			refused++
		}
	}
	if head := c.Head().Hash(); head != common.Hash(v.Last) {
		t.Errorf("%s: the chain ends at %x, want %x", states, head, v.Last)
	}
	return refused, aside
}

// branch lists the valid blocks that lead to the last one.
func (v vector) branch(t *testing.T) (branch []common.Hash) {
	parents := map[common.Hash]common.Hash{}
	for _, b := range v.Blocks {
		var block types.Block
		if raw, err := hexutil.Decode(b.RLP); err == nil && rlp.DecodeBytes(raw, &block) == nil && b.Reason == "" {
			parents[block.Hash()] = block.ParentHash()
		}
	}
	for hash, ok := common.Hash(v.Last), true; ok; {
		branch = append(branch, hash)
		hash, ok = parents[hash]
	}
	return branch
}

// open begins the chain of a test.
func (v vector) open(t *testing.T, states string) *blockchain.Chain {
	config, ok := tests.Forks[v.Network]
	if !ok {
		t.Fatalf("there is no fork %s", v.Network)
	}
	h := v.First
	text, err := json.Marshal(core.Genesis{
		Config: config, Nonce: h.Nonce.Uint64(), Timestamp: uint64(h.Timestamp), ExtraData: h.ExtraData, GasLimit: uint64(h.GasLimit),
		Difficulty: (*big.Int)(&h.Difficulty), Mixhash: h.MixHash, Coinbase: h.Coinbase, Alloc: v.Pre,
		BaseFee: (*big.Int)(h.BaseFee), BlobGasUsed: (*uint64)(h.BlobGasUsed), ExcessBlobGas: (*uint64)(h.ExcessBlobGas),
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := genesis.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if hash := g.Block().Hash(); hash != h.Hash {
		t.Fatalf("block 0 is %x, want %x", hash, h.Hash)
	}
	c, err := blockchain.Open(t.Context(), t.TempDir(), g, blockchain.Options{States: states})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
