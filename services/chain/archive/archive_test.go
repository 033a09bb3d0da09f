package archive_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/archive"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
)

// headHash is what headfcu.json, beside the chain, says.
const headHash = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func openWith(t testing.TB, dir, states string) *blockchain.Chain {
	t.Helper()
	g, err := genesis.Parse(read(t, "genesis.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := blockchain.Open(t.Context(), dir, g, blockchain.Options{States: states})
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
	c := openWith(t, dir, states)
	n := 0
	if err := archive.Import(t.Context(), c, bytes.NewReader(blocks), func() { n++ }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if hash := c.Head().Hash(); n != 54 || hash != common.HexToHash(headHash) {
			t.Fatalf("%d blocks up to %x", n, hash)
		}
		var out bytes.Buffer
		if err := archive.Export(t.Context(), &out, 1, 54, c.Blocks.RawBlock); err != nil || !bytes.Equal(out.Bytes(), blocks) {
			t.Errorf("another file is exported: %d bytes, %v", out.Len(), err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = openWith(t, dir, states)
	}
	if err := archive.Import(t.Context(), c, bytes.NewReader(blocks), func() { t.Error("a block twice") }); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
