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
// executing the block recovers none again. Workers recover concurrently; 0 means one for each CPU.
func verifyBlock(block *types.Block, signer types.Signer, workers int) error {
	header := block.Header()
	if err := header.SanityCheck(); err != nil {
		return err
	}
	if hash := types.DeriveSha(block.Transactions(), trie.NewStackTrie(nil)); hash != header.TxHash {
		return fmt.Errorf("its transactions have the root %x, and its header %x", hash, header.TxHash)
	}
	return recoverSenders(block.Transactions(), signer, workers)
}

func recoverSenders(txs types.Transactions, signer types.Signer, workers int) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(txs))
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
