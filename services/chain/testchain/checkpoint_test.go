package testchain_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

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
		next := disk.Crash(seed)
		_ = s.Close() // its disk has no power
		disk, short.FS = next, next
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

// A checkpoint that the disk ends loses nothing, at whichever of its writes.
func TestCheckpointEnds(t *testing.T) {
	disk := faultdisk.New()
	s := openAs(t, "data", testchain.Options{FS: disk, Fail: func(err error) { t.Error(err) }})
	s.call("evm_snapshot")
	for range 5 {
		s.send(1)
	}
	before := s.image()
	s.close()
	for n := 1; ; n++ {
		broken := disk.CrashClean()
		failed := false
		s := openAs(t, "data", testchain.Options{FS: broken, Checkpoint: 1, Fail: func(error) { failed = true }})
		if n%2 == 0 {
			broken.FailSync(n / 2)
		} else {
			broken.FailWrite(n/2 + 1)
		}
		s.call("evm_setAutomine", true)
		_ = s.Close() // the disk may have failed
		again := openAs(t, "data", testchain.Options{FS: broken.Crash(uint64(n)), Fail: func(err error) { t.Error(err) }})
		if got := again.image(); got != before {
			t.Fatalf("the disk failed at %d: %swant %s", n, got, before)
		}
		again.want("true", "evm_revert", "0x0")
		again.close()
		if n > 40 && !failed {
			return
		}
	}
}

// A chain that grows has its journal begin again whenever it has doubled.
func TestJournalBeginsAgain(t *testing.T) {
	dir := t.TempDir()
	s := openAs(t, dir, testchain.Options{Checkpoint: 10, Fail: func(err error) { t.Error(err) }})
	defer s.close()
	began := map[string]bool{}
	for range 200 {
		s.want(`"0x0"`, "evm_mine")
		files, err := filepath.Glob(filepath.Join(dir, testchain.Folder, "*.seg"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		began[files[0]] = true
	}
	if len(began) < 5 {
		t.Errorf("over 200 blocks the journal began %d times", len(began))
	}
}

// A journal does not grow with what was taken back.
func TestJournalBounded(t *testing.T) {
	dir := t.TempDir()
	s := openAs(t, dir, testchain.Options{Checkpoint: 50, Fail: func(err error) { t.Error(err) }})
	defer s.close()
	size := func() (bytes int64) {
		files, err := os.ReadDir(filepath.Join(dir, testchain.Folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			bytes += info.Size()
		}
		return bytes
	}
	loop := func(times int) int64 {
		for range times {
			id := s.call("evm_snapshot")
			s.send(1)
			s.want("true", "evm_revert", strings.Trim(id, `"`))
		}
		return size()
	}
	first := loop(100)
	if last := loop(400); last > 2*first {
		t.Errorf("after 100 reverts the journal has %d bytes, after 500 %d", first, last)
	}
}
