package store

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// BenchmarkAppend stores ledgers of 90 transactions in batches of 32, each batch synced.
func BenchmarkAppend(b *testing.B) {
	const batch = 32
	variants := []struct {
		name    string
		options Options
	}{
		{"none", Options{}},
		{"s2", Options{Compression: "s2"}},
		{"accounts", Options{Accounts: true}},
		{"memtable-2MB", Options{Pebble: func(o *pebble.Options) { o.MemTableSize = 2 << 20 }}},
		{"memtable-64MB", Options{Pebble: func(o *pebble.Options) { o.MemTableSize = 64 << 20 }}},
	}
	chain := xrpltest.Chain(1, 1000, 256, 90)
	size := 0
	for _, l := range chain {
		size += record.Size(l)
	}
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			s, err := Open(b.TempDir(), v.options)
			if err != nil {
				b.Fatal(err)
			}
			index := uint32(100_000_000)
			b.SetBytes(int64(batch * size / len(chain)))
			cpu, written := spent()
			b.ResetTimer()
			for n := range b.N {
				ledgers := make([]*xrpl.Ledger, batch)
				for i := range ledgers {
					index--
					ledgers[i] = moved(chain[(n*batch+i)%len(chain)], index)
				}
				if err := s.Append(ledgers, Progress{From: 1, To: 2}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "ledgers/s")
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			cpuAfter, writtenAfter := spent()
			b.ReportMetric(float64((cpuAfter-cpu).Microseconds())/float64(b.N*batch), "cpu-us/ledger")
			b.ReportMetric(float64(writtenAfter-written)/float64(b.N*batch)/1e3, "written-KB/ledger")
		})
	}
}

// spent is the CPU time of this process, and on Linux the bytes it wrote to the disk.
func spent() (cpu time.Duration, written int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		cpu = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	text, _ := os.ReadFile("/proc/self/io")
	if _, rest, ok := strings.Cut(string(text), "\nwrite_bytes: "); ok {
		fmt.Sscan(rest, &written)
	}
	return cpu, written
}

// moved is a ledger with another index, and transactions with other ids.
func moved(l *xrpl.Ledger, index uint32) *xrpl.Ledger {
	h, _ := xrpl.ParseHeader(l.Header)
	h.Index = index
	out := &xrpl.Ledger{Index: index, Hash: h.Hash(), Header: h.Append(nil), Transactions: make([]xrpl.Transaction, len(l.Transactions))}
	for i, t := range l.Transactions {
		blob := append([]byte(nil), t.Blob...)
		copy(blob[8:], fmt.Append(nil, index))
		out.Transactions[i] = xrpl.Transaction{Blob: blob, Meta: t.Meta}
	}
	return out
}
