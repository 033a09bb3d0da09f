package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// target simulates a program on a noisy machine. gains has the true gain of each change, as a
// logarithm.
type target struct {
	rng   *rand.Rand
	gains map[string]float64
	noise float64 // standard deviation of a sample
	fails string  // name of a candidate that does not start
}

// samples returns the samples that a group of the given length would measure of a candidate.
func (t *target) samples(c Candidate, length time.Duration) []float64 {
	process := 0.007 * t.rng.NormFloat64()
	out := make([]float64, max(1, int(length/(4*time.Second))))
	for i := range out {
		out[i] = process + t.noise*t.rng.NormFloat64()
		if t.rng.IntN(10) == 0 {
			out[i] -= 0.3 // another process disturbed the sample
		}
		for _, x := range c {
			out[i] += t.gains[x.String()]
		}
	}
	return out
}

// singles returns n changes. Two successive ones are of the same setting.
func singles(n int) (out []Candidate) {
	for i := range n {
		out = append(out, Candidate{{Setting, fmt.Sprint("s", i/2), fmt.Sprint(i)}})
	}
	return out
}

// search runs a whole search and returns its choice, its trials, and the total time of its groups.
func (t *target) search(cs []Candidate, budget time.Duration) (Candidate, []Trial, time.Duration) {
	p := New(cs, Room{Slots: 7, Least: 25 * time.Second})
	spent := time.Duration(0)
	for {
		groups := p.Next(budget - spent)
		if len(groups) == 0 {
			return p.Choose(), p.Trials(), spent
		}
		for _, g := range groups {
			spent += g.Length
			p.Control(t.samples(nil, g.Length))
			for _, c := range g.Candidates {
				if c.String() == t.fails {
					p.Fail(c, "port taken")
					continue
				}
				p.Enter(c, t.samples(c, g.Length), 1)
			}
		}
	}
}

// If two changes of different settings help, the search finds both and combines them, within its
// time, in nearly all cases.
func TestSearchFindsWhatHelps(t *testing.T) {
	found := 0
	const seeds = 200
	for seed := range uint64(seeds) {
		sim := &target{rng: rand.New(rand.NewPCG(seed, 1)), noise: 0.05, fails: "s4=9",
			gains: map[string]float64{"s1=3": math.Log(1.12), "s3=7": math.Log(1.08), "s0=0": math.Log(0.8)}}
		chosen, trials, spent := sim.search(singles(20), 5*time.Minute)
		if spent > 5*time.Minute {
			t.Fatalf("seed %d: the groups take %v", seed, spent)
		}
		if chosen.String() == "s1=3 s3=7" || chosen.String() == "s3=7 s1=3" || strings.Contains(chosen.String(), "s1=3") && strings.Contains(chosen.String(), "s3=7") {
			found++
		}
		for _, tr := range trials {
			switch c := tr.Candidate.String(); {
			case c == "s4=9" && tr.Verdict != Failed, c == "s0=0" && tr.Verdict != Worse:
				t.Errorf("seed %d: %s is %s", seed, c, tr.Verdict)
			}
		}
	}
	if found < seeds*9/10 {
		t.Errorf("both changes were chosen in %d of %d searches", found, seeds)
	}
}

// If no change helps, most searches choose none. The estimate of a chosen one is too high, which is
// why the proof needs fresh data.
func TestNothingIsWorthIt(t *testing.T) {
	const seeds = 200
	chose, claimed := 0, 0.0
	for seed := range uint64(seeds) {
		sim := &target{rng: rand.New(rand.NewPCG(seed, 2)), noise: 0.05}
		chosen, trials, _ := sim.search(singles(24), 5*time.Minute)
		if chosen == nil {
			continue
		}
		chose++
		for _, tr := range trials {
			if tr.Verdict == Chosen {
				claimed += tr.Estimate.Log
			}
		}
	}
	t.Logf("%d of %d searches chose a change that does nothing, with an estimate of %+.1f%%", chose, seeds, 100*claimed/float64(max(1, chose)))
	if chose > seeds/2 {
		t.Errorf("%d of %d searches chose a change that does nothing", chose, seeds)
	}
	if chose > 0 && claimed/float64(chose) < math.Log(Worth) {
		t.Errorf("the mean estimate of what was chosen is %g", claimed/float64(chose))
	}
}

// With a short budget, the last candidates are reported as not tried. With one that is too short,
// none is measured.
func TestShortBudget(t *testing.T) {
	sim := &target{rng: rand.New(rand.NewPCG(1, 3)), noise: 0.05}
	_, trials, spent := sim.search(singles(24), 90*time.Second)
	untried := 0
	for _, tr := range trials {
		if tr.Verdict == Untried {
			untried++
			if i := slices.IndexFunc(singles(24), func(c Candidate) bool { return c.String() == tr.Candidate.String() }); i < 5 {
				t.Errorf("%s, one of the first, was not tried", tr.Candidate)
			}
		}
	}
	if untried == 0 || untried == 24 || spent > 90*time.Second {
		t.Errorf("%d of 24 not tried in %v", untried, spent)
	}
	if _, trials, spent := sim.search(singles(24), 20*time.Second); spent != 0 || trials[0].Verdict != Untried {
		t.Errorf("%v spent of 20 s, first %+v", spent, trials[0])
	}
}

// On a machine on which a sample can be off by half, the control shows the noise, so that few
// samples decide nothing.
func TestNoisyMachine(t *testing.T) {
	outside, all := 0, 0
	for seed := range uint64(100) {
		sim := &target{rng: rand.New(rand.NewPCG(seed, 4)), noise: 0.5}
		_, trials, _ := sim.search(singles(14), 3*time.Minute)
		for _, tr := range trials {
			if tr.Rounds == 0 {
				continue
			}
			all++
			if in := tr.Estimate.Interval(); in[0] > 1 || in[1] < 1 {
				outside++
			}
		}
	}
	t.Logf("%d of %d intervals of changes that do nothing are outside 1", outside, all)
	if outside*8 > all {
		t.Errorf("%d of %d intervals of changes that do nothing are outside 1", outside, all)
	}
}

// A round that takes longer than planned ends the search. Its samples count.
func TestOverrun(t *testing.T) {
	p := New(singles(8), Room{Slots: 7, Least: 25 * time.Second})
	for _, g := range p.Next(5 * time.Minute) {
		for _, c := range g.Candidates {
			p.Enter(c, []float64{0.1, 0.1, 0.1, 0.1, 0.1}, 1)
		}
	}
	for _, left := range []time.Duration{-time.Minute, time.Second} {
		if groups := p.Next(left); len(groups) != 0 {
			t.Errorf("%d groups in %v", len(groups), left)
		}
	}
	if p.Choose() == nil {
		t.Error("the first round's samples do not count")
	}
}

// The same samples give the same search.
func TestDeterministic(t *testing.T) {
	run := func() string {
		sim := &target{rng: rand.New(rand.NewPCG(9, 9)), noise: 0.05, gains: map[string]float64{"s1=3": 0.1}}
		chosen, trials, spent := sim.search(singles(16), 4*time.Minute)
		return fmt.Sprint(chosen, trials[0].Estimate, spent)
	}
	if a, b := run(), run(); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

// Combinations change different settings, and do not exceed the size of a group.
func TestCombine(t *testing.T) {
	p := New(singles(3), Room{Slots: 7, Least: time.Second})
	groups := p.Next(time.Minute)
	var names []string
	for _, c := range groups[0].Candidates {
		names = append(names, c.String())
	}
	if got := strings.Join(names, ", "); got != "s0=0, s0=1, s1=2, s0=0 s1=2, s0=1 s1=2" {
		t.Errorf("%s", got)
	}
}
