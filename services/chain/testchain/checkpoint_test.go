package testchain_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/parts/quicktest"
	"dyno/parts/vfs/faultdisk"
	"dyno/services/chain/testchain"
)

// whole is what clients can see of a chain: its present, all blocks with their states, receipts and
// logs, and what each snapshot brings back.
func (s *suite) whole() string {
	s.t.Helper()
	var out strings.Builder
	blocks := func() {
		out.WriteString(s.image())
		for n := uint64(0); n <= s.Head().Number.Uint64(); n++ {
			block, err := s.Block(n)
			if err != nil {
				s.t.Fatal(err)
			}
			db, err := s.StateAt(block.Header())
			if err != nil {
				s.t.Fatal(err)
			}
			receipts, err := s.Receipts(n)
			if err != nil {
				s.t.Fatal(err)
			}
			fmt.Fprintln(&out, block.Hash(), db.GetBalance(to), db.GetBalance(from), db.GetState(to, common.Hash{}), db.GetCode(logging))
			for _, r := range receipts {
				fmt.Fprintln(&out, r.Status, r.CumulativeGasUsed, len(r.Logs))
				for _, l := range r.Logs {
					fmt.Fprintln(&out, *l)
				}
			}
		}
	}
	blocks()
	for id := 30; id >= 0; id-- {
		if s.call("evm_revert", id) == "true" {
			fmt.Fprintln(&out, "snapshot", id)
			blocks()
		}
	}
	fmt.Fprintln(&out, s.call("evm_snapshot"))
	return out.String()
}

// Where the journal begins again with the chain as it is, nothing is another one than on a chain that
// keeps all of its calls, whenever the machine loses its power.
func TestCheckpoint(t *testing.T) {
	for seed := range uint64(quicktest.Of(3, 30)) {
		synctest.Test(t, func(t *testing.T) { testCheckpoint(t, seed) })
	}
}

func testCheckpoint(t *testing.T, seed uint64) {
	disk, random := faultdisk.New(), rand.New(rand.NewPCG(2, seed))
	short := testchain.Options{FS: disk, Checkpoint: 10, Fail: func(error) {}}
	s := openAs(t, "data", short)
	plain := openAs(t, "data", testchain.Options{FS: faultdisk.New()})
	defer plain.close()
	s.want("null", "anvil_setCode", logging, loggingCode)
	plain.want("null", "anvil_setCode", logging, loggingCode)
	for i := range 80 {
		time.Sleep(time.Duration(random.IntN(3)) * time.Second)
		same := random.Uint64()
		for _, chain := range []*suite{s, plain} {
			random := rand.New(rand.NewPCG(3, same))
			if random.IntN(6) == 0 {
				chain.sendTo(logging)
			}
			chain.change(random)
		}
		if i%10 < 9 {
			continue
		}
		if i%20 < 10 {
			next := disk.Crash(seed)
			_ = s.Close() // its disk has no power
			disk, short.FS = next, next
		} else {
			s.close()
		}
		s = openAs(t, "data", short)
		if got, want := s.image(), plain.image(); got != want {
			t.Fatalf("seed %d, after %d calls: %swant %s", seed, i, got, want)
		}
	}
	if got, want := s.whole(), plain.whole(); got != want {
		t.Fatalf("seed %d: %swant %s", seed, got, want)
	}
	s.close()
}

// A checkpoint that the disk ends loses nothing, at whichever of its writes, when the chain is closed and
// when it is opened.
func TestCheckpointEnds(t *testing.T) {
	disk := faultdisk.New()
	s := openAs(t, "data", testchain.Options{FS: disk, Fail: func(err error) { t.Error(err) }})
	s.call("evm_snapshot")
	for range 5 {
		s.send(1)
	}
	before := s.image()
	s.close()
	same := func(broken *faultdisk.Disk, n int) (written bool) {
		t.Helper()
		again := openAs(t, "data", testchain.Options{FS: broken.Crash(uint64(n)), Fail: func(err error) { t.Error(err) }})
		if got := again.image(); got != before {
			t.Fatalf("the disk failed at %d: %swant %s", n, got, before)
		}
		first, _ := again.Records()
		again.want("true", "evm_revert", "0x0")
		again.close()
		return first > 1
	}
	fail := func(broken *faultdisk.Disk, n int) {
		if n%2 == 0 {
			broken.FailSync(n / 2)
		} else {
			broken.FailWrite(n/2 + 1)
		}
	}
	ended, written := 0, 0
	for n := 1; written < 4 && n < 200; n++ {
		broken := disk.CrashClean() // 12 calls and blocks
		s := openAs(t, "data", testchain.Options{FS: broken, Checkpoint: 13, Fail: func(error) {}})
		fail(broken, n)
		s.call("evm_setAutomine", true)
		_ = s.Close() // the disk may have failed
		closed := same(broken, n)

		broken = disk.CrashClean()
		fail(broken, n)
		c, err := testchain.Open(t.Context(), "data", nil, testchain.Options{FS: broken, Checkpoint: 1, Fail: func(error) {}})
		if err == nil {
			_ = c.Close()
		}
		if opened := same(broken, n); opened && closed {
			written++
		} else {
			ended++
		}
	}
	if ended < 6 || written < 4 {
		t.Errorf("the disk has ended %d checkpoints, and %d were written", ended, written)
	}
}

// mine makes blocks, each by a call.
func (s *suite) mine(blocks int) {
	s.t.Helper()
	for range blocks {
		s.want(`"0x0"`, "evm_mine")
	}
}

// records checks how many records the journal has, and whether it has begun again since.
func (s *suite) records(when string, since uint64, again bool, least, most uint64) (first uint64) {
	s.t.Helper()
	first, next := s.Records()
	if first > since != again {
		s.t.Errorf("%s: the journal begins with record %d, before with %d", when, first, since)
	}
	if n := next - first; n < least || n > most {
		s.t.Errorf("%s: the journal has %d records, want %d to %d", when, n, least, most)
	}
	return first
}

// The journal begins again when a chain with many calls is opened or closed, and never within a call.
func TestJournalBeginsAgain(t *testing.T) {
	disk := faultdisk.New()
	o := testchain.Options{FS: disk, Checkpoint: 100, Fail: func(err error) { t.Error(err) }}
	s := openAs(t, "data", o)
	s.mine(200) // 1 record of the genesis, 1 of each call; 400 calls and blocks
	first := s.records("after calls", 1, false, 201, 201)
	s.close()
	s = openAs(t, "data", o)
	// A block, and of its state some nodes, codes and preimages.
	first = s.records("opened after it was closed", first, true, 201, 201*20)
	s.mine(49)
	s.close() // 98 calls and blocks
	s = openAs(t, "data", o)
	s.records("closed after few calls", first, false, 250, 249*20)
	s.mine(10)
	s.records("after more calls", first, false, 260, 259*20)
	o.FS = disk.CrashClean() // as kill -9 leaves it
	_ = s.Close()
	s = openAs(t, "data", o)
	s.records("opened after kill -9", first, true, 260, 260*20)
	if s.Head().Number.Uint64() != 259 {
		t.Errorf("the head is block %v", s.Head().Number)
	}
	s.close()
}

// A journal does not grow with what was taken back before the last start or end.
func TestJournalBounded(t *testing.T) {
	grown := func(checkpoint int) (first, last uint64) {
		dir := t.TempDir()
		for session := range 5 {
			s := openAs(t, dir, testchain.Options{Checkpoint: checkpoint, Fail: func(err error) { t.Error(err) }})
			for range 30 {
				id := s.call("evm_snapshot")
				s.send(1)
				s.want("true", "evm_revert", strings.Trim(id, `"`))
			}
			s.close()
			s = openAs(t, dir, testchain.Options{Still: true})
			from, next := s.Records()
			s.close()
			if last = next - from; session == 0 {
				first = last
			}
		}
		return first, last
	}
	if first, last := grown(50); first < 10 || first != last {
		t.Errorf("after 30 reverts the journal has %d records, after 150 %d", first, last)
	}
	if first, last := grown(1 << 30); first != 91 || last != 451 {
		t.Errorf("without checkpoints the journal has %d records, and then %d", first, last)
	}
}

// waiting is a chain whose pool has some large transactions, and so have many snapshots.
func waiting(t *testing.T, o testchain.Options, dir string) *suite {
	s := openAs(t, dir, o)
	s.want("null", "evm_setAutomine", false)
	for i := range 20 {
		s.sign(&types.DynamicFeeTx{Gas: 2_000_000, To: &to, Value: big.NewInt(int64(i)), Data: make([]byte, 100_000)})
		s.call("evm_snapshot")
	}
	s.want("null", "anvil_dropAllTransactions")
	return s
}

// What waits in many snapshots is in a checkpoint once.
func TestCheckpointOfPool(t *testing.T) {
	dir, o := t.TempDir(), testchain.Options{Checkpoint: 20, Fail: func(err error) { t.Error(err) }}
	s := waiting(t, o, dir)
	s.close()
	s = openAs(t, dir, o)
	defer s.close()
	s.records("with 20 snapshots", 1, true, 40, 150)
	if bytes := s.Bytes(); bytes > 3<<20 {
		t.Errorf("the journal has %d bytes, and what waits 2,000,000", bytes)
	}
	for id := 19; id >= 0; id-- {
		s.want("true", "evm_revert", id)
		if got, _ := s.Stats(); got != id+1 {
			t.Errorf("snapshot %d has %d transactions, want %d", id, got, id+1)
		}
	}
}

// A checkpoint of what the journal does not take writes nothing, and the next start makes the calls again.
func TestCheckpointTooLarge(t *testing.T) {
	defer testchain.LimitRecords(90_000)()
	dir, o := t.TempDir(), testchain.Options{Checkpoint: 20, Fail: func(err error) { t.Error(err) }}
	s := waiting(t, o, dir)
	s.close()
	for range 2 {
		s = openAs(t, dir, o)
		s.records("without a checkpoint", 1, false, 43, 43) // the genesis, 42 calls
		s.close()
	}
	s = openAs(t, dir, o)
	defer s.close()
	s.want("true", "evm_revert", 19)
	if got, _ := s.Stats(); got != 20 {
		t.Errorf("%d transactions wait", got)
	}
}

// A chain that is not known, after a call that panicked, is not kept when it is closed.
func TestPanickedIsNotKept(t *testing.T) {
	dir := t.TempDir()
	s := openAs(t, dir, testchain.Options{Checkpoint: 1, Fail: func(error) {}})
	s.mine(1)
	head := s.Head().Hash()
	back := testchain.Replace("evm_mine", func(_ *testchain.Chain, mine func() (any, error)) (any, error) {
		_, err := mine()
		panic(err)
	})
	defer back()
	func() {
		defer func() { _ = recover() }()
		s.call("evm_mine")
	}()
	if s.Head().Hash() == head {
		t.Error("the call did nothing")
	}
	s.close()
	back()
	s = openAs(t, dir, testchain.Options{Still: true})
	defer s.close()
	if s.Head().Hash() != head {
		t.Errorf("the head is block %v", s.Head().Number)
	}
}
