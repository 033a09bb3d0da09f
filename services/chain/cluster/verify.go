package cluster

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/trie"
)

// verifyBlock says what is wrong with a block as far as that needs no state: its header, the root
// of its transactions, and their signatures. Each sender is remembered in its transaction, so that
// executing the block recovers none again. A worker for each CPU recovers them.
func verifyBlock(block *types.Block, signer types.Signer) error {
	header := block.Header()
	if err := header.SanityCheck(); err != nil {
		return err
	}
	if hash := types.DeriveSha(block.Transactions(), trie.NewStackTrie(nil)); hash != header.TxHash {
		return fmt.Errorf("its transactions have the root %x, and its header %x", hash, header.TxHash)
	}
	return recoverSenders(block.Transactions(), signer)
}

func recoverSenders(txs types.Transactions, signer types.Signer) error {
	workers := min(runtime.GOMAXPROCS(0), len(txs))
	failed := make([]error, workers)
	var recovering sync.WaitGroup
	for w := range workers {
		recovering.Go(func() {
			for i := w; i < len(txs) && failed[w] == nil; i += workers {
				if _, err := types.Sender(signer, txs[i]); err != nil {
					failed[w] = fmt.Errorf("transaction %d: %w", i, err)
				}
			}
		})
	}
	recovering.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
