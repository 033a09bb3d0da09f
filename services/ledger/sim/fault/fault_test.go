package fault

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Faults occur at their rates, and the same ones in whatever order they are drawn.
func TestDiceAreFairAndRepeat(t *testing.T) {
	rates := Rates{Flip: 0.1, Cut: 0.05, Error: 0.2, Latency: 0.01, Forged: 0.5, Dead: 0.5}
	d := Dice{Seed: 9, Rates: rates}
	const n, attempts = 20_000, 2
	count := map[Kind]int{}
	var forward, backward []Kind
	for i := range uint32(n) {
		for attempt := range uint32(attempts) {
			kind := d.Draw(i, attempt)
			count[kind]++
			forward = append(forward, kind)
			backward = append(backward, d.Draw(n-1-i, attempts-1-attempt))
		}
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, backward) {
		t.Error("the order matters")
	}
	for kind, rate := range map[Kind]float64{Flip: 0.1, Cut: 0.05, Error: 0.2, Latency: 0.01, Forged: 0, Dead: 0, "": 0.64} {
		got, sigma := float64(count[kind])/(n*attempts), math.Sqrt(rate*(1-rate)/(n*attempts))
		if math.Abs(got-rate) > 5*sigma {
			t.Errorf("%q: %.4f instead of %.4f", kind, got, rate)
		}
	}
	other := Dice{Seed: 10, Rates: rates}
	same := 0
	for i := range uint32(n) {
		if k := d.Draw(i, 0); k != "" && k == other.Draw(i, 0) {
			same++
		}
	}
	if same > n/10 { // 0.0526 of n by chance
		t.Errorf("another seed draws the same %d times", same)
	}
}

// The tail of latency is heavy: its mean is about six times the minimum, and a hundredth takes 46
// times that.
func TestLatencyHasATail(t *testing.T) {
	d := Dice{Seed: 1}
	var all []time.Duration
	for i := range uint32(20_000) {
		all = append(all, d.Lateness(i, 0))
	}
	slices.Sort(all)
	if all[0] < leastLatency || all[len(all)-1] > mostLatency {
		t.Errorf("%v to %v", all[0], all[len(all)-1])
	}
	for share, want := range map[float64]float64{0.5: 1.78, 0.9: 6.81, 0.99: 46.4} { // (1-share)^(-1/1.2)
		got := float64(all[int(share*float64(len(all)))]) / float64(leastLatency)
		if got < want*0.85 || got > want*1.15 {
			t.Errorf("%v of answers come within %.1f times the least, not %.1f", share, got, want)
		}
	}
}

func TestRatesAreChecked(t *testing.T) {
	for _, pairs := range [][]string{{"flip"}, {"flip=x"}, {"flop=0.1"}, {"flip=-1"}, {"flip=2"}, {"flip=NaN"}, {"flip=0.6", "cut=0.6"}} {
		if r, err := ParseRates(pairs); err == nil {
			t.Errorf("%v is taken: %v", pairs, r)
		}
	}
	if r, err := ParseRates([]string{"flip=0.5", "cut=0.5", "dead=1", "forged=1"}); err != nil || r[Cut] != 0.5 {
		t.Errorf("%v, %v", r, err)
	}
}

// The documentation lists the faults of the code.
func TestFaultsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/reference/ledgersync-simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	help := Help()
	for _, k := range kinds {
		if row := fmt.Sprintf("| `%s` | %s | %s |", k.Kind, k.drawn, k.does); !bytes.Contains(text, []byte(row)) {
			t.Errorf("docs/reference/ledgersync-simulator.md has no row\n%s", row)
		}
		if !strings.Contains(help, k.does) {
			t.Errorf("sim --help does not say what %s does", k.Kind)
		}
	}
}
