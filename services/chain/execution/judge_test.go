package execution

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/genesis"
)

// ancestors is one block.
type ancestors struct{ only *types.Header }

func (a ancestors) Header(n uint64) *types.Header {
	if a.only.Number.Uint64() != n {
		return nil
	}
	return a.only
}

func (a ancestors) Block(uint64) *types.Block { return nil }

// Chaind's own rules permit what Ethereum's do not, and no more.
func TestOwnRules(t *testing.T) {
	const text = `{"config":{"chainId":7,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,
		"constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0,"terminalTotalDifficulty":0},
		"chaind":{"zeroBaseFee":%t},"timestamp":"0x64","gasLimit":"0x1c9c380","difficulty":"0x0","alloc":{}}`
	for _, free := range []bool{false, true} {
		g, err := genesis.Parse(fmt.Appendf(nil, text, free))
		if err != nil {
			t.Fatal(err)
		}
		parent := g.Block().Header()
		parent.GasUsed = parent.GasLimit // so that the base fee rises, where it may
		for _, c := range []struct {
			name   string
			change func(*types.Header)
			says   string // "": permitted
		}{
			{"its parent's timestamp", func(h *types.Header) { h.Time = parent.Time }, ""},
			{"a later timestamp", func(h *types.Header) { h.Time = parent.Time + 1 }, ""},
			{"an earlier timestamp", func(h *types.Header) { h.Time = parent.Time - 1 }, "timestamp"},
			{"a base fee", func(h *types.Header) { h.BaseFee = big.NewInt(1_125_000_000) }, map[bool]string{true: "baseFee"}[free]},
			{"no base fee", func(h *types.Header) { h.BaseFee = new(big.Int) }, map[bool]string{false: "baseFee"}[free]},
		} {
			h := &types.Header{ParentHash: parent.Hash(), UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash,
				Difficulty: new(big.Int), Number: big.NewInt(1), GasLimit: parent.GasLimit, Time: parent.Time + 12, BaseFee: big.NewInt(1_125_000_000)}
			if free {
				h.BaseFee = new(big.Int)
			}
			c.change(h)
			err := New(g).judge(types.NewBlockWithHeader(h), parent, ancestors{parent})
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("free gas %t, %s: %v, want %q", free, c.name, err, c.says)
			}
		}
	}
}
