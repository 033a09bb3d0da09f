package main

import (
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"dyno/parts/quicktest"
	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// chain makes a folder with two blocks and a transaction that waits, and returns the log's path.
func chain(t *testing.T, dir string) string {
	n, err := openNode(dir)
	if err != nil {
		t.Fatal(err)
	}
	from, to := chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}, common.Address{1}
	for _, nonce := range []uint64{0, 1, 3} {
		tx := from.At(nonce, to, 1)
		raw, err := tx.MarshalBinary()
		if err == nil {
			err = n.send(tx, raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "chain.rlp")
}

// A process that died in the middle of a write leaves the beginning of a record: it is cut off, and
// what was whole is there.
func TestCutsOffHalfARecord(t *testing.T) {
	dir := t.TempDir()
	path := chain(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range quicktest.Of(20, 300) {
		size := rand.IntN(len(whole))
		if err := os.WriteFile(path, whole[:size], 0o640); err != nil {
			t.Fatal(err)
		}
		n, err := openNode(dir)
		if err != nil {
			t.Fatalf("cut at byte %d of %d: %v", size, len(whole), err)
		}
		if after := n.head().NumberU64(); after > 2 || size > len(whole)-10 && after != 2 {
			t.Fatalf("cut at byte %d of %d: %d blocks", size, len(whole), after)
		}
		if err := n.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is damaged is named, not executed.
func TestNamesDamage(t *testing.T) {
	dir := t.TempDir()
	path := chain(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole[len(whole)/3] ^= 1
	if err := os.WriteFile(path, whole, 0o640); err != nil {
		t.Fatal(err)
	}
	if n, err := openNode(dir); err == nil {
		t.Fatalf("opened, with block %d", n.head().NumberU64())
	} else {
		t.Log(err)
	}
}

// What cannot be written is not accepted, and neither is what comes after it.
func TestAcceptsNothingWithoutTheLog(t *testing.T) {
	n, err := openNode(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n.log.file.Close()
	from := chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}
	for _, nonce := range []uint64{0, 1} {
		tx := from.At(nonce, common.Address{1}, 1)
		raw, _ := tx.MarshalBinary() // it was just signed
		if err := n.send(tx, raw); err == nil {
			t.Fatal("accepted")
		}
	}
	if n.head().NumberU64() != 0 {
		t.Fatal("a block is shown that is not on the disk")
	}
	n.states.TrieDB().Close()
}

// A folder has one process.
func TestLocksItsFolder(t *testing.T) {
	dir := t.TempDir()
	n, err := openNode(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openNode(dir); err == nil {
		t.Fatal("opened twice")
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	if n, err = openNode(dir); err != nil {
		t.Fatal(err)
	}
	n.close()
}

// The accounts are those of the mnemonic, which chaintest derives.
func TestAccounts(t *testing.T) {
	for i, key := range chaintest.DevelopmentKeys() {
		a := chaintest.Account{Key: key}
		if a.Address().Hex() != accounts[i] {
			t.Errorf("account %d is %v, want %s", i, a.Address(), accounts[i])
		}
	}
}

// A contract sees the hashes of the blocks before it, also when blocks are executed again.
func TestExecutesAgainWhatSawHashes(t *testing.T) {
	dir := t.TempDir()
	n, err := openNode(dir)
	if err != nil {
		t.Fatal(err)
	}
	from := chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}
	for nonce := range uint64(3) { // SSTORE(0, BLOCKHASH(NUMBER - 1)), in the constructor
		tx := from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 2 - nonce, GasTipCap: chaintest.TipCap, GasFeeCap: chaintest.FeeCap,
			Gas: 200_000, Data: common.FromHex("600143034060005500")})
		raw, err := tx.MarshalBinary()
		if err == nil {
			err = n.send(tx, raw) // the last one closes the gap: three blocks
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	head := n.head()
	if head.NumberU64() != 3 {
		t.Fatalf("block %d", head.NumberU64())
	}
	n.close()
	if n, err = openNode(dir); err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if n.head().Hash() != head.Hash() {
		t.Fatalf("%v, was %v", n.head().Hash(), head.Hash())
	}
}
