package usage

import (
	"os"
	"testing"

	"dyno/lab/probe/procfs"
)

// A reading of a small target may cost 1 ms: ten a second are then 1% of the lab's core, which
// never counts as the target's.
func BenchmarkReading(b *testing.B) {
	s := NewSampler(Source{Root: "/", Clock: processClock, Queues: procfs.AcceptQueues}, Processes{PID: os.Getpid(), Self: os.Getpid()})
	defer s.Close()
	b.ReportAllocs()
	for at := int64(0); b.Loop(); at++ {
		s.Read(at)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e3, "%core") // at 10 Hz
}
