package blockchain_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/blockchain"
)

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
		err := blockchain.Import(t.Context(), &l, bytes.NewReader(file[:cut]), func() {})
		if len(l.blocks) != whole || clean != (err == nil) || err != nil && !errors.Is(err, blockchain.ErrTruncated) {
			t.Fatalf("%d bytes: %d blocks, want %d; %v", cut, len(l.blocks), whole, err)
		}
	}
}

// The end of the context stops an import between two blocks.
func TestStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var l list
	err := blockchain.Import(ctx, &l, bytes.NewReader(read(t, "chain.rlp")), func() {
		if len(l.blocks) == 7 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || len(l.blocks) != 7 {
		t.Errorf("%d blocks: %v", len(l.blocks), err)
	}
	if err := blockchain.Export(ctx, io.Discard, 1, 9, func(uint64) ([]byte, error) { return nil, nil }); !errors.Is(err, context.Canceled) {
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
		if err := blockchain.Import(t.Context(), &l, bytes.NewReader(file), func() {}); err != nil || len(file) > 0 && file[0] == 0x1f {
			return
		}
		var out bytes.Buffer
		err := blockchain.Export(t.Context(), &out, 1, uint64(len(l.blocks)), func(n uint64) ([]byte, error) { return rlp.EncodeToBytes(l.blocks[n-1]) })
		if err != nil || out.Len() > len(file) {
			t.Errorf("%d bytes of %d: %v", out.Len(), len(file), err)
		}
	})
}
