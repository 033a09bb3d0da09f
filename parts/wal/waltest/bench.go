package waltest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/parts/wal"
)

// Bench measures durable appends of one record of 256 bytes, from 1 to 128 appenders. In addition
// to the time per record it reports
//
//	records/group  records that shared a write
//	syncs/op       syncs per record
func Bench(b *testing.B, open Open) {
	for _, commit := range commits {
		for _, appenders := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("commit=%s/appenders=%d", commit.name, appenders), func(b *testing.B) {
				bench(b, open, commit.Commit, appenders)
			})
		}
	}
}

func bench(b *testing.B, open Open, commit wal.Commit, appenders int) {
	l := wal.New(open(b, b.TempDir()), wal.Options{Commit: commit})
	record := [][]byte{make([]byte, 256)}
	b.SetBytes(256)
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range appenders {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := l.Append(record, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	s := l.Stats()
	b.ReportMetric(float64(s.Records)/float64(max(s.Groups, 1)), "records/group")
	b.ReportMetric(float64(s.Syncs)/float64(b.N), "syncs/op")
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}
