package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"
	"go.uber.org/goleak"

	"dyno/parts/quicktest"
	"dyno/parts/vfs"
	"dyno/parts/vfs/faultdisk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chain keeps the blocks that are appended.
type chain struct{ blocks []*types.Block }

func newChain() *chain { return &chain{[]*types.Block{block(nil)}} }

func (c *chain) Head() *types.Header { return c.blocks[len(c.blocks)-1].Header() }

func (c *chain) HashOf(n uint64) (common.Hash, error) { return c.blocks[n].Hash(), nil }

func (c *chain) Append(_ context.Context, b *types.Block) error {
	if b.ParentHash() != c.Head().Hash() || types.DeriveSha(b.Transactions(), trie.NewStackTrie(nil)) != b.TxHash() {
		return errors.New("the block does not follow")
	}
	c.blocks = append(c.blocks, b)
	return nil
}

// block makes the block after a parent; nil: block 0.
func block(parent *types.Header, txs ...*types.Transaction) *types.Block {
	h := &types.Header{Number: new(big.Int), Difficulty: new(big.Int), BaseFee: big.NewInt(7), WithdrawalsHash: &types.EmptyWithdrawalsHash}
	if parent != nil {
		h.ParentHash, h.Number = parent.Hash(), new(big.Int).Add(parent.Number, common.Big1)
	}
	return types.NewBlock(h, &types.Body{Transactions: txs, Withdrawals: types.Withdrawals{}}, nil, trie.NewStackTrie(nil))
}

var key, _ = crypto.GenerateKey()

// made makes transactions by their nonces.
func made(nonces ...uint64) (txs types.Transactions, raws [][]byte) { return sized(0, nonces...) }

func sized(data int, nonces ...uint64) (txs types.Transactions, raws [][]byte) {
	for _, nonce := range nonces {
		tx := types.MustSignNewTx(key, types.LatestSignerForChainID(common.Big1), &types.DynamicFeeTx{ChainID: common.Big1, Nonce: nonce, Gas: 21000,
			GasFeeCap: common.Big1, GasTipCap: common.Big1, To: &common.Address{}, Data: make([]byte, data)})
		raw, err := tx.MarshalBinary()
		if err != nil {
			panic(err)
		}
		txs, raws = append(txs, tx), append(raws, raw)
	}
	return txs, raws
}

func large(nonces ...uint64) [][]byte {
	_, raws := sized(60_000, nonces...)
	return raws
}

// opened is a journal over files.
func opened(t *testing.T, dir string, files vfs.FS) *Journal {
	t.Helper()
	j, err := Open(dir, Options{FS: files, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// replayed checks which transactions wait and where the chain ends.
func replayed(t *testing.T, j *Journal, c *chain, head uint64, nonces ...uint64) {
	t.Helper()
	waiting, err := j.Replay(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, tx := range waiting {
		got = append(got, tx.Nonce())
	}
	if fmt.Sprint(got) != fmt.Sprint(nonces) || c.Head().Number.Uint64() != head {
		t.Fatalf("%v wait after block %d, want %v after %d", got, c.Head().Number, nonces, head)
	}
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What was accepted and sealed is there after a power cut; a chain that lost blocks gets them back.
func TestSurvivesPowerCut(t *testing.T) {
	disk, c := faultdisk.New(), newChain()
	j := opened(t, "journal", disk)
	txs, bytes := made(0, 1, 2, 3)
	try(t, j.Accept(bytes[:3]...))
	one := block(c.Head(), txs[0], txs[1])
	try(t, j.Seal(one))
	two := block(one.Header())
	try(t, j.Seal(two))
	try(t, j.Accept(bytes[3]))
	for seed := range uint64(20) {
		after := opened(t, "journal", disk.Crash(seed))
		replayed(t, after, newChain(), 2, 2, 3)
		lost := newChain()
		lost.blocks = append(lost.blocks, one)
		replayed(t, after, lost, 2, 2, 3)
		try(t, after.Close())
	}
	j.Close() // the power is cut
}

// A checkpoint keeps what waits, and drops the rest.
func TestCheckpoint(t *testing.T) {
	disk, c := faultdisk.New(), newChain()
	j := opened(t, "journal", disk)
	txs, bytes := made(0, 1, 2, 3, 4)
	try(t, j.Accept(bytes[:4]...))
	one := block(c.Head(), txs[0])
	try(t, j.Seal(one))
	try(t, c.Append(t.Context(), one))
	before := j.Size()
	try(t, j.Checkpoint(1, func() [][]byte { return [][]byte{bytes[1], bytes[3]} })) // 2 was given up
	if j.Size() >= before || j.Size() == 0 {
		t.Errorf("%d bytes after a checkpoint, %d before", j.Size(), before)
	}
	if first, _ := j.log.Bounds(); first < 5 {
		t.Errorf("the records from %d on are kept", first)
	}
	try(t, j.Accept(bytes[4]))
	two := block(one.Header(), txs[1])
	try(t, j.Seal(two))
	try(t, j.Close())

	j = opened(t, "journal", disk.CrashClean())
	replayed(t, j, c, 2, 3, 4)
	if _, err := j.Replay(t.Context(), newChain()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a chain without what was durable: %v", err)
	}
	try(t, j.Close())
}

// A full disk refuses, and keeps nothing of what it refused; later appends succeed, and so does a
// checkpoint on the reserve.
func TestFullDisk(t *testing.T) {
	disk, c := faultdisk.New(), newChain()
	j := opened(t, "journal", disk)
	var waiting, next []uint64
	accept := func() error {
		first := uint64(len(next))
		for n := range uint64(5) {
			next = append(next, first+n)
		}
		err := j.Accept(large(next[first:]...)...)
		if err == nil {
			waiting = append(waiting, next[first:]...)
		}
		return err
	}
	try(t, accept())
	disk.Full(0)
	for err := error(nil); err == nil; {
		if err = accept(); err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	if !j.Low() {
		t.Error("the disk was full, and the journal is not low")
	}
	disk.Full(-1)
	try(t, accept())
	try(t, j.Checkpoint(0, func() [][]byte { return large(waiting...) }))
	if j.Low() {
		t.Error("the journal is low after a checkpoint")
	}
	try(t, j.Close())
	j = opened(t, "journal", disk.CrashClean())
	replayed(t, j, c, 0, waiting...)
	try(t, j.Close())
}

// A bit that changed in a closed journal is noticed, with the file in which it is, unless it is one
// of those that fill up a record to a multiple of 8 bytes, and so changes nothing.
func TestNamesDamage(t *testing.T) {
	dir := t.TempDir()
	j, c := opened(t, filepath.Join(dir, "whole"), nil), newChain()
	txs, bytes := made(0, 1)
	try(t, j.Accept(bytes...))
	try(t, j.Seal(block(c.Head(), txs[0])))
	try(t, j.Close())
	files, err := filepath.Glob(filepath.Join(dir, "whole", "*.seg"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	try(t, err)
	for at := 0; at < len(text); at += quicktest.Of(31, 1) {
		broken := filepath.Join(dir, fmt.Sprint(at))
		try(t, os.CopyFS(broken, os.DirFS(filepath.Join(dir, "whole"))))
		changed := append([]byte(nil), text...)
		changed[at] ^= 4
		try(t, os.WriteFile(filepath.Join(broken, filepath.Base(files[0])), changed, 0o600))
		j, err := Open(broken, Options{Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			c := newChain()
			var waiting types.Transactions
			if waiting, err = j.Replay(t.Context(), c); err == nil && len(waiting) == 1 && len(c.blocks) == 2 {
				err = fmt.Errorf("%s is as it was", broken)
			}
			j.Close()
		}
		if err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("byte %d of %d: %v", at, len(text), err)
		}
		try(t, os.RemoveAll(broken))
	}
}

// Records that contradict each other or the chain are errors.
func TestContradictions(t *testing.T) {
	txs, _ := made(0)
	far := block(block(block(nil).Header()).Header())
	for name, records := range map[string]func(*Journal) error{
		"a block after one that is missing":  func(j *Journal) error { return j.Seal(far) },
		"a block of unknown transactions":    func(j *Journal) error { return j.Seal(block(block(nil).Header(), txs...)) },
		"another block 0":                    func(j *Journal) error { return j.Seal(block(nil, txs...)) },
		"a record of another program":        func(j *Journal) error { return j.append([][]byte{{0xff, 1}}) },
		"a transaction that cannot be read":  func(j *Journal) error { return j.Accept([]byte{2, 1}) },
		"a block that does not execute":      func(j *Journal) error { return j.Seal(block(&types.Header{Number: new(big.Int)})) },
		"blocks that were durable elsewhere": func(j *Journal) error { return j.Checkpoint(7, func() [][]byte { return nil }) },
	} {
		j := opened(t, "journal", faultdisk.New())
		try(t, records(j))
		if _, err := j.Replay(t.Context(), newChain()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "record") {
			t.Errorf("%s: %v", name, err)
		}
		try(t, j.Close())
	}
}

func FuzzDecode(f *testing.F) {
	txs, bytes := made(0, 1)
	for _, record := range encodeTransactions(bytes) {
		f.Add(record)
	}
	b, err := encode(kindBlock, sealed{block(nil, txs...).Header(), []common.Hash{txs[0].Hash()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	c, err := encode(kindCheckpoint, checkpoint{1, 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decode(text)
		if err != nil {
			return
		}
		var again []byte
		switch {
		case r.transaction != nil:
			raw, _ := r.transaction.MarshalBinary()
			again = encodeTransactions([][]byte{raw})[0]
		case r.block != nil:
			r.block.whole(nil).Hash()
			again, err = encode(kindBlock, r.block)
		default:
			again, err = encode(kindCheckpoint, r.checkpoint)
		}
		if err != nil || string(again) != string(text) {
			t.Errorf("%x became %x, %v", text, again, err)
		}
	})
}
