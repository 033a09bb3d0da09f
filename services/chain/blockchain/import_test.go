package blockchain_test

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/blockchain"
)

// headHash is what headfcu.json, beside the chain, says.
const headHash = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"

// begin opens the chain of all forks.
func begin(t *testing.T, dir, states string) *blockchain.Chain {
	t.Helper()
	c, err := open(t, t.Context(), dir, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Blocks of all forks are imported, survive a restart, and are exported as they were.
func TestRoundTrip(t *testing.T) {
	for _, states := range blockchain.StateKinds() {
		t.Run(states, func(t *testing.T) { roundTrip(t, states) })
	}
}

func roundTrip(t *testing.T, states string) {
	dir, blocks := t.TempDir(), read(t, "chain.rlp")
	c := begin(t, dir, states)
	n := 0
	if err := blockchain.Import(t.Context(), c, bytes.NewReader(blocks), func() { n++ }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if hash := c.Head().Hash(); n != 54 || hash != common.HexToHash(headHash) {
			t.Fatalf("%d blocks up to %x", n, hash)
		}
		var out bytes.Buffer
		if err := blockchain.Export(t.Context(), &out, 1, 54, c.Blocks.RawBlock); err != nil || !bytes.Equal(out.Bytes(), blocks) {
			t.Errorf("another file is exported: %d bytes, %v", out.Len(), err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = begin(t, dir, states)
	}
	if err := blockchain.Import(t.Context(), c, bytes.NewReader(blocks), func() { t.Error("a block twice") }); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// split returns the blocks of a file, each with its bytes.
func split(t testing.TB, file []byte) (blocks []*types.Block, raw [][]byte) {
	t.Helper()
	for len(file) > 0 {
		_, _, rest, err := rlp.Split(file)
		if err != nil {
			t.Fatal(err)
		}
		one := file[:len(file)-len(rest)]
		block := new(types.Block)
		if err := rlp.DecodeBytes(one, block); err != nil {
			t.Fatal(err)
		}
		blocks, raw, file = append(blocks, block), append(raw, one), rest
	}
	return blocks, raw
}

// A block of which one thing is wrong is refused, by its number and with what is wrong, and the
// blocks before it stay.
func TestWrongBlocks(t *testing.T) {
	for _, states := range blockchain.StateKinds() {
		t.Run(states, func(t *testing.T) { wrongBlocks(t, states) })
	}
}

func wrongBlocks(t *testing.T, states string) {
	blocks, raw := split(t, read(t, "chain.rlp"))
	header := func(change func(*types.Header)) func(*types.Block) any {
		return func(b *types.Block) any {
			h := b.Header()
			change(h)
			return b.WithSeal(h)
		}
	}
	body := func(change func(*types.Body)) func(*types.Block) any {
		return func(b *types.Block) any {
			inside := *b.Body()
			change(&inside)
			return types.NewBlockWithHeader(b.Header()).WithBody(inside)
		}
	}
	c := begin(t, t.TempDir(), states)
	defer c.Close()
	for _, v := range []struct {
		number int
		change func(*types.Block) any
		says   string
	}{
		{2, header(func(h *types.Header) { h.Root[0]++ }), "merkle root"},
		{2, header(func(h *types.Header) { h.Difficulty = new(big.Int).Add(h.Difficulty, common.Big1) }), "invalid difficulty"},
		{2, header(func(h *types.Header) { h.Number = big.NewInt(4) }), "those between are missing"},
		{2, header(func(h *types.Header) { h.Number = new(big.Int).Lsh(common.Big1, 70) }), "too large block number"},
		{2, header(func(h *types.Header) { h.ParentHash[0]++ }), "its parent is"},
		{2, header(func(h *types.Header) { h.Time = 0 }), "timestamp"},
		{2, header(func(h *types.Header) { h.GasLimit *= 2 }), "gas limit"},
		{20, header(func(h *types.Header) { h.GasUsed++ }), "gas used"},
		{20, header(func(h *types.Header) { h.Bloom[3]++ }), "bloom"},
		{20, header(func(h *types.Header) { h.ReceiptHash[0]++ }), "receipt root"},
		{20, header(func(h *types.Header) { h.TxHash[0]++ }), "transaction root"},
		{20, header(func(h *types.Header) { h.UncleHash[0]++ }), "uncle root"},
		{20, header(func(h *types.Header) { h.Extra = make([]byte, 33) }), "extra-data"},
		{30, header(func(h *types.Header) { h.BaseFee = new(big.Int).Add(h.BaseFee, common.Big1) }), "baseFee"},
		{37, header(func(h *types.Header) { h.Nonce[0]++ }), "nonce"},
		{37, header(func(h *types.Header) { h.Time--; h.Time -= 100 }), "timestamp"},
		{40, body(func(b *types.Body) { b.Withdrawals = append(b.Withdrawals, &types.Withdrawal{}) }), "withdrawals root"},
		{40, body(func(b *types.Body) { b.Withdrawals = nil }), "withdrawals"},
		{44, header(func(h *types.Header) { *h.ExcessBlobGas++ }), "excessBlobGas"},
		{44, header(func(h *types.Header) { *h.BlobGasUsed += 1 << 17 }), "blob"},
		{44, header(func(h *types.Header) { h.RequestsHash = &types.EmptyRequestsHash }), "requestsHash"},
		{47, header(func(h *types.Header) { h.RequestsHash[0]++ }), "requests hash"},
		{47, header(func(h *types.Header) { h.RequestsHash = nil }), "requestsHash"},
		{47, header(func(h *types.Header) { h.ParentBeaconRoot[0]++ }), "merkle root"},
		{50, func(*types.Block) any { return "no block" }, "is no block"},
	} {
		for c.Head().Number.Int64() < int64(v.number)-1 {
			if err := c.Append(t.Context(), blocks[c.Head().Number.Int64()]); err != nil {
				t.Fatal(err)
			}
		}
		wrong, err := rlp.EncodeToBytes([]any{v.change(blocks[v.number-1])})
		if err != nil {
			t.Fatal(err)
		}
		wrong, _, _ = rlp.SplitList(wrong)
		if wrong[0] < 0xc0 {
			wrong = append([]byte{0xc0 + byte(len(wrong))}, wrong...)
		}
		before := c.Head().Hash()
		err = blockchain.Import(t.Context(), c, bytes.NewReader(wrong), func() { t.Error("appended") })
		if err == nil || !strings.Contains(err.Error(), v.says) {
			t.Errorf("block %d: %v, want %q", v.number, err, v.says)
		}
		if c.Head().Hash() != before {
			t.Errorf("block %d: the head has moved", v.number)
		}
	}
	if err := blockchain.Import(t.Context(), c, bytes.NewReader(bytes.Join(raw, nil)), func() {}); err != nil || c.Head().Hash() != common.HexToHash(headHash) {
		t.Errorf("after all of them: %v, head %x", err, c.Head().Hash())
	}
	other := blocks[9].Header()
	other.Extra = []byte("other")
	text, err := rlp.EncodeToBytes(blocks[9].WithSeal(other))
	if err != nil {
		t.Fatal(err)
	}
	if err := blockchain.Import(t.Context(), c, bytes.NewReader(text), func() {}); err == nil || !strings.Contains(err.Error(), "another block") {
		t.Errorf("another block 10: %v", err)
	}
}
