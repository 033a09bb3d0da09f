package blockchain_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dyno/parts/ethereum/archive"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../parts/ethereum/archive/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func open(t *testing.T, ctx context.Context, dir, states string, recovered func(number, of uint64)) (*blockchain.Chain, error) {
	t.Helper()
	g, err := genesis.Parse(read(t, "genesis.json"))
	if err != nil {
		t.Fatal(err)
	}
	return blockchain.Open(ctx, dir, g, blockchain.Options{States: states, Recovered: recovered})
}

// What is on the disk while a chain is open, as kill -9 leaves it, has all blocks up to the last
// Sync; their states are computed again, and the import continues.
func TestKilled(t *testing.T) {
	for _, states := range blockchain.StateKinds() {
		t.Run(states, func(t *testing.T) { killed(t, states) })
	}
}

func killed(t *testing.T, states string) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	c, err := open(t, t.Context(), first, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	err = archive.Import(ctx, c, bytes.NewReader(read(t, "chain.rlp")), func() {
		if n++; n == 30 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := c.Sync(); err != nil {
		t.Fatal(err)
	}
	copyOpen(t, second, first)
	want := c.Head().Hash()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	if c, err := open(t, ctx, second, states, nil); !errors.Is(err, context.Canceled) || c != nil {
		t.Errorf("a recovery that is stopped: %v", err)
	}
	again := 0
	c, err = open(t, t.Context(), second, states, func(uint64, uint64) { again++ })
	if err != nil {
		t.Fatal(err)
	}
	if c.Head().Hash() != want || again == 0 {
		t.Errorf("head %d after %d blocks were executed again", c.Head().Number, again)
	}
	if err := archive.Import(t.Context(), c, bytes.NewReader(read(t, "chain.rlp")), func() { n++ }); err != nil || n != 54 {
		t.Errorf("%d blocks, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	r, err := blockchain.Check(t.Context(), second, blockchain.Tail{}, func(uint64, uint64) {})
	if err != nil || !r.OK || r.Blocks != 54 || r.StateRoot != r.RecomputedRoot {
		t.Errorf("%+v, %v", r, err)
	}
}

// copyOpen copies a folder whose databases may remove files meanwhile: until none was.
func copyOpen(t *testing.T, to, from string) {
	t.Helper()
	list := func() (files []string) {
		err := filepath.WalkDir(from, func(path string, _ fs.DirEntry, err error) error {
			files = append(files, path)
			return err
		})
		if err != nil {
			return nil // a file was removed
		}
		return files
	}
	for {
		before := list()
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(from)); err == nil && before != nil && slices.Equal(before, list()) {
			return
		}
	}
}
