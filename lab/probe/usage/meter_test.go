package usage

import (
	"os"
	"testing"
)

// Shares divides by the capacity of the machine. Without the CPU time of the target, the share of
// others is unknown.
func TestMeterShares(t *testing.T) {
	m := &Meter{sampler: &Sampler{target: newProcessTree(os.Getpid())}, cores: 2}
	within := Sum{At: 1e9, Target: 0.4, Dependencies: 0.2, Self: 0.2, Busy: 1.0, Steal: 0.1}
	if steal, others := m.Shares(within); steal != 0.05 || others < 0.099 || others > 0.101 {
		t.Errorf("steal %g, others %g, want 0.05 and 0.1", steal, others)
	}
	late := within
	late.Busy = 5 // of 2 s that there are
	if _, others := m.Shares(late); others < 0.549 || others > 0.551 {
		t.Errorf("others %g, although target, lab and hypervisor had 0.9 s of 2", others)
	}
	m.sampler.target = nil
	if _, others := m.Shares(within); others != 0 {
		t.Errorf("others %g without a target that can be read", others)
	}
	if steal, others := m.Shares(Sum{}); steal != 0 || others != 0 {
		t.Errorf("of no time: %g, %g", steal, others)
	}
}

// A meter counts the CPU time that this process uses.
func TestMeterReads(t *testing.T) {
	m := NewMeter(Processes{PID: os.Getpid()})
	before := m.Read()
	for x, now := 1.0, m.Read(); now.Since(before).Target == 0; now = m.Read() {
		for range 1 << 16 {
			x *= 1.000001
		}
		if now.Since(before).At > int64(20e9) {
			t.Skip("the CPU clock of this process cannot be read here")
		}
	}
}
