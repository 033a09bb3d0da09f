package node

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"go.uber.org/goleak"

	"dyno/parts/servicetest"
	"dyno/parts/vfs"
	"dyno/parts/vfs/faultdisk"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/chaintest"
	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
	"dyno/services/chain/journal"
	"dyno/services/chain/mempool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a node over a folder, and what it said.
type world struct {
	*Node
	t      *testing.T
	failed atomic.Pointer[error]
	from   *chaintest.Account
}

// begin is how a node is opened; the zero value is over files, with blocks of one transaction.
type begin struct {
	dir     string
	files   vfs.FS // of the journal
	genesis *genesis.Genesis
	options Options
}

func open(t *testing.T, b begin) *world {
	t.Helper()
	if b.genesis == nil {
		b.genesis = genesis.Development()
	}
	w := &world{t: t, from: &chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}}
	c, err := blockchain.Open(t.Context(), b.dir, b.genesis, blockchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	folder := filepath.Join(b.dir, journal.Folder)
	if b.files != nil {
		folder = journal.Folder
	}
	j, err := journal.Open(folder, journal.Options{FS: b.files, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if b.options.Sealing == nil {
		b.options.Sealing, _ = NewPolicy("each", Sealing{Max: 1})
	}
	b.options.Pool = mempool.Options{Transactions: 1 << 17, Bytes: 256 << 20}
	b.options.Checkpoint = cmp.Or(b.options.Checkpoint, 64<<20)
	b.options.Log = quiet
	b.options.Fail = func(err error) { w.failed.Store(&err) }
	if w.Node, err = Open(t.Context(), c, j, b.options); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) close() {
	w.t.Helper()
	if err := w.Close(); err != nil || w.failed.Load() != nil {
		w.t.Fatal(err, w.failed.Load())
	}
}

// send submits transactions together, and returns the first refusal.
func (w *world) send(txs ...*types.Transaction) error {
	w.t.Helper()
	var raws [][]byte
	for _, tx := range txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			w.t.Fatal(err)
		}
		raws = append(raws, raw)
	}
	for i, done := range w.Submit(w.t.Context(), raws) {
		if done.Err != nil {
			return done.Err
		}
		if done.Hash != txs[i].Hash() {
			w.t.Fatalf("the hash %x", done.Hash)
		}
	}
	return nil
}

// mined waits until transactions are in blocks.
func (w *world) mined(txs ...*types.Transaction) {
	w.t.Helper()
	for _, tx := range txs {
		servicetest.Await(w.t, func() string { return fmt.Sprintf("transaction %d in a block; %v", tx.Nonce(), w.Ready()) }, func() bool {
			_, _, err := w.Chain().Blocks.Transaction(tx.Hash())
			return err == nil
		})
	}
}

func (w *world) must(txs ...*types.Transaction) {
	w.t.Helper()
	if err := w.send(txs...); err != nil {
		w.t.Fatal(err)
	}
}

// next are transfers with the next nonces.
func (w *world) next(n int) (txs []*types.Transaction) {
	for range n {
		txs = append(txs, w.from.Send(common.Address{1}, 1))
	}
	return txs
}

// What was accepted and sealed is there, however old the chain is that the journal is held against,
// and however often the journal was shortened.
func TestRecovers(t *testing.T) {
	dir, old := t.TempDir(), t.TempDir()
	w := open(t, begin{dir: dir})
	all := w.next(20)
	gap := w.from.At(30, common.Address{1}, 1)
	w.must(append(all[:10:10], gap)...)
	w.mined(all[:10]...)
	if err := w.Chain().Sync(); err != nil {
		t.Fatal(err)
	}
	copyTo(t, dir, old)
	w.must(all[10:]...)
	w.mined(all[10:]...)
	head := w.Chain().Head().Hash()
	if err := os.RemoveAll(filepath.Join(old, journal.Folder)); err != nil {
		t.Fatal(err)
	}
	copyTo(t, filepath.Join(dir, journal.Folder), filepath.Join(old, journal.Folder))
	w.close()
	for range 3 {
		for _, dir := range []string{dir, old} {
			w = open(t, begin{dir: dir, options: Options{Checkpoint: 1}})
			if got := w.Chain().Head().Hash(); got != head || w.Waiting(gap.Hash()) == nil {
				t.Errorf("the head is %x, was %x; %v", got, head, w.Waiting(gap.Hash()))
			}
			if nonce, ok := w.Nonce(w.from.Address()); !ok || nonce != 20 {
				t.Errorf("nonce %d, %t", nonce, ok)
			}
			if err := w.checkpoint(); err != nil {
				t.Fatal(err)
			}
			w.close()
		}
	}
	w = open(t, begin{dir: old})
	w.from.Nonce = 20
	rest := w.next(10)
	w.must(rest...)
	w.mined(append(rest, gap)...)
	w.close()
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// A journal without room refuses, keeps nothing of what it refused, and accepts again when there is
// room; so does a node whose disk has little left.
func TestFullDisk(t *testing.T) {
	disk, dir := faultdisk.New(), t.TempDir()
	var free atomic.Int64
	free.Store(1 << 30)
	o := Options{Space: func() (int64, int64, error) { return free.Load(), 1 << 31, nil }}
	w := open(t, begin{dir: dir, files: disk, options: o})
	first := w.next(1)
	w.must(first...)
	w.mined(first...)
	var accepted []*types.Transaction
	fill := func() {
		t.Helper()
		to := common.Address{2}
		for {
			tx := w.from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: w.from.Nonce, GasTipCap: chaintest.TipCap,
				GasFeeCap: chaintest.FeeCap, Gas: 4_100_000, To: &to, Data: make([]byte, 100_000)})
			if err := w.send(tx); err != nil {
				if !strings.Contains(err.Error(), "disk is full") || strings.Contains(err.Error(), dir) {
					t.Fatal(err)
				}
				if w.Ready() == nil || w.Waiting(tx.Hash()) != nil {
					t.Error("a node that refuses is ready, or keeps what it refused")
				}
				return
			}
			w.from.Nonce++
			accepted = append(accepted, tx)
		}
	}
	again := func() {
		t.Helper()
		servicetest.Await(t, func() string { return fmt.Sprintf("the node accepts again: %v", w.Ready()) }, func() bool { return w.Ready() == nil })
		some := w.next(1)
		w.must(some...)
		w.mined(append(accepted, some...)...)
	}
	disk.Full(0)
	fill()
	disk.Full(-1)
	again()
	free.Store(1 << 20)
	servicetest.Await(t, func() string { return "the node sees that there is no room" }, func() bool { return w.Ready() != nil })
	if err := w.send(w.from.At(w.from.Nonce, common.Address{1}, 1)); err == nil {
		t.Error("accepted without room")
	}
	free.Store(1 << 30)
	again()
	head := w.Chain().Head().Hash()
	w.close()
	w = open(t, begin{dir: dir, files: disk.CrashClean()})
	if w.Chain().Head().Hash() != head {
		t.Error("the head is another after a restart")
	}
	w.close()
}

// A journal that fails for good ends the node; nothing is accepted any more.
func TestFailedDisk(t *testing.T) {
	disk := faultdisk.New()
	w := open(t, begin{dir: t.TempDir(), files: disk})
	disk.Cut()
	if err := w.send(w.next(1)...); err == nil || w.Ready() == nil {
		t.Errorf("accepted without a disk: %v", err)
	}
	w.Close() // its error is the disk's
}

// Transactions that cannot pay the base fee get empty blocks, until they can; no more than those.
func TestBaseFeeFalls(t *testing.T) {
	g := genesis.Funded(100_000, genesis.Accounts[:]) // so that three transfers are more than the target
	timer, err := NewPolicy("timer", Sealing{Interval: 1e6, Max: 100})
	if err != nil {
		t.Fatal(err)
	}
	w := open(t, begin{dir: t.TempDir(), genesis: g, options: Options{Sealing: timer}})
	base := w.view.Load().base
	poor := w.from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 12, GasTipCap: common.Big0, GasFeeCap: base, Gas: chaintest.Transfer, To: &common.Address{}})
	w.must(poor) // behind a gap
	rich := w.next(12)
	w.must(rich...)
	w.mined(rich...)
	w.mined(poor)
	head := w.Chain().Head()
	empty := 0
	for n := uint64(1); n <= head.Number.Uint64(); n++ {
		block, err := w.Chain().Blocks.Block(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(block.Transactions()) == 0 {
			empty++
		}
	}
	if empty == 0 || len(w.pool.Entries()) != 0 {
		t.Errorf("%d empty blocks of %d, %d wait", empty, head.Number, len(w.pool.Entries()))
	}
	if w.seal() || w.Chain().Head() != head {
		t.Error("an empty block though nothing waits")
	}
	w.close()
}

// Where that is set, blocks come though nothing waits, and what waits is in the next one.
func TestIdleBlocks(t *testing.T) {
	idle, err := NewPolicy("timer", Sealing{Interval: time.Millisecond, Idle: time.Millisecond, Max: 100})
	if err != nil {
		t.Fatal(err)
	}
	w := open(t, begin{dir: t.TempDir(), options: Options{Sealing: idle}})
	after := func(n uint64) {
		t.Helper()
		servicetest.Await(t, func() string { return fmt.Sprintf("block %d; %v", n, w.Ready()) }, func() bool { return w.Chain().Head().Number.Uint64() >= n })
	}
	after(3)
	txs := w.next(2)
	w.must(txs...)
	w.mined(txs...)
	number, _, err := w.Chain().Blocks.Transaction(txs[1].Hash())
	if err != nil {
		t.Fatal(err)
	}
	after(number + 5)
	w.close()
}

// What is refused at the door is refused in go-ethereum's words, and each of an array for itself.
func TestSubmit(t *testing.T) {
	w := open(t, begin{dir: t.TempDir()})
	var raws [][]byte
	txs := w.next(9)
	for _, tx := range txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		raws = append(raws, raw)
	}
	raws[3] = append(raws[3][:len(raws[3]):len(raws[3])], 0)
	raws[7] = raws[0]
	raws[8] = make([]byte, 128<<10+1)
	out := w.Submit(t.Context(), raws)
	for i, want := range map[int]string{3: "rlp", 7: "already known", 8: "oversized data"} {
		if out[i].Err == nil || !strings.Contains(out[i].Err.Error(), want) {
			t.Errorf("transaction %d: %v, want %q", i, out[i].Err, want)
		}
	}
	for _, i := range []int{0, 1, 2, 4, 5, 6} {
		if out[i].Err != nil || out[i].Hash != txs[i].Hash() {
			t.Errorf("transaction %d: %v", i, out[i].Err)
		}
	}
	w.mined(txs[:3]...)
	servicetest.Await(t, func() string { // a block is visible before its transactions leave the pool
		executable, queued := w.Stats()
		return fmt.Sprintf("0 executable and 3 queued, of which there are %d and %d", executable, queued)
	}, func() bool {
		executable, queued := w.Stats()
		return executable == 0 && queued == 3
	})
	if out := w.Submit(t.Context(), nil); len(out) != 0 {
		t.Errorf("of nothing became %v", out)
	}
	got := w.Accepted(0, 10)
	if got.From != 0 || len(got.Hashes) != 6 || got.Hashes[5] != txs[6].Hash() || w.Accepted(99, 10).From != 6 {
		t.Errorf("%+v", got)
	}
	if got := w.Accepted(1, 2); got.From != 1 || len(got.Hashes) != 2 || got.Hashes[1] != txs[2].Hash() {
		t.Errorf("%+v", got)
	} else {
		<-got.More
	}
	<-w.Grown(2) // which has happened
	grown, more := w.Grown(3), w.Accepted(6, 1).More
	w.must(txs[3])
	<-grown
	<-more
	w.close()
	if err := w.send(w.next(1)...); err == nil {
		t.Error("a closed node accepts")
	}
}

// A journal that contradicts the chain is an error, and the node does not start.
func TestDoesNotStart(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	w := open(t, begin{dir: dir})
	txs := w.next(2)
	w.must(txs...)
	w.mined(txs...)
	copyTo(t, filepath.Join(dir, journal.Folder), filepath.Join(other, journal.Folder))
	w.close()
	c, err := blockchain.Open(t.Context(), other, genesis.Funded(40_000_000, genesis.Accounts[:]), blockchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(filepath.Join(other, journal.Folder), journal.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), c, j, Options{Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, journal.ErrDamaged) {
		t.Error(err)
	}
}

// No block can follow one of proof of work.
func TestProofOfWork(t *testing.T) {
	g := genesis.Development()
	var err error
	if g.Config, err = execution.ForkConfig("London", g.Config.ChainID); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := json.Marshal(g.Genesis)
	if err == nil {
		g, err = genesis.Parse(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := blockchain.Open(t.Context(), dir, g, blockchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(filepath.Join(dir, journal.Folder), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), c, j, Options{Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "proof of work") {
		t.Error(err)
	}
}
