package ledger

import (
	"runtime"
	"testing"
	"time"

	"dyno/services/ledger/backfill"
)

// The limiting resource is the last stage that is near its limit: without enough processors a
// process waits for everything else, too.
func TestLimitingResource(t *testing.T) {
	for _, c := range []struct {
		utilisation
		want string
	}{
		{utilisation{}, boundServer},
		{utilisation{server: 1}, boundServer},
		{utilisation{server: 0.3, bytes: 0.3}, boundServer},
		{utilisation{server: 0.3, bytes: 0.4}, boundBytes},
		{utilisation{server: 0.3, pace: 0.9}, boundServer},
		{utilisation{server: 1, bytes: 0.4, cpu: 0.79, disk: 0.49}, boundServer},
		{utilisation{server: 1, bytes: 1, cpu: 0.79, disk: 0.5}, boundDisk},
		{utilisation{server: 1, bytes: 1, cpu: 0.8, disk: 1}, boundCPU},
	} {
		if got := c.limitingResource(); got != c.want {
			t.Errorf("%+v is bound by %s, want %s", c.utilisation, got, c.want)
		}
	}
}

// Utilisation is relative to the time, all processors, all fetchers and all verifiers.
func TestUtilisation(t *testing.T) {
	p := &pipeline{config: backfill.Config{Fetches: 10, Verifiers: 4}}
	begin := time.Now()
	const took = 2 * time.Second
	cores := time.Duration(runtime.GOMAXPROCS(0))
	for _, c := range []struct {
		name  string
		spent reading
		want  utilisation
	}{
		{"nothing", reading{}, utilisation{}},
		{"answers", reading{answering: 10 * time.Second}, utilisation{server: 0.5}},
		{"budgets", reading{requests: time.Second, bytes: took}, utilisation{server: 0.5, bytes: 1}},
		{"the rise", reading{pace: took}, utilisation{pace: 1}},
		{"half the processors", reading{cpu: cores * took / 2}, utilisation{cpu: 0.5}},
		{"more than there are", reading{cpu: 3 * cores * took}, utilisation{cpu: 1}},
		{"a thread has ended", reading{cpu: -time.Millisecond}, utilisation{}},
		{"verifiers", reading{verifying: 6 * time.Second}, utilisation{cpu: 0.75}},
		{"the store", reading{sinking: time.Second}, utilisation{disk: 0.5}},
	} {
		c.spent.at = begin.Add(took)
		if got := p.between(reading{at: begin}, c.spent); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := p.between(reading{at: begin}, reading{at: begin, cpu: time.Hour}); got != (utilisation{}) {
		t.Errorf("of no time: %+v", got)
	}
}

// The rate is that of the last ten seconds, however often it is read.
func TestRateDoesNotDependOnLooking(t *testing.T) {
	for _, looks := range []int{0, 1, 50} {
		var b bottleneck
		begin := time.Now()
		for second := range 31 {
			ledgers := uint64(100 * second) // for 20 s, and then none
			if second > 20 {
				ledgers = 2000
			}
			b.take(reading{at: begin.Add(time.Duration(second) * time.Second), ledgers: ledgers})
			for range looks {
				b.rate()
			}
			want := map[int]float64{0: 0, 1: 100, 20: 100, 25: 50, 30: 0}
			if rate, known := want[second]; known && b.rate() != rate {
				t.Errorf("with %d looks a second, after %d s: %v ledgers/s, want %v", looks, second, b.rate(), rate)
			}
		}
		if len(b.last) != 11 {
			t.Errorf("%d readings are kept", len(b.last))
		}
	}
}
