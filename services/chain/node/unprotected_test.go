package node

import (
	"errors"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/chaintest"
)

// A transaction without a chain id is taken where the node is set so, and is durable as any.
func TestUnprotected(t *testing.T) {
	dir := t.TempDir()
	w := open(t, begin{dir: dir})
	tx := types.MustSignNewTx(w.from.Key, types.HomesteadSigner{}, &types.LegacyTx{GasPrice: chaintest.FeeCap, Gas: chaintest.Transfer, To: &common.Address{1}, Value: big.NewInt(1)})
	if err := w.send(tx); !errors.Is(err, errUnprotected) {
		t.Fatal(err)
	}
	w.close()
	w = open(t, begin{dir: dir, options: Options{Unprotected: true, Sealing: slow(t)}})
	if err := w.send(tx); err != nil {
		t.Fatal(err)
	}
	w.close()
	w = open(t, begin{dir: dir}) // what was accepted is sealed, whatever is accepted now
	defer w.close()
	w.mined(tx)
}
