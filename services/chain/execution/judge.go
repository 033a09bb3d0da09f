package execution

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
)

// judge says what is wrong with a block before it is executed.
func (e *Executor) judge(block *types.Block, parent *types.Header, below Ancestors) error {
	header := block.Header()
	if err := header.SanityCheck(); err != nil {
		return err
	}
	if header.Number.Uint64() != parent.Number.Uint64()+1 {
		return fmt.Errorf("its number is not that of its parent and 1 (%d)", parent.Number)
	}
	if header.ParentHash != parent.Hash() {
		return fmt.Errorf("its parent is %x, and block %d is %x", header.ParentHash, parent.Number, parent.Hash())
	}
	seen := &view{executor: e, below: below, parent: e.relaxed(parent, header)}
	if err := e.engine.VerifyHeader(seen, header); err != nil {
		return err
	}
	if prague := e.Rules(header).IsPrague; prague != (header.RequestsHash != nil) {
		return fmt.Errorf("requestsHash present: %t, want %t", !prague, prague)
	}
	return e.judgeBody(block, &view{executor: e, below: below})
}

// relaxed is the parent as the engine must see it, so that it permits what chaind's own rules do: a
// block of proof of stake may have its parent's timestamp, and gas may be free.
func (e *Executor) relaxed(parent, header *types.Header) *types.Header {
	seen := types.CopyHeader(parent)
	if header.Difficulty.Sign() == 0 && header.Time == parent.Time && parent.Time > 0 {
		seen.Time--
	}
	if e.rules.ZeroBaseFee {
		seen.GasUsed = parent.GasLimit / e.config.ElasticityMultiplier() // then the base fee stays as it is
	}
	return seen
}

// judgeBody holds the body against the header, as core.BlockValidator does with a core.BlockChain.
func (e *Executor) judgeBody(block *types.Block, chain *view) error {
	header := block.Header()
	if e.config.IsOsaka(header.Number, header.Time) && block.Size() > params.MaxBlockSize {
		return core.ErrBlockOversized
	}
	if err := e.engine.VerifyUncles(chain, block); err != nil {
		return err
	}
	if hash := types.CalcUncleHash(block.Uncles()); hash != header.UncleHash {
		return fmt.Errorf("uncle root hash mismatch (header value %x, calculated %x)", header.UncleHash, hash)
	}
	if hash := types.DeriveSha(block.Transactions(), trie.NewStackTrie(nil)); hash != header.TxHash {
		return fmt.Errorf("transaction root hash mismatch (header value %x, calculated %x)", header.TxHash, hash)
	}
	switch {
	case header.WithdrawalsHash == nil && block.Withdrawals() != nil:
		return errors.New("withdrawals present in block body")
	case header.WithdrawalsHash != nil && block.Withdrawals() == nil:
		return errors.New("missing withdrawals in block body")
	case header.WithdrawalsHash != nil:
		if hash := types.DeriveSha(block.Withdrawals(), trie.NewStackTrie(nil)); hash != *header.WithdrawalsHash {
			return fmt.Errorf("withdrawals root hash mismatch (header value %x, calculated %x)", *header.WithdrawalsHash, hash)
		}
	}
	return judgeBlobs(block)
}

func judgeBlobs(block *types.Block) error {
	var gas uint64
	for i, tx := range block.Transactions() {
		if tx.BlobTxSidecar() != nil {
			return fmt.Errorf("unexpected blob sidecar in transaction at index %d", i)
		}
		gas += uint64(len(tx.BlobHashes())) * params.BlobTxBlobGasPerBlob
	}
	switch used := block.BlobGasUsed(); {
	case used == nil && gas > 0:
		return errors.New("data blobs present in block body")
	case used != nil && *used != gas:
		return fmt.Errorf("blob gas used mismatch (header %v, calculated %v)", *used, gas)
	}
	return nil
}

// view shows the ancestors to go-ethereum.
type view struct {
	executor *Executor
	below    Ancestors
	parent   *types.Header // as relaxed; nil: as it is
}

func (v *view) Config() *params.ChainConfig               { return v.executor.config }
func (v *view) Engine() consensus.Engine                  { return v.executor.engine }
func (v *view) CurrentHeader() *types.Header              { return nil } // only a miner asks
func (v *view) GetHeaderByHash(common.Hash) *types.Header { return nil } // only clique asks
func (v *view) GetHeaderByNumber(n uint64) *types.Header  { return v.below.Header(n) }

// GetHeader implements consensus.ChainHeaderReader.
func (v *view) GetHeader(hash common.Hash, number uint64) *types.Header {
	header := v.below.Header(number)
	if header == nil || header.Hash() != hash {
		return nil
	}
	if v.parent != nil && v.parent.Number.Uint64() == number {
		return v.parent
	}
	return header
}

// GetBlock implements consensus.ChainReader.
func (v *view) GetBlock(hash common.Hash, number uint64) *types.Block {
	if block := v.below.Block(number); block != nil && block.Hash() == hash {
		return block
	}
	return nil
}
