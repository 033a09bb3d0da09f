package usage

import (
	"os"
	"testing"

	"dyno/lab/probe/procfs"
)

// A reading of a small target should take at most 1 ms: ten per second are then 1% of a core, which
// count as use by the lab, not by the target.
func BenchmarkReading(b *testing.B) {
	s := NewSampler(Source{Root: "/", Clock: processClock, Queues: procfs.AcceptQueues}, Processes{PID: os.Getpid(), Self: os.Getpid()})
	defer s.Close()
	b.ReportAllocs()
	for at := int64(0); b.Loop(); at++ {
		s.Read(at)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e3, "%core") // at 10 Hz
}
