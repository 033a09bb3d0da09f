package state_test

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"dyno/services/chain/state"
)

// BenchmarkTransfers reports what a transfer costs: the CPU time of all threads, in microseconds,
// for executing it, computing the root, and committing; the bytes that the process caused to be
// written to disk; and how many bytes the engine wrote for each byte of a record. The longest block
// is in milliseconds.
func BenchmarkTransfers(b *testing.B) {
	for _, kind := range kinds {
		for _, rootEvery := range []uint64{1, 50} {
			for _, accounts := range []int{1_000, 10_000, 200_000} {
				for _, block := range []int{200, 1_000, 5_000} {
					b.Run(fmt.Sprintf("%s/roots=%d/accounts=%d/block=%d", kind.name, rootEvery, accounts, block), func(b *testing.B) {
						benchmarkTransfers(b, kind.open, rootEvery, accounts, block)
					})
				}
			}
		}
	}
}

func benchmarkTransfers(b *testing.B, open opener, rootEvery uint64, accounts, size int) {
	s := open(b, b.TempDir(), rootEvery, 0)
	rules := params.MergedTestChainConfig.Rules(new(big.Int), true, 0)
	head := &types.Header{Number: new(big.Int), Difficulty: new(big.Int), GasLimit: 1 << 40, BaseFee: new(big.Int)}
	alloc := types.GenesisAlloc{}
	addresses := make([]common.Address, accounts)
	for i := range addresses {
		hash := crypto.Keccak256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		addresses[i] = common.BytesToAddress(hash)
		alloc[addresses[i]] = types.Account{Balance: new(big.Int).Lsh(big.NewInt(1), 80)}
	}
	head.Root = (&core.Genesis{Config: params.MergedTestChainConfig, Alloc: alloc}).ToBlock().Root()
	if err := state.Allocate(s, alloc, head); err != nil {
		b.Fatal(err)
	}
	nonces := make([]uint64, accounts)
	random := rand.New(rand.NewPCG(1, 2))
	var execute, root, commit, longest time.Duration
	n, before := 0, written(b)
	for b.Loop() {
		began := time.Now()
		t0 := cpu()
		db, err := s.Next(head)
		if err != nil {
			b.Fatal(err)
		}
		header := &types.Header{ParentHash: head.Hash(), Number: new(big.Int).Add(head.Number, common.Big1), Difficulty: new(big.Int), GasLimit: 1 << 40, BaseFee: new(big.Int)}
		evm := vm.NewEVM(core.NewEVMBlockContext(header, nil, &common.Address{1}), db, params.MergedTestChainConfig, vm.Config{})
		gas := core.NewGasPool(header.GasLimit)
		for i := range size {
			from, to := random.IntN(accounts), random.IntN(accounts)
			msg := &core.Message{From: addresses[from], To: &addresses[to], Nonce: nonces[from], Value: uint256.NewInt(1), GasLimit: 21000,
				GasPrice: uint256.NewInt(1), GasFeeCap: uint256.NewInt(1), GasTipCap: uint256.NewInt(1)}
			nonces[from]++
			db.SetTxContext(common.Hash{}, i, uint32(i+1))
			evm.SetTxContext(core.NewEVMTxContext(msg))
			if _, err := core.ApplyMessage(evm, msg, gas); err != nil {
				b.Fatal(err)
			}
			db.Finalise(rules)
		}
		evm.Release()
		t1 := cpu()
		header.Root = head.Root
		if root := db.IntermediateRoot(rules); header.Number.Uint64()%rootEvery == 0 {
			header.Root = root
		}
		t2 := cpu()
		if err := s.Commit(db, header, rules, nil); err != nil {
			b.Fatal(err)
		}
		t3 := cpu()
		execute, root, commit = execute+t1-t0, root+t2-t1, commit+t3-t2
		longest = max(longest, time.Since(began))
		head = header
		n += size
	}
	each := func(d time.Duration, name string) { b.ReportMetric(float64(d.Microseconds())/float64(n), name) }
	each(execute, "execute-us")
	each(root, "root-us")
	each(commit, "commit-us")
	b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
	b.ReportMetric(float64(written(b)-before)/float64(n), "disk-B")
	if w, ok := s.(interface{ Written() (user, engine int64) }); ok {
		if user, engine := w.Written(); user > 0 {
			b.ReportMetric(float64(engine)/float64(user), "engine/record")
		}
	}
	if err := s.Close(nil); err != nil {
		b.Fatal(err)
	}
}

// written is how many bytes the process caused to be written to disk.
func written(b *testing.B) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nwrite_bytes: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		b.Fatal(err)
	}
	return n
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
