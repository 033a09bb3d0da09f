package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/archive"
	"dyno/services/chain/blockchain"
)

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
	c := openWith(t, t.TempDir(), states)
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
		err = archive.Import(t.Context(), c, bytes.NewReader(wrong), func() { t.Error("appended") })
		if err == nil || !strings.Contains(err.Error(), v.says) {
			t.Errorf("block %d: %v, want %q", v.number, err, v.says)
		}
		if c.Head().Hash() != before {
			t.Errorf("block %d: the head has moved", v.number)
		}
	}
	if err := archive.Import(t.Context(), c, bytes.NewReader(bytes.Join(raw, nil)), func() {}); err != nil || c.Head().Hash() != common.HexToHash(headHash) {
		t.Errorf("after all of them: %v, head %x", err, c.Head().Hash())
	}
	other := blocks[9].Header()
	other.Extra = []byte("other")
	text, err := rlp.EncodeToBytes(blocks[9].WithSeal(other))
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Import(t.Context(), c, bytes.NewReader(text), func() {}); err == nil || !strings.Contains(err.Error(), "another block") {
		t.Errorf("another block 10: %v", err)
	}
}

// list is a chain that takes every block.
type list struct{ blocks []*types.Block }

func (l *list) Head() *types.Header {
	if n := len(l.blocks); n > 0 {
		return l.blocks[n-1].Header()
	}
	return &types.Header{Number: new(big.Int)}
}

func (l *list) HashOf(n uint64) (common.Hash, error) {
	if n == 0 || n > uint64(len(l.blocks)) {
		return common.Hash{}, errors.New("none")
	}
	return l.blocks[n-1].Hash(), nil
}

func (l *list) Append(_ context.Context, b *types.Block) error {
	l.blocks = append(l.blocks, b)
	return nil
}

// A file that is cut off anywhere gives the blocks before, and an error unless a block ends there.
func TestTruncated(t *testing.T) {
	file := read(t, "chain.rlp")
	_, raw := split(t, file)
	ends := map[int]int{} // offset: blocks before it
	at := 0
	for i, one := range raw {
		at += len(one)
		ends[at] = i + 1
	}
	whole := 0
	for cut := 1; cut < 3000; cut++ {
		n, clean := ends[cut]
		if clean {
			whole = n
		}
		var l list
		err := archive.Import(t.Context(), &l, bytes.NewReader(file[:cut]), func() {})
		if len(l.blocks) != whole || clean != (err == nil) || err != nil && !errors.Is(err, archive.ErrTruncated) {
			t.Fatalf("%d bytes: %d blocks, want %d; %v", cut, len(l.blocks), whole, err)
		}
	}
}

// The end of the context stops an import between two blocks.
func TestStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var l list
	err := archive.Import(ctx, &l, bytes.NewReader(read(t, "chain.rlp")), func() {
		if len(l.blocks) == 7 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || len(l.blocks) != 7 {
		t.Errorf("%d blocks: %v", len(l.blocks), err)
	}
	if err := archive.Export(ctx, io.Discard, 1, 9, func(uint64) ([]byte, error) { return nil, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What is imported from any bytes is exported as the same bytes.
func FuzzImport(f *testing.F) {
	_, raw := split(f, read(f, "chain.rlp"))
	f.Add(bytes.Join(raw[:2], nil))
	f.Add(raw[0][:100])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x1f, 0x8b, 0})
	f.Fuzz(func(t *testing.T, file []byte) {
		var l list
		if err := archive.Import(t.Context(), &l, bytes.NewReader(file), func() {}); err != nil || len(file) > 0 && file[0] == 0x1f {
			return
		}
		var out bytes.Buffer
		err := archive.Export(t.Context(), &out, 1, uint64(len(l.blocks)), func(n uint64) ([]byte, error) { return rlp.EncodeToBytes(l.blocks[n-1]) })
		if err != nil || out.Len() > len(file) {
			t.Errorf("%d bytes of %d: %v", out.Len(), len(file), err)
		}
	})
}
