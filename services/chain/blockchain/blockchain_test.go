package blockchain_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../testdata/archive", name))
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
	return blockchain.Open(ctx, dir, g, blockchain.Options{States: states, History: blockchain.AllStates, Recovered: recovered})
}

// What is on the disk while a chain is open, as kill -9 leaves it, has all blocks up to the last
// Sync; their states are computed again, and the import continues. What each block replaced is there,
// too, which Check proves.
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
	err = blockchain.Import(ctx, c, bytes.NewReader(read(t, "chain.rlp")), func() {
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
	if err := blockchain.Import(t.Context(), c, bytes.NewReader(read(t, "chain.rlp")), func() { n++ }); err != nil || n != 54 {
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

// States that cannot be opened are an error that says what to do, and then they are made again.
func TestDamagedStates(t *testing.T) {
	folders := map[string]string{"statedb": "states"}
	for _, states := range blockchain.StateKinds() {
		t.Run(states, func(t *testing.T) {
			dir := t.TempDir()
			c, err := open(t, t.Context(), dir, states, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = blockchain.Import(t.Context(), c, bytes.NewReader(read(t, "chain.rlp")), func() {})
			want := c.Head().Hash()
			if err = errors.Join(err, c.Close()); err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(dir, cmp.Or(folders[states], states))
			manifests, err := filepath.Glob(filepath.Join(folder, "MANIFEST-*"))
			if err != nil || len(manifests) == 0 {
				t.Fatal(manifests, err)
			}
			for _, manifest := range manifests {
				if err := os.WriteFile(manifest, []byte("damaged"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err = open(t, t.Context(), dir, states, nil); err == nil || !strings.Contains(err.Error(), "remove "+folder+": the states are made again from the blocks") {
				t.Fatal(err)
			}
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			if c, err = open(t, t.Context(), dir, states, nil); err != nil {
				t.Fatal(err)
			}
			if c.Head().Hash() != want {
				t.Errorf("the head is %x, want %x", c.Head().Hash(), want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
